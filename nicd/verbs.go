package nicd

import (
	"fmt"
	"net/http"
	"time"

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

// poolFrames is enough for everything a NIC holds beside what waits for its receive pipeline: the
// link's bandwidth-delay product. All packets are built when the wire asks for them.
const poolFrames = 8192

// build makes the machine and its pool.
func build(machine nic.Config) (*app.Host, *frame.Pool, error) {
	pool := frame.NewPool(poolFrames+waiting(&machine.Receive), xsk.DefaultOptions.MaxFrame())
	n, err := nic.New(machine, pool)
	if err != nil {
		return nil, nil, err
	}
	return app.NewHost(n), pool, nil
}

// Virtual is the NIC for a driver in virtual time.
func (c *Config) Virtual() (*daemon.Virtual, error) {
	machine, err := c.Machine()
	if err != nil {
		return nil, err
	}
	host, pool, err := build(machine)
	if err != nil {
		return nil, err
	}
	v := newVerbs(host, c.Gateway)
	return &daemon.Virtual{Device: host, Pool: pool, Ports: []daemon.PortConfig{c.Port},
		MAC: func(int) wire.MAC { return c.MAC },
		Handle: func(run daemon.Executor, mux *http.ServeMux) {
			v.executeBy(run)
			v.handle(mux)
		}}, nil
}

// verbs is what can be done with queue pairs, whoever drives the NIC.
type verbs struct {
	run     daemon.Executor
	host    *app.Host
	sampler *daemon.Sampler
	qps     map[ib.QPN]*opened
	gateway *Gateway // nil: none
	sampled *State   // once the last sample was taken
	snap    nic.Snapshot
}

func newVerbs(host *app.Host, gateway *Gateway) *verbs {
	return &verbs{host: host, gateway: gateway, qps: map[ib.QPN]*opened{}}
}

func (s *verbs) executeBy(run daemon.Executor) {
	s.run, s.sampler = run, daemon.NewSampler(run)
}

func (s *verbs) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "POST /v1/open", s.open)
	daemon.Handle(mux, "POST /v1/join", s.join)
	daemon.Handle(mux, "POST /v1/flow", s.flow)
	daemon.Handle(mux, "POST /v1/receive", s.receive)
	daemon.Handle(mux, "GET /v1/receive", s.receiveStatus)
	daemon.Handle(mux, "POST /v1/sample", s.sample)
	daemon.Handle(mux, "GET /v1/sample", func(struct{}) (daemon.Samples, error) {
		return s.sampler.Samples()
	})
	daemon.Handle(mux, "GET /v1/sampled", func(struct{}) (out State, err error) {
		err = s.do(func(unit.Time) error {
			if s.sampled == nil {
				return daemon.ErrSampling
			}
			out = *s.sampled
			return nil
		})
		return out, err
	})
}

// do runs fn in the machine's time and returns its error, or the driver's.
func (s *verbs) do(fn func(now unit.Time) error) error {
	var err error
	if e := s.run.Do(func(now unit.Time) { err = fn(now) }); e != nil {
		return e
	}
	return err
}

// opened is a QP with the region that goes with it.
type opened struct {
	region *qp.Region
	peer   Endpoint // once joined
}

func (s *verbs) open(r OpenRequest) (e Endpoint, err error) {
	err = s.do(func(unit.Time) error {
		n := s.host.NIC()
		region, err := n.RegisterMR(r.Bytes, qp.Access{LocalWrite: true, RemoteWrite: true,
			RemoteRead: true, RemoteAtomic: true})
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

func (s *verbs) join(r JoinRequest) (struct{}, error) {
	return struct{}{}, s.do(func(unit.Time) error {
		q := s.qps[r.QPN]
		if q == nil {
			return fmt.Errorf("QP %v was not opened here", r.QPN)
		}
		q.peer = r.Peer
		return s.host.NIC().Connect(r.QPN, nic.Remote{QPN: r.Peer.QPN, PSN: r.Peer.PSN,
			IP: r.Peer.IP, MAC: s.gateway.toward(r.Peer.IP, r.Peer.MAC)})
	})
}

var operations = map[string]qp.Op{"write": qp.Write, "send": qp.Send, "read": qp.Read,
	"fetch_add": qp.FetchAdd, "cmp_swap": qp.CmpSwap}

func (s *verbs) flow(r FlowRequest) (struct{}, error) {
	op, ok := operations[r.Verb]
	if !ok {
		return struct{}{}, fmt.Errorf("verb %q: want write, send, read, fetch_add or cmp_swap",
			r.Verb)
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
			Span:     r.SpanBytes,
			Messages: r.Messages, Start: unit.Time(r.StartNs), Stop: unit.Time(r.StopNs)})
		return err
	})
}

// view finds a QP in the latest snapshot.
func (s *verbs) view(qpn ib.QPN) *nic.QPView {
	for i := range s.snap.QPs {
		if s.snap.QPs[i].QPN == qpn {
			return &s.snap.QPs[i]
		}
	}
	return nil
}

// sample records every flow and every QP that exists now. With the last sample everything that the
// NIC counted is kept.
func (s *verbs) sample(r daemon.SampleRequest) (struct{}, error) {
	columns := []string{ColumnPausedNs, ColumnCNPsSent}
	var flows, qps []ib.QPN
	err := s.do(func(now unit.Time) error {
		s.sampled = nil
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
	taken := 0
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time, row []float64) {
			s.row(now, flows, qps, row)
			if taken++; taken == r.Count {
				st := s.state()
				s.sampled = &st
			}
		})
}

// state sums up the latest snapshot.
func (s *verbs) state() (st State) {
	for _, p := range s.snap.Pause {
		st.PausedNs += p.RxPauseDuration.Nanoseconds()
	}
	st.Counters = counters(&s.snap)
	for i := range s.host.Flows() {
		st.Flows = append(st.Flows, s.flowStatus(i))
	}
	return st
}

func (s *verbs) flowStatus(i int) FlowStatus {
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

func (s *verbs) row(now unit.Time, flows, qps []ib.QPN, row []float64) {
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
