package nicd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/xsk"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// poolFrames is enough for everything a NIC holds: the link's bandwidth-delay product and the
// control packets that wait. Data packets are built when the wire asks for them.
const poolFrames = 8192

// server is a NIC at work. Its fields are for the loop's thread once it runs.
type server struct {
	*daemon.Daemon
	host    *app.Host
	sampler *daemon.Sampler
	qps     map[ib.QPN]*opened
	params  []daemon.Parameter
	snap    nic.Snapshot
}

// Base is the common part of the configuration.
func (c *Config) Base() *daemon.Common { return &c.Common }

// Serve runs the NIC until ctx ends.
func (c *Config) Serve(ctx context.Context, log *slog.Logger) error {
	machine, err := c.Machine()
	if err != nil {
		return err
	}
	pool := frame.NewPool(poolFrames, xsk.DefaultOptions.MaxFrame())
	n, err := nic.New(machine, pool)
	if err != nil {
		return err
	}
	s := &server{host: app.NewHost(n), params: c.Parameters(), qps: map[ib.QPN]*opened{}}
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
	s.sampler = daemon.NewSampler(s.Loop)
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
	daemon.Handle(mux, "POST /v1/open", s.open)
	daemon.Handle(mux, "POST /v1/join", s.join)
	daemon.Handle(mux, "POST /v1/flow", s.flow)
	daemon.Handle(mux, "GET /v1/status", s.status)
	daemon.Handle(mux, "POST /v1/sample", s.sample)
	daemon.Handle(mux, "GET /v1/sample", func(struct{}) (daemon.Samples, error) {
		return s.sampler.Samples()
	})
}

// do runs fn on the loop's thread and returns its error, or the loop's.
func (s *server) do(fn func(now unit.Time) error) error {
	var err error
	if e := s.Loop.Do(func(now unit.Time) { err = fn(now) }); e != nil {
		return e
	}
	return err
}

// opened is a QP with the region that goes with it.
type opened struct {
	region *qp.Region
	peer   Endpoint // once joined
}

func (s *server) open(r OpenRequest) (e Endpoint, err error) {
	err = s.do(func(unit.Time) error {
		n := s.host.NIC()
		region, err := n.RegisterMR(r.Bytes, qp.Access{LocalWrite: true, RemoteWrite: true,
			RemoteRead: true})
		if err != nil {
			return err
		}
		local, err := n.CreateQP(n.QPConfig())
		if err != nil {
			n.DeregisterMR(region)
			return err
		}
		s.qps[local.QPN] = &opened{region: region}
		c := n.Config()
		e = Endpoint{QPN: local.QPN, PSN: local.PSN, IP: c.IPv4, MAC: c.MAC, VA: region.VA,
			RKey: region.Key}
		if !e.IP.IsValid() {
			e.IP = c.IPv6
		}
		return nil
	})
	return e, err
}

func (s *server) join(r JoinRequest) (struct{}, error) {
	return struct{}{}, s.do(func(unit.Time) error {
		q := s.qps[r.QPN]
		if q == nil {
			return fmt.Errorf("QP %v was not opened here", r.QPN)
		}
		q.peer = r.Peer
		return s.host.NIC().Connect(r.QPN, nic.Remote{QPN: r.Peer.QPN, PSN: r.Peer.PSN,
			IP: r.Peer.IP, MAC: r.Peer.MAC})
	})
}

var verbs = map[string]qp.Op{"write": qp.Write, "send": qp.Send}

func (s *server) flow(r FlowRequest) (struct{}, error) {
	op, ok := verbs[r.Verb]
	if !ok {
		return struct{}{}, fmt.Errorf("verb %q: want write or send", r.Verb)
	}
	return struct{}{}, s.do(func(now unit.Time) error {
		q := s.qps[r.QPN]
		if q == nil {
			return fmt.Errorf("QP %v was not opened here", r.QPN)
		}
		if r.MessageBytes > len(q.region.Bytes) {
			return fmt.Errorf("messages of %d bytes do not fit the region of %d", r.MessageBytes,
				len(q.region.Bytes))
		}
		_, err := s.host.Start(now, app.Flow{Name: r.Name, QPN: r.QPN, Op: op, Depth: r.Depth,
			Local:    qp.Local{Key: q.region.Key, VA: q.region.VA, Length: r.MessageBytes},
			Remote:   qp.Remote{VA: q.peer.VA, RKey: q.peer.RKey},
			Messages: r.Messages, Start: unit.Time(r.StartNs), Stop: unit.Time(r.StopNs)})
		return err
	})
}

func (s *server) status(struct{}) (st Status, err error) {
	if st.Status, err = s.Status(); err != nil {
		return st, err
	}
	st.Parameters = s.params
	err = s.do(func(now unit.Time) error {
		s.host.NIC().Snapshot(now, &s.snap)
		for _, p := range s.snap.Pause {
			st.PausedNs += p.RxPauseDuration.Nanoseconds()
		}
		st.Counters = counters(&s.snap)
		for i := range s.host.Flows() {
			st.Flows = append(st.Flows, s.flowStatus(i))
		}
		return nil
	})
	return st, err
}

func (s *server) flowStatus(i int) FlowStatus {
	f, stats := s.host.Flow(i)
	out := FlowStatus{Name: f.Name, QPN: f.QPN, Messages: stats.Completed, Failed: stats.Failed,
		State: map[string]float64{}}
	if v := s.view(f.QPN); v != nil {
		out.AckedBytes, out.Retransmitted = v.Stats.BytesAcked, v.Stats.PacketsRetransmitted
		out.RateBps = int64(v.Rate)
		for _, value := range v.CC[:v.CCValues] {
			out.State[value.Name] = value.Value
		}
	}
	return out
}

// view finds a QP in the latest snapshot.
func (s *server) view(qpn ib.QPN) *nic.QPView {
	for i := range s.snap.QPs {
		if s.snap.QPs[i].QPN == qpn {
			return &s.snap.QPs[i]
		}
	}
	return nil
}

// sample records every flow and every QP that exists now.
func (s *server) sample(r daemon.SampleRequest) (struct{}, error) {
	columns := []string{ColumnPausedNs, ColumnCNPsSent}
	var flows, qps []ib.QPN
	err := s.do(func(now unit.Time) error {
		for i := range s.host.Flows() {
			f, _ := s.host.Flow(i)
			flows = append(flows, f.QPN)
			columns = append(columns, ColumnRate+f.Name)
		}
		s.host.NIC().Snapshot(now, &s.snap)
		for i := range s.snap.QPs {
			qps = append(qps, s.snap.QPs[i].QPN)
			columns = append(columns, fmt.Sprint(ColumnPlaced, uint32(s.snap.QPs[i].QPN)))
		}
		return nil
	})
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time, row []float64) { s.row(now, flows, qps, row) })
}

func (s *server) row(now unit.Time, flows, qps []ib.QPN, row []float64) {
	s.host.NIC().Snapshot(now, &s.snap)
	row[0], row[1] = 0, float64(s.snap.Counters.NPCNPSent)
	for _, p := range s.snap.Pause {
		row[0] += float64(p.RxPauseDuration.Nanoseconds())
	}
	row = row[2:]
	for i, qpn := range flows {
		if v := s.view(qpn); v != nil {
			row[i] = float64(v.Rate)
		}
	}
	row = row[len(flows):]
	for i, qpn := range qps {
		if v := s.view(qpn); v != nil {
			row[i] = float64(v.Stats.BytesReceived)
		}
	}
}
