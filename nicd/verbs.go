package nicd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// poolFrames is enough for everything a NIC holds beside what waits for its receive pipeline: the
// link's bandwidth-delay product. All packets are built when the wire asks for them.
const poolFrames = 8192

// build makes the machine and its pool.
func build(machine nic.Config, ports []daemon.PortConfig) (*app.Host, *frame.Pool, error) {
	pool := frame.NewPool(poolFrames+waiting(&machine.Receive), daemon.FrameSize(ports))
	n, err := nic.New(machine, pool)
	if err != nil {
		return nil, nil, err
	}
	return app.NewHost(n), pool, nil
}

// Virtual is the NIC for a driver in virtual time.
func (c *Config) Virtual() (*daemon.Virtual, error) {
	if c.follows() {
		return nil, errors.New("mac, ipv4 or ipv6, and mtu must be given in virtual time, " +
			"where there is no kernel to take them from")
	}
	machine, err := c.Machine()
	if err != nil {
		return nil, err
	}
	host, pool, err := build(machine, []daemon.PortConfig{c.Port})
	if err != nil {
		return nil, err
	}
	if err := c.Pingmesh.begin(host, c.Gateway); err != nil {
		return nil, err
	}
	v := newVerbs(host, c)
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
	c       *Config
	kernel  *kernel // nil in virtual time
	sampled *State  // once the last sample was taken
	snap    nic.Snapshot
}

func newVerbs(host *app.Host, c *Config) *verbs {
	return &verbs{host: host, c: c, qps: map[ib.QPN]*opened{}}
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
	daemon.Handle(mux, "GET /v1/addresses", s.addresses)
	daemon.Handle(mux, "POST /v1/receive/restore", s.restorePause)
	daemon.Handle(mux, "GET /v1/pingmesh", s.pingmesh)
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
func (s *verbs) do(fn func(now unit.Time) error) error { return daemon.Do(s.run, fn) }

// opened is a QP with the region that goes with it.
type opened struct {
	region *qp.Region
	source netip.Addr
	peer   Endpoint // once joined
}

func (s *verbs) open(r OpenRequest) (e Endpoint, err error) {
	err = s.do(func(unit.Time) error {
		n := s.host.NIC()
		ip, err := s.source(r.IP)
		if err != nil {
			return err
		}
		register := n.RegisterMR
		if r.Payload == Virtual {
			register = n.RegisterVoid
		}
		region, err := register(r.Bytes, allRights)
		if err != nil {
			return err
		}
		local, err := n.CreateQP(n.QPConfig())
		if err != nil {
			n.DeregisterMR(region)
			return err
		}
		s.qps[local.QPN] = &opened{region: region, source: ip}
		e = Endpoint{QPN: local.QPN, PSN: local.PSN, IP: ip, MAC: n.Config().MAC, VA: region.VA,
			RKey: region.Key, Feedback: true}
		return nil
	})
	return e, err
}

// resolveWithin bounds how long a join waits for a neighbour: the kernel asks three times in three
// seconds (mcast_solicit of Linux Documentation/networking/ip-sysctl, a retransmission a second).
const resolveWithin = 5 * time.Second

func (s *verbs) join(r JoinRequest) (struct{}, error) {
	remote := nic.Remote{QPN: r.Peer.QPN, PSN: r.Peer.PSN, IP: r.Peer.IP,
		Feedback: r.Peer.Feedback}
	err := s.do(func(unit.Time) error {
		q := s.qps[r.QPN]
		if q == nil {
			return fmt.Errorf("QP %v was not opened here", r.QPN)
		}
		q.peer = r.Peer
		if q.source.Is4() == r.Peer.IP.Is4() {
			remote.Source = q.source // the peer expects it
		}
		return nil
	})
	if err == nil {
		err = s.way(&remote, r.Peer.MAC)
	}
	if err != nil {
		return struct{}{}, err
	}
	err = s.do(func(unit.Time) error { return s.host.NIC().Connect(r.QPN, remote) })
	if err == nil && s.kernel != nil {
		s.kernel.used()
	}
	return struct{}{}, err
}

// way finds out where packets to a peer go: to the MAC address that is given, by the gateway if one
// is, or where the kernel says.
func (s *verbs) way(r *nic.Remote, mac wire.MAC) error {
	switch {
	case mac != wire.MAC{} || s.c.Gateway != nil && !s.c.Gateway.Subnet.Contains(r.IP):
		r.MAC = s.c.Gateway.toward(r.IP, mac)
		return nil
	case s.kernel == nil:
		return fmt.Errorf("peer.mac: is missing, and in virtual time there is no kernel to ask "+
			"for the way to %v", r.IP)
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveWithin)
	defer cancel()
	p, err := s.kernel.Resolve(ctx, r.IP, r.Source)
	if err != nil {
		return err
	}
	r.Source, r.MAC, r.VLAN, r.Resolved = p.Source, p.MAC, p.VLAN, true
	return nil
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
		if r.MessageBytes > q.region.Len() {
			return fmt.Errorf("messages of %d bytes do not fit the region of %d", r.MessageBytes,
				q.region.Len())
		}
		if op.Atomic() && q.region.Bytes == nil {
			return fmt.Errorf("verb %q: needs a region whose payload is real", r.Verb)
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
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time, row []float64) { s.row(now, flows, qps, row) },
		func(unit.Time) {
			st := s.state()
			s.sampled = &st
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
