package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// Fabric is what a file describes.
type Fabric struct{ Switches []*Switch }

// Switch is one switch as its machine will see it.
type Switch struct {
	Name    string
	Config  *switchd.Config
	Tables  *sonic.Tables
	Machine pipeline.Config // not yet judged by itself
	Links   []Link          // by port
}

// Link is what is known about the wire behind a port.
type Link struct {
	Delay time.Duration // one way; 0 with Cable for a real one
	Cable int           // metres, of a config_db; 0 is not known
	MTU   int           // of the devices
	Peer  Peer
}

// Peer is the other end of a link; the zero value is not known.
type Peer struct {
	Name   string // node:port
	Switch *Switch
	Port   int           // of Switch
	Host   *nicd.Config  // of a host
	React  time.Duration // until an XOFF that it received takes effect
}

// defaultMTU is that of an Ethernet device.
const defaultMTU = 1500

// headers are an Ethernet header with one 802.1Q tag; a frame is stored without its FCS.
const headers = 18

// frame is the largest frame on the link as it is stored.
func (l *Link) frame() unit.Bytes { return unit.Bytes(l.MTU + headers) }

// Open reads a file: JSON is a config_db, YAML with nodes a topology, other YAML a switch's.
func Open(path string) (*Fabric, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".json") || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{\"")) {
		return openDatabase(path, text)
	}
	var keys map[string]yaml.Node
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, ok := keys["nodes"]; ok {
		return openTopology(path)
	}
	c, err := switchd.Load(path)
	if err != nil {
		return nil, err
	}
	s, err := newSwitch(c.Name, c)
	if err != nil {
		return nil, err
	}
	for i := range c.Ports {
		s.Links[i] = Link{Delay: c.Ports[i].Delay,
			MTU: cmp.Or(c.Ports[i].MTU, defaultMTU)}
	}
	return &Fabric{[]*Switch{s}}, nil
}

func newSwitch(name string, c *switchd.Config) (*Switch, error) {
	t, faults := c.Tables()
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %s: %s", name, faults[0].Path, faults[0].Problem)
	}
	m, err := c.MachineOf(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Switch{Name: name, Config: c, Tables: t, Machine: m,
		Links: make([]Link, len(c.Ports))}, nil
}

// openDatabase takes ports, rates and cables from the tables themselves.
func openDatabase(path string, text []byte) (*Fabric, error) {
	t, _, err := sonic.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var wanted struct {
		Name     string              `yaml:"name"`
		Ports    []daemon.PortConfig `yaml:"ports"`
		ConfigDB string              `yaml:"config_db"`
	}
	wanted.Name, wanted.ConfigDB = filepath.Base(path), full
	for _, name := range t.PortNames() {
		rate := t.Ports[name].Speed
		if rate == 0 {
			return nil, fmt.Errorf("%s: PORT|%s|speed: is missing: its headroom cannot be judged",
				path, name)
		}
		wanted.Ports = append(wanted.Ports, daemon.PortConfig{Name: name, Rate: rate})
	}
	if len(wanted.Ports) == 0 {
		return nil, errors.New(path + ": no table names a port")
	}
	yamlText, err := yaml.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	c := switchd.Default()
	if err := daemon.Decode(path, yamlText, &c); err != nil {
		return nil, err
	}
	s, err := newSwitch(c.Name, &c)
	if err != nil {
		return nil, err
	}
	for i, p := range c.Ports {
		s.Links[i] = Link{Cable: cable(t, p.Name), MTU: defaultMTU}
		if given := t.Ports[p.Name].MTU; given != 0 {
			s.Links[i].MTU = given
		}
	}
	return &Fabric{[]*Switch{s}}, nil
}

func cable(t *sonic.Tables, port string) (longest int) {
	for _, row := range t.Cables {
		longest = max(longest, row[port])
	}
	return longest
}

func openTopology(path string) (*Fabric, error) {
	t := lab.Default()
	if err := daemon.Load(path, &t); err != nil {
		return nil, err
	}
	f := new(Fabric)
	at := make(map[lab.Endpoint]*Switch)
	for _, n := range t.Nodes {
		if n.Kind != lab.Switch {
			continue
		}
		c := t.SwitchConfig(n)
		s, err := newSwitch(n.Name, &c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f.Switches = append(f.Switches, s)
		for _, p := range c.Ports {
			at[lab.Endpoint{Node: n.Name, Device: p.Name}] = s
		}
	}
	for _, l := range t.Links {
		for end, e := range l.Endpoints {
			if s := at[e]; s != nil {
				s.connect(&t, l, e, l.Endpoints[1-end], at)
			}
		}
	}
	return f, nil
}

// connect fills in the link of the switch's port e.
func (s *Switch) connect(t *lab.Topology, l lab.Link, e, far lab.Endpoint,
	at map[lab.Endpoint]*Switch) {
	out := Link{Delay: l.Delay, MTU: t.LinkMTU(&l), Peer: Peer{Name: far.String()}}
	if peer := at[far]; peer != nil {
		out.Peer.Switch, out.Peer.Port = peer, peer.port(far.Device)
		out.Peer.React = peer.Machine.Ports[out.Peer.Port].PauseDelay
	} else {
		out.Peer.Host = &t.NIC
	}
	s.Links[s.port(e.Device)] = out
}

func (s *Switch) port(name string) int {
	for i := range s.Machine.Ports {
		if s.Machine.Ports[i].Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("check: switch %s has no port %s", s.Name, name))
}

// lossless is the groups of a port whose XOFF pauses somebody, with a priority of each.
func lossless(p *pipeline.Port) map[int]pfc.Priority {
	groups := make(map[int]pfc.Priority)
	for n := range pfc.Priority(8) {
		if !p.PFCSend.Has(n) {
			continue
		}
		g := groupOf(p, n)
		if _, ok := groups[g]; !ok {
			groups[g] = n
		}
	}
	return groups
}

// groupOf is the group whose XOFF pauses a priority.
func groupOf(p *pipeline.Port, n pfc.Priority) int {
	if p.PFCToGroup != nil {
		return int(p.PFCToGroup[n])
	}
	return int(p.Map.Group[n])
}

// isLossless reports whether a traffic class is stored in a group that pauses it.
func isLossless(p *pipeline.Port, tc uint8) bool {
	g := p.Map.Group[tc]
	return p.Groups[g].Lossless && p.PFCSend.Has(pfc.Priority(tc))
}
