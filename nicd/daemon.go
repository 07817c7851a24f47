package nicd

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/xsk"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
)

// server is a NIC at work. Its fields are for the loop's thread once it runs.
type server struct {
	*daemon.Daemon
	*verbs
	params []daemon.Parameter
}

// Base is the common part of the configuration.
func (c *Config) Base() *daemon.Common { return &c.Common }

// Serve runs the NIC until ctx ends.
func (c *Config) Serve(ctx context.Context, log *slog.Logger) error {
	machine, err := c.Machine()
	if err != nil {
		return err
	}
	host, pool, err := build(machine)
	if err != nil {
		return err
	}
	s := &server{verbs: newVerbs(host, c.Gateway), params: c.Parameters()}
	s.Daemon, err = daemon.New(daemon.Spec{
		Common: c.Common, Kind: "nicd", Ports: []daemon.PortConfig{c.Port}, Device: s.host,
		Pool: pool, XSK: xsk.DefaultOptions, Log: log,
		MAC: func(int) wire.MAC { return c.MAC },
		Load: func(int) (*bpf.Program, error) {
			return bpf.LoadNIC(bpf.PortConfig{Map: machine.Classify})
		},
	})
	if err != nil {
		return err
	}
	s.executeBy(s.Loop)
	metrics := NewCollector(c.Name, s.snapshot)
	metrics.PerQP = c.MetricsPerQP
	metrics.Completions = func(dst *app.Histogram) error {
		return s.Loop.Do(func(unit.Time) { s.host.MCT(dst) })
	}
	s.Metrics.MustRegister(metrics)
	s.handle(s.Control)
	return s.Run(ctx)
}

// snapshot copies the machine's counters between two turns of the loop.
func (s *server) snapshot(dst *nic.Snapshot) error {
	return s.Loop.Do(func(now unit.Time) { s.host.NIC().Snapshot(now, dst) })
}

func (s *server) handle(mux *http.ServeMux) {
	s.verbs.handle(mux)
	daemon.Handle(mux, "GET /v1/status", s.status)
}

func (s *server) status(struct{}) (st Status, err error) {
	if st.Status, err = s.Status(); err != nil {
		return st, err
	}
	st.Parameters = s.params
	err = s.do(func(now unit.Time) error {
		s.host.NIC().Snapshot(now, &s.snap)
		st.State = s.state()
		return nil
	})
	return st, err
}
