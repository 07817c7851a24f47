package switchd

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/xsk"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// server is a switch at work. Its fields are for the loop's thread once it runs.
type server struct {
	*daemon.Daemon
	*observer

	log    *slog.Logger
	params []daemon.Parameter
	snap   pipeline.Snapshot
}

// Base is the common part of the configuration.
func (c *Config) Base() *daemon.Common { return &c.Common }

// Serve runs the switch until ctx ends.
func (c *Config) Serve(ctx context.Context, log *slog.Logger) error {
	machine, err := c.Machine()
	if err != nil {
		return err
	}
	sw, pool, err := c.build(machine)
	if err != nil {
		return err
	}
	s := &server{observer: c.observe(sw), params: c.Parameters(), log: log}
	s.Daemon, err = daemon.New(daemon.Spec{
		Common: c.Common, Kind: "switchd", Ports: c.Ports, Device: sw, Pool: pool,
		XSK: xsk.DefaultOptions, Log: log, MAC: pauseSource, Filtered: sw.Filtered,
		Load: func(port int) (*bpf.Program, error) {
			return bpf.LoadSwitch(bpf.PortConfig{Map: machine.Ports[port].Classify})
		},
	})
	if err != nil {
		return err
	}
	sw.SetNotify(s.record)
	s.sampleBy(s.Loop)
	s.Metrics.MustRegister(NewCollector(s.snapshot))
	s.handle(s.Control)
	return s.Run(ctx)
}

// snapshot copies the machine's counters between two turns of the loop.
func (s *server) snapshot(dst *pipeline.Snapshot) error {
	return s.Loop.Do(func(now unit.Time) { s.sw.Snapshot(now, dst) })
}

func (s *server) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "GET /v1/status", s.status)
	daemon.Handle(mux, "GET /v1/waits", s.waits)
	s.observer.handle(mux)
	daemon.Handle(mux, "POST /v1/watermarks/clear", s.clearWatermarks)
}

func (s *server) status(struct{}) (st Status, err error) {
	if st.Status, err = s.Status(); err != nil {
		return st, err
	}
	st.Parameters = s.params
	err = s.Loop.Do(func(now unit.Time) {
		s.sw.Snapshot(now, &s.snap)
		st.Sampled = s.sampled
		for i := range s.snap.Ports {
			st.SwitchPorts = append(st.SwitchPorts, portStatus(&s.snap.Ports[i]))
		}
		for _, p := range s.snap.Pools {
			st.Pools = append(st.Pools, PoolStatus{Name: p.Name, Bytes: int64(p.Occupancy),
				Watermark: int64(p.Watermark), Size: int64(p.Size)})
		}
	})
	return st, err
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
