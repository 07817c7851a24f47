package switchd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"syscall"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// configurator knows what a running switch should do and what it does. [RDMA at scale] section 5.1
// compares the two.
//
//	file --Load--> desired ---reload---> running ---> the machine, the XDP programs
//	                  |                     ^
//	                  +-- drift = Diff -----+-- set: one field, while it runs
type configurator struct {
	run    daemon.Executor
	sw     *pipeline.Switch
	frames int // of its pool
	// enforce tells what is outside the machine, at the moment that the machine has changed; nil
	// without real ports.
	enforce func(*pipeline.Config) error
	record  func(daemon.Event) // nil without an event log

	mu      sync.Mutex // of what follows, and of changes: they come one by one
	file    string     // of the desired configuration; empty if it came as text
	config  *Config    // the desired one, as read last
	desired *sonic.Tables
	running *sonic.Tables
	told    int // differences when drift was last recorded
}

// configurator is for a switch that runs c.
func (c *Config) configurator(run daemon.Executor, sw *pipeline.Switch) (*configurator, error) {
	tables, faults := c.Tables()
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
	}
	machine, err := c.MachineOf(tables)
	if err != nil {
		return nil, err
	}
	return &configurator{run: run, sw: sw, frames: c.poolFrames(&machine), file: c.file, config: c,
		desired: tables,
		running: tables}, nil
}

func (s *configurator) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "POST /v1/config", s.reload)
	daemon.Handle(mux, "POST /v1/qos", s.set)
	daemon.Handle(mux, "GET /v1/drift", func(struct{}) (Drift, error) { return s.drift() })
	daemon.Handle(mux, "GET /v1/config_db", s.exported)
}

// parameters are the settings that a reader of results needs.
func (s *configurator) parameters() []daemon.Parameter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return parameters(s.running, s.config.Ports[0].Name)
}

// reload runs the configuration that r names.
func (s *configurator) reload(r ConfigRequest) (ConfigResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, file, err := s.read(r)
	if err != nil {
		return ConfigResult{}, err
	}
	next.keepMTU(s.config)
	if err := next.sameDaemon(s.config); err != nil {
		return ConfigResult{}, err
	}
	tables, faults := next.Tables()
	if len(faults) > 0 {
		return ConfigResult{}, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
	}
	changed, err := s.apply(next, tables, "config_reloaded")
	if err != nil {
		return ConfigResult{}, err
	}
	s.file, s.config, s.desired = file, next, tables
	return ConfigResult{Changed: changed, Remarks: texts(next.Remarks())},
		s.tellDrift(sonic.Diff(s.desired, s.running))
}

// read loads the configuration that r names.
func (s *configurator) read(r ConfigRequest) (c *Config, file string, err error) {
	switch {
	case r.Path != "" && r.Config != "":
		return nil, "", errors.New("give path or config, not both")
	case r.Config != "":
		fresh := Default()
		err := daemon.Decode(s.config.file+" (sent)", []byte(r.Config), &fresh)
		fresh.file = s.config.file
		return &fresh, "", err
	case r.Path != "":
		c, err = Load(r.Path)
		return c, r.Path, err
	case s.config.file == "":
		return nil, "", errors.New("the switch was not started from a file: give path or config")
	}
	c, err = Load(s.config.file)
	return c, s.config.file, err
}

// keepMTU keeps the MTU that the devices were found to have, where a configuration gives none.
func (c *Config) keepMTU(old *Config) {
	for i := range min(len(c.Ports), len(old.Ports)) {
		if p := &c.Ports[i]; p.MTU == 0 {
			p.MTU = old.Ports[i].MTU
		}
	}
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
		same(path+".mtu", a.MTU, b.MTU)
		if !reflect.DeepEqual(a.TxLink, b.TxLink) || !reflect.DeepEqual(a.RxLink, b.RxLink) ||
			a.FarEnd != b.FarEnd || !reflect.DeepEqual(a.FarIPv4, b.FarIPv4) {
			fixed = append(fixed, fmt.Errorf("%s: links of the lab cannot change", path))
		}
	}
	return errors.Join(fixed...)
}

// set changes one field of what runs.
func (s *configurator) set(r SetRequest) (ConfigResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables, faults := s.running.Set(r.Table, r.Key, r.Field, r.Value)
	if len(faults) > 0 {
		all := make([]error, len(faults))
		for i, f := range faults {
			all[i] = f
		}
		return ConfigResult{}, errors.Join(all...)
	}
	if tables.Switch[sonic.Global].Cell != s.running.Switch[sonic.Global].Cell {
		return ConfigResult{}, errors.New("cell_size cannot change while the switch runs")
	}
	changed, err := s.apply(s.config, tables, "config_set")
	if err != nil {
		return ConfigResult{}, err
	}
	return ConfigResult{Changed: changed}, s.tellDrift(sonic.Diff(s.desired, s.running))
}

// apply gives tables to the machine and to the programs between two turns of the loop. What is
// stored stays, so no frame is lost by it. If the machine refuses, nothing has changed.
func (s *configurator) apply(c *Config, t *sonic.Tables, kind string) ([]sonic.Difference, error) {
	machine, err := c.MachineOf(t)
	if err != nil {
		return nil, err
	}
	if need := c.poolFrames(&machine); need > s.frames {
		return nil, fmt.Errorf("buffer pools cannot grow while the switch runs: they could hold "+
			"%d frames, there are %d; start with as many `frames`", need, s.frames)
	}
	changed := sonic.Diff(t, s.running)
	var refused, untold error
	err = s.run.Do(func(now unit.Time) {
		if refused = s.sw.Reconfigure(now, machine); refused != nil {
			return
		}
		if s.enforce != nil {
			untold = s.enforce(&machine)
		}
		s.tell(now, kind, summary(changed))
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	s.running = t
	return changed, untold
}

// tell records an event of the configuration, on the loop's thread.
func (s *configurator) tell(now unit.Time, kind, detail string) {
	if s.record != nil {
		s.record(daemon.Event{AtNs: int64(now), Source: "config", Kind: kind, Detail: detail})
	}
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
func (s *configurator) hangup(ctx context.Context, log *slog.Logger) {
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
func (s *configurator) exported(struct{}) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running.Export(), nil
}
