package nicd

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
)

// server is a NIC at work. Its fields are for the loop's thread once it runs.
type server struct {
	*daemon.Daemon
	*verbs
}

// Program is nicd, to be run by daemon.Main.
func Program() daemon.Program {
	return daemon.Program{Name: "nicd", Sample: Sample,
		Load: func(path string) (daemon.Runner, error) { return Load(path) }}
}

// Base is the common part of the configuration.
func (c *Config) Base() *daemon.Common { return &c.Common }

// Serve runs the NIC until ctx ends.
func (c *Config) Serve(ctx context.Context, log *slog.Logger) error {
	ports, err := daemon.WithMTU(c.Netns, []daemon.PortConfig{c.Port})
	if err != nil {
		return err
	}
	if err := c.fits(ports[0].MTU); err != nil {
		return err
	}
	machine, err := c.Machine()
	if err != nil {
		return err
	}
	kernel := newKernel(c, log)
	defer kernel.close()
	if err := kernel.begin(&machine); err != nil {
		return err
	}
	host, pool, err := build(machine, ports, poolFrames)
	if err != nil {
		return err
	}
	if err := c.Pingmesh.begin(host, c.Gateway); err != nil {
		return err
	}
	s := &server{verbs: newVerbs(host, c)}
	s.kernel = kernel
	s.Daemon, err = daemon.New(daemon.Spec{
		Common: c.Common, Kind: "nicd", Ports: []daemon.PortConfig{c.Port}, Device: s.host,
		Pool: pool, Log: log,
		MAC: func(int) wire.MAC { return machine.MAC },
		Load: func(_ int, cfg bpf.PortConfig) (*bpf.Program, error) {
			cfg.Map = machine.Classify
			if c.Clock.Page != "" { // Without a lab all keep the kernel's time: it answers.
				cfg.IPv4 = c.IPv4
			}
			return bpf.LoadNIC(cfg)
		},
	})
	if err != nil {
		return err
	}
	s.executeBy(s.Loop)
	kernel.attach(host.NIC(), s.Loop, s.Record)
	s.host.NIC().SetNotify(s.pauseStorm)
	metrics := NewCollector(c.Name, s.snapshot)
	metrics.PerQP = c.MetricsPerQP
	metrics.Completions = func(dst *app.Histogram) error {
		return s.Loop.Do(func(unit.Time) { s.host.MCT(dst) })
	}
	s.Metrics.MustRegister(metrics, NewPingmeshCollector(c.Name, s.probes))
	s.handle(s.Control)
	programs, err := s.listenPrograms(c, log)
	if err != nil {
		return err
	}
	if programs != nil {
		metrics.Programs = programs.Stats
	}
	return s.runWith(ctx, programs, log)
}

// snapshot copies the machine's counters between two turns of the loop.
func (s *server) snapshot(dst *nic.Snapshot) error {
	return s.Loop.Do(func(now unit.Time) { s.host.NIC().Snapshot(now, dst) })
}

// probes shows the pingmesh's between two turns of the loop.
func (s *server) probes(see func(*app.ProbeStats)) (refused uint64, err error) {
	err = s.Loop.Do(func(unit.Time) { refused = s.host.Probes(see) })
	return refused, err
}

func (s *server) handle(mux *http.ServeMux) {
	s.verbs.handle(mux)
	daemon.Handle(mux, "GET /v1/status", s.status)
}

func (s *server) status(struct{}) (st Status, err error) {
	if st.Status, err = s.Status(); err != nil {
		return st, err
	}
	err = s.do(func(now unit.Time) error {
		st.Parameters = s.c.Parameters()
		s.host.NIC().Snapshot(now, &s.snap)
		st.State = s.state()
		return nil
	})
	return st, err
}
