package switchd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"syscall"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// configuration is what a running switch should do and what it does. [RDMA at scale] section 5.1
// compares the two.
//
//	file --Load--> desired ---reload---> running ---> the machine, the XDP programs
//	                  |                     ^
//	                  +-- drift = Diff -----+-- set: one field, while it runs
type configuration struct {
	mu      sync.Mutex // of all; held while a change is made, so that they come one by one
	file    string     // of the desired configuration; empty if it came as text
	config  *Config    // the desired one, as read last
	desired *sonic.Tables
	running *sonic.Tables
	drift   int // differences when last told
}

// reload runs the configuration that r names.
func (s *server) reload(r ConfigRequest) (ConfigResult, error) {
	s.conf.mu.Lock()
	defer s.conf.mu.Unlock()
	next, file, err := s.read(r)
	if err != nil {
		return ConfigResult{}, err
	}
	if err := next.sameDaemon(s.conf.config); err != nil {
		return ConfigResult{}, err
	}
	tables, faults := next.Tables()
	if len(faults) > 0 {
		return ConfigResult{}, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
	}
	changed, err := s.run(next, tables, "config_reloaded")
	if err != nil {
		return ConfigResult{}, err
	}
	s.conf.file, s.conf.config, s.conf.desired = file, next, tables
	s.params = next.Parameters()
	s.tellDrift(sonic.Diff(s.conf.desired, s.conf.running))
	return ConfigResult{Changed: changed, Remarks: texts(next.Remarks())}, nil
}

// read loads the configuration that r names.
func (s *server) read(r ConfigRequest) (c *Config, file string, err error) {
	switch {
	case r.Path != "" && r.Config != "":
		return nil, "", errors.New("give path or config, not both")
	case r.Config != "":
		fresh := Default()
		err := daemon.Decode(s.conf.config.file+" (sent)", []byte(r.Config), &fresh)
		fresh.file = s.conf.config.file
		return &fresh, "", err
	case r.Path != "":
		c, err = Load(r.Path)
		return c, r.Path, err
	case s.conf.config.file == "":
		return nil, "", errors.New("the switch was not started from a file: give path or config")
	}
	c, err = Load(s.conf.config.file)
	return c, s.conf.config.file, err
}

// sameDaemon refuses what cannot change while a switch runs, by name.
func (c *Config) sameDaemon(old *Config) error {
	var fixed []error
	same := func(name string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			fixed = append(fixed, fmt.Errorf("%s cannot change while the switch runs: "+
				"it is %v, not %v", name, b, a))
		}
	}
	same("name", c.Name, old.Name)
	same("netns", c.Netns, old.Netns)
	same("control", c.Control, old.Control)
	same("metrics", c.Metrics, old.Metrics)
	same("log_level", c.LogLevel, old.LogLevel)
	same("clock", c.Clock, old.Clock)
	same("frames", c.Frames, old.Frames)
	same("cell_size", c.Cell, old.Cell)
	same("seed", c.Seed, old.Seed)
	if len(c.Ports) != len(old.Ports) {
		same("ports", len(c.Ports), len(old.Ports))
		return errors.Join(fixed...)
	}
	for i := range c.Ports {
		a, b := c.Ports[i], old.Ports[i]
		path := fmt.Sprintf("ports[%d]", i)
		same(path+".name", a.Name, b.Name)
		same(path+".rate", a.Rate, b.Rate)
		same(path+".delay", a.Delay, b.Delay)
		if !reflect.DeepEqual(a.TxLink, b.TxLink) || !reflect.DeepEqual(a.RxLink, b.RxLink) {
			fixed = append(fixed, fmt.Errorf("%s: links of the lab cannot change", path))
		}
	}
	return errors.Join(fixed...)
}

// set changes one field of what runs.
func (s *server) set(r SetRequest) (ConfigResult, error) {
	s.conf.mu.Lock()
	defer s.conf.mu.Unlock()
	tables, faults := s.conf.running.Set(r.Table, r.Key, r.Field, r.Value)
	if len(faults) > 0 {
		all := make([]error, len(faults))
		for i, f := range faults {
			all[i] = f
		}
		return ConfigResult{}, errors.Join(all...)
	}
	if tables.Switch[sonic.Global].Cell != s.conf.running.Switch[sonic.Global].Cell {
		return ConfigResult{}, errors.New("cell_size cannot change while the switch runs")
	}
	changed, err := s.run(s.conf.config, tables, "config_set")
	if err != nil {
		return ConfigResult{}, err
	}
	s.tellDrift(sonic.Diff(s.conf.desired, s.conf.running))
	return ConfigResult{Changed: changed}, nil
}

// run gives tables to the machine and to the programs between two turns of the loop. What is
// stored stays, so no frame is lost by it. If the machine refuses, nothing has changed.
func (s *server) run(c *Config, t *sonic.Tables, kind string) ([]sonic.Difference, error) {
	machine, err := c.machine(t)
	if err != nil {
		return nil, err
	}
	changed := sonic.Diff(t, s.conf.running)
	var refused, untold error
	err = s.Loop.Do(func(now unit.Time) {
		if refused = s.sw.Reconfigure(now, machine); refused != nil {
			return
		}
		untold = s.programs.reconfigure(&machine)
		s.Record(daemon.Event{AtNs: int64(now), Source: "config", Kind: kind,
			Detail: summary(changed)})
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	s.conf.running = t
	return changed, untold
}

// summary is a change in one line: its first fields, and how many more.
func summary(changed []sonic.Difference) string {
	const most = 4
	var parts []string
	for i, d := range changed {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(changed)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s|%s|%s: %s -> %s", d.Table, d.Key, d.Field,
			orNothing(d.Running), orNothing(d.Desired)))
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, ", ")
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func texts(remarks []sonic.Remark) (list []string) {
	for _, r := range remarks {
		list = append(list, r.String())
	}
	return list
}

// hangup reads the configuration again at each SIGHUP until ctx ends.
func (s *server) hangup(ctx context.Context, log *slog.Logger) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		result, err := s.reload(ConfigRequest{})
		if err != nil {
			log.Error("configuration not reloaded; the switch runs on as it was", "error", err)
			continue
		}
		log.Info("configuration reloaded", "changed", len(result.Changed))
		logRemarks(log, result.Remarks)
	}
}

func logRemarks(log *slog.Logger, remarks []string) {
	for _, r := range remarks {
		log.Info("configured without effect", "setting", r)
	}
}

// exported is what runs, as a config_db.json.
func (s *server) exported(struct{}) (json.RawMessage, error) {
	s.conf.mu.Lock()
	defer s.conf.mu.Unlock()
	return s.conf.running.Export(), nil
}
