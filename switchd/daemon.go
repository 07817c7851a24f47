package switchd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// server is a switch at work. Its fields are for the loop's thread once it runs.
type server struct {
	*daemon.Daemon
	*observer

	log      *slog.Logger
	programs *programs
	conf     *configurator
}

// Program is switchd, to be run by daemon.Main.
func Program() daemon.Program {
	return daemon.Program{Name: "switchd", Sample: Sample,
		Load: func(path string) (daemon.Runner, error) { return Load(path) }}
}

// Base is the common part of the configuration.
func (c *Config) Base() *daemon.Common { return &c.Common }

// Serve runs the switch until ctx ends.
func (c *Config) Serve(ctx context.Context, log *slog.Logger) error {
	given := c.Ports
	var err error
	if c.Ports, err = daemon.WithMTU(c.Netns, given); err != nil {
		return err
	}
	machine, err := c.Machine()
	if err != nil {
		return err
	}
	sw, pool, err := c.build(machine)
	if err != nil {
		return err
	}
	s := &server{observer: c.observe(sw), log: log, programs: newPrograms(&machine)}
	s.Daemon, err = daemon.New(daemon.Spec{
		Common: c.Common, Kind: "switchd", Ports: given, Device: sw, Pool: pool,
		Log: log, MAC: c.portMAC, Filtered: sw.Filtered,
		Load: s.programs.load,
	})
	if err != nil {
		return err
	}
	sw.SetNotify(s.record)
	sw.SetVerdict(s.filter)
	s.sampleBy(s.Loop)
	s.Metrics.MustRegister(NewCollector(s.snapshot))
	if s.conf, err = c.configurator(s.Loop, sw); err != nil {
		return err
	}
	s.conf.enforce, s.conf.record = s.enforce, s.Record
	s.Metrics.MustRegister(&driftCollector{s.conf.drift})
	s.handle(s.Control)
	s.conf.handle(s.Control)
	logRemarks(log, texts(c.Remarks()))
	return s.serve(ctx, log)
}

// serve runs the loop, and reloads at SIGHUP as long as it runs.
func (s *server) serve(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.conf.hangup(ctx, log)
	}()
	err := s.Run(ctx)
	cancel()
	<-ended
	return err
}

// enforce tells the XDP programs the traffic classes, and with them what of a storm to drop.
func (s *server) enforce(cfg *pipeline.Config) error {
	err := s.programs.reconfigure(cfg)
	for i := range cfg.Ports {
		port := dataplane.PortID(i)
		if stormed := s.sw.Verdict(port); stormed != 0 {
			err = errors.Join(err, s.Loop.SetFilter(port, uint8(stormed)))
		}
	}
	return err
}

// snapshot copies the machine's counters between two turns of the loop.
func (s *server) snapshot(dst *pipeline.Snapshot) error {
	return s.Loop.Do(func(now unit.Time) { s.sw.Snapshot(now, dst) })
}

func (s *server) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "GET /v1/status", s.status)
	s.observer.handle(mux)
}

func (s *server) status(struct{}) (st Status, err error) {
	if st.Status, err = s.Status(); err != nil {
		return st, err
	}
	st.Parameters = s.conf.parameters()
	err = s.Loop.Do(func(now unit.Time) {
		s.sw.Snapshot(now, &s.snap)
		st.SwitchPorts = portStatuses(&s.snap)
		for _, p := range s.snap.Pools {
			st.Pools = append(st.Pools, PoolStatus{Name: p.Name, Bytes: int64(p.Occupancy),
				Watermark: int64(p.Watermark), Size: int64(p.Size)})
		}
	})
	return st, err
}

func portStatuses(snap *pipeline.Snapshot) (list []PortStatus) {
	for i := range snap.Ports {
		list = append(list, portStatus(&snap.Ports[i]))
	}
	return list
}

func portStatus(p *pipeline.PortSnapshot) PortStatus {
	st := PortStatus{Name: p.Name, PFCSent: p.PFCSent.Frames, PFCReceived: p.PFCReceived.Frames}
	for i := range st.SendPausedNs {
		st.SendPausedNs[i] = p.PFCSent.Paused[i].Nanoseconds()
		st.ReceivePausedNs[i] = p.PFCReceived.Paused[i].Nanoseconds()
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		st.Queues[i] = QueueStatus{Bytes: int64(q.Occupancy), SentPackets: q.Sent.Frames,
			SentBytes: q.Sent.Bytes, MarkedPackets: q.Marked.Frames, Length: length(q.Length)}
	}
	return st
}

func length(o qos.OccupancySummary) QueueLength {
	return QueueLength{MeanBytes: o.Mean, P99Bytes: float64(o.P99), MaxBytes: float64(o.Max)}
}
