package switchd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// replaced are the keys that a config_db stands for.
var replaced = []string{"dscp_to_tc_map", "dot1p_to_tc_map", "tc_to_priority_group_map",
	"tc_to_queue_map", "pfc_enable", "pfc_asym", "buffer_pool", "lossless_profile",
	"lossy_profile", "wred_profile", "scheduler", "pfc_wd"}

// Resolve reads the config_db that the configuration names. Options that the file says nothing
// about are taken from the table ROCELAB, if it has one.
func (c *Config) Resolve(src daemon.Source) (faults []daemon.Fault) {
	if c.ConfigDB == "" {
		return nil
	}
	for _, key := range replaced {
		if src.Given(key) {
			faults = append(faults, daemon.Fault{Path: key,
				Problem: "config_db says it already: give one of them"})
		}
	}
	c.ConfigDB = src.Path(c.ConfigDB)
	text, err := os.ReadFile(c.ConfigDB)
	if err == nil {
		c.database, c.remarks, err = sonic.Read(text)
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			faults = append(faults, daemon.Fault{Path: "config_db",
				Problem: fmt.Sprintf("%s: %s", c.ConfigDB, line)})
		}
		return faults
	}
	c.optionsFrom(src)
	return faults
}

// optionsFrom takes the options that src does not give from the database.
func (c *Config) optionsFrom(src daemon.Source) {
	row, there := c.database.Switch[sonic.Global]
	if !there {
		row = sonic.Switch{PauseQuanta: c.PauseQuanta} // Trust: by the maps that a port has
	}
	if !src.Given("trust") {
		c.Trust = row.Trust
	}
	if !src.Given("default_tc") {
		c.DefaultTC = row.DefaultTC
	}
	if !src.Given("flood_tc") {
		c.FloodTC = row.FloodTC
	}
	if !src.Given("pause_quanta") {
		c.PauseQuanta = row.PauseQuanta
	}
	if !src.Given("cell_size") {
		c.Cell = row.Cell
	}
}

// Tables is the configuration in its one canonical form, by the names of Ports: what a switch is to
// run. The faults are those of the database and of the fields put over it.
func (c *Config) Tables() (*sonic.Tables, []daemon.Fault) {
	t := c.Simple.tables(c.Ports)
	if c.ConfigDB != "" {
		if c.database == nil {
			return nil, []daemon.Fault{{Path: "config_db", Problem: "has not been read"}}
		}
		names, err := portNames(c.database, c.Ports)
		if err != nil {
			return nil, []daemon.Fault{{Path: "ports", Problem: err.Error()}}
		}
		t, _ = c.database.Rename(names)
	}
	t.Switch = map[string]sonic.Switch{sonic.Global: {Trust: c.Trust, DefaultTC: c.DefaultTC,
		FloodTC: c.FloodTC, PauseQuanta: c.PauseQuanta, Cell: c.Cell}}
	over, found := t.Overlay(c.QoS.raw())
	if len(found) == 0 {
		return over, nil
	}
	var faults []daemon.Fault
	for _, f := range found {
		faults = append(faults, c.fault(f))
	}
	return nil, faults
}

// fault is a fault of a table at the key of the file that it comes from.
func (c *Config) fault(f sonic.Fault) daemon.Fault {
	if _, ok := c.QoS[strings.ToLower(f.Table)]; ok {
		path := "qos." + strings.ToLower(f.Table) + "." + f.Key
		if f.Field != "" {
			path += "." + f.Field
		}
		return daemon.Fault{Path: path, Problem: f.Problem}
	}
	path := "qos"
	if c.QoS == nil {
		path = "config_db"
	}
	return daemon.Fault{Path: path, Problem: f.Error()}
}

// portNames finds our name for each port of the database: the same, or the one that PORT has as
// alias, or, if none of ours is in it by either, in order of both.
func portNames(db *sonic.Tables, ports []daemon.PortConfig) (map[string]string, error) {
	theirs := db.PortNames()
	names := make(map[string]string)
	var unknown []string
	for _, p := range ports {
		if name, ok := portNamed(db, theirs, p.Name); ok {
			names[name] = p.Name
		} else {
			unknown = append(unknown, p.Name)
		}
	}
	switch {
	case len(unknown) == 0:
		return names, nil
	case len(unknown) < len(ports):
		return nil, fmt.Errorf("config_db has no port %s: names must be its own, its aliases, or "+
			"all different ones, which then stand for its ports in order",
			strings.Join(unknown, ", "))
	case len(ports) > len(theirs):
		return nil, fmt.Errorf("%d ports, config_db has only %d", len(ports), len(theirs))
	}
	for i, p := range ports {
		names[theirs[i]] = p.Name
	}
	return names, nil
}

func portNamed(db *sonic.Tables, theirs []string, name string) (string, bool) {
	if slices.Contains(theirs, name) {
		return name, true
	}
	for _, port := range theirs {
		if db.Ports[port].Alias == name {
			return port, true
		}
	}
	return "", false
}

// Remarks name what the configuration says without any effect here.
func (c *Config) Remarks() []sonic.Remark {
	list := slices.Clone(c.remarks)
	if c.database == nil {
		return list
	}
	names, err := portNames(c.database, c.Ports)
	if err != nil {
		return list // a fault
	}
	_, without := c.database.Rename(names)
	if len(without) > 0 {
		list = append(list, sonic.Remark{Table: "PORT", Key: strings.Join(without, ","),
			Text: "not a port of this switch"})
	}
	for theirs, ours := range names {
		speed := c.database.Ports[theirs].Speed
		i := slices.IndexFunc(c.Ports, func(p daemon.PortConfig) bool { return p.Name == ours })
		if speed != 0 && speed != c.Ports[i].Rate {
			list = append(list, sonic.Remark{Table: "PORT", Key: theirs, Field: "speed",
				Text: fmt.Sprintf("the link's rate counts: %v", c.Ports[i].Rate)})
		}
	}
	return list
}
