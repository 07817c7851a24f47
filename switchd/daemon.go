package switchd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/xsk"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// server is a switch at work. Its fields are for the loop's thread once it runs.
type server struct {
	*daemon.Daemon
	sw      *pipeline.Switch
	names   map[string]dataplane.PortID
	sampler *daemon.Sampler
	sampled *QueueLength

	programs *programs
	conf     configuration

	params []daemon.Parameter // under conf.mu
	snap   pipeline.Snapshot
}

// Base is the common part of the configuration.
func (c *Config) Base() *daemon.Common { return &c.Common }

// Serve runs the switch until ctx ends.
func (c *Config) Serve(ctx context.Context, log *slog.Logger) error {
	tables, faults := c.Tables()
	if len(faults) > 0 {
		return fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
	}
	machine, err := c.machine(tables)
	if err != nil {
		return err
	}
	pool := frame.NewPool(c.Frames, xsk.DefaultOptions.MaxFrame())
	sw, err := pipeline.New(machine, pool)
	if err != nil {
		return err
	}
	s := &server{sw: sw, names: make(map[string]dataplane.PortID), params: c.Parameters(),
		programs: newPrograms(&machine), conf: configuration{file: c.file, config: c,
			desired: tables, running: tables}}
	for i, p := range c.Ports {
		s.names[p.Name] = dataplane.PortID(i)
	}
	s.Daemon, err = daemon.New(daemon.Spec{
		Common: c.Common, Kind: "switchd", Ports: c.Ports, Device: sw, Pool: pool,
		XSK: xsk.DefaultOptions, Log: log, MAC: pauseSource, Load: s.programs.load,
	})
	if err != nil {
		return err
	}
	s.sampler = daemon.NewSampler(s.Loop)
	s.Metrics.MustRegister(NewCollector(s.snapshot))
	s.Metrics.MustRegister(&driftCollector{s.driftNow})
	s.handle(s.Control)
	logRemarks(log, texts(c.Remarks()))
	return s.serve(ctx, log)
}

// serve runs the loop, and reloads at SIGHUP as long as it runs.
func (s *server) serve(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.hangup(ctx, log)
	}()
	err := s.Run(ctx)
	cancel()
	<-ended
	return err
}

// snapshot copies the machine's counters between two turns of the loop.
func (s *server) snapshot(dst *pipeline.Snapshot) error {
	return s.Loop.Do(func(now unit.Time) { s.sw.Snapshot(now, dst) })
}

func (s *server) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "GET /v1/status", s.status)
	daemon.Handle(mux, "POST /v1/sample", s.sample)
	daemon.Handle(mux, "GET /v1/sample", func(struct{}) (daemon.Samples, error) {
		return s.sampler.Samples()
	})
	daemon.Handle(mux, "POST /v1/config", s.reload)
	daemon.Handle(mux, "POST /v1/qos", s.set)
	daemon.Handle(mux, "GET /v1/drift", s.getDrift)
	daemon.Handle(mux, "GET /v1/config_db", s.exported)
	daemon.Handle(mux, "POST /v1/watermarks/clear", s.clearWatermarks)
}

func (s *server) status(struct{}) (st Status, err error) {
	if st.Status, err = s.Status(); err != nil {
		return st, err
	}
	s.conf.mu.Lock()
	st.Parameters = s.params
	s.conf.mu.Unlock()
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

// sample records one queue. With the last sample the queue's length over all of them is kept.
func (s *server) sample(r SampleRequest) (struct{}, error) {
	port, ok := s.names[r.Port]
	if !ok || r.Queue < 0 || r.Queue >= mmu.Queues {
		return struct{}{}, fmt.Errorf("no queue %d on port %q", r.Queue, r.Port)
	}
	q := mmu.Queue(r.Queue)
	columns := []string{ColumnQueueBytes, ColumnPFCSent, ColumnECNMarked, ColumnSentLineBytes}
	if err := s.Loop.Do(func(now unit.Time) {
		s.sw.ClearWatermarks(now)
		s.sampled = nil
	}); err != nil {
		return struct{}{}, err
	}
	taken := 0
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time, row []float64) {
			sent, marked := s.sw.QueueCounts(port, q)
			row[0] = float64(s.sw.QueueDepth(port, q))
			row[1] = float64(s.sw.PFCSent())
			row[2] = float64(marked.Frames)
			row[3] = float64(sent.Bytes) + float64(sent.Frames)*float64(wire.Overhead)
			if taken++; taken == r.Count {
				l := length(s.sw.QueueLength(now, port, q))
				s.sampled = &l
			}
		})
}
