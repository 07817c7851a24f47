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

// virtualFrames is the same in virtual time, where frames are passed on and not copied: all that
// switches store of a NIC's are its own. It is no bound, for the pool makes what is used.
const virtualFrames = 1 << 24

// build makes the machine and its pool.
func build(machine nic.Config, ports []daemon.PortConfig, frames int,
) (*app.Host, *frame.Pool, error) {
	pool := frame.NewPool(frames+waiting(&machine.Receive), daemon.FrameSize(ports))
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
	host, pool, err := build(machine, []daemon.PortConfig{c.Port}, virtualFrames)
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
	own     map[ib.QPN]ownCC
	sampled *State // once the last sample was taken
	snap    nic.Snapshot
}

func newVerbs(host *app.Host, c *Config) *verbs {
	return &verbs{host: host, c: c, qps: map[ib.QPN]*opened{}, own: map[ib.QPN]ownCC{}}
}

func (s *verbs) executeBy(run daemon.Executor) {
	s.run, s.sampler = run, daemon.NewSampler(run)
}

func (s *verbs) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "POST /v1/open", s.open)
	daemon.Handle(mux, "POST /v1/join", s.join)
	daemon.Handle(mux, "POST /v1/flow", s.flow)
	s.handleCC(mux)
	daemon.HandleQuery(mux, "GET /v1/messages", s.messages)
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
	err = s.do(func(now unit.Time) error {
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
		local, err := n.CreateRC(n.QPConfig(), nic.Service{DSCP: r.DSCP})
		if err != nil {
			n.DeregisterMR(region)
			return err
		}
		if err := s.listen(now, local.QPN, region); err != nil {
			n.DeregisterMR(region)
			return errors.Join(err, n.DestroyQP(local.QPN))
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
		Feedback: r.Peer.Feedback, DSCP: r.DSCP}
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
