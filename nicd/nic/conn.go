package nic

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// DefaultPD is the protection domain of QPs and regions whose creator does not care.
const DefaultPD qp.PD = 1

// Errors of the verbs.
var (
	ErrNoQP       = errors.New("no such QP")
	ErrTooFew     = errors.New("all queue pairs are in use or in timewait")
	ErrFamily     = errors.New("NIC has no address of that IP version")
	ErrScope      = errors.New("congestion control counts flows, which needs CNPs by qp")
	ErrNoFeedback = errors.New("congestion control needs a peer that gives congestion feedback")
)

// conn is a QP with everything the NIC keeps for it.
type conn struct {
	qp       *qp.QP // one of the two is nil
	ud       *qp.UD
	cq       *qp.CQ
	srq      *SRQ // nil: receives are its own
	qpn      ib.QPN
	pd       qp.PD
	dscp     DSCP      // of its packets; CNPs have the NIC's
	own      cc.Params // its creator's or an operator's choice; nil: what its class has
	params   cc.Params // in force
	cc       cc.Algorithm
	notify   cc.NotificationPoint
	flow     ratelimit.Flow
	window   unit.Bytes
	feedback *feedback // nil: the peer gives none
	headers  ib.Headers
	remote   Remote
	way      way
	psn      ib.PSN    // our first
	cnps     uint64    // received
	cnpDue   unit.Time // while it is in the list of the delayed
	fatal    bool      // that it went to ERR has been told

	connection cm.ID // by the connection manager; 0: none
	greeting   bool  // its RTU is on the way

	timers ratelimit.TimerID // the first of its timers; the kind is added

	links [memberships]link
}

// Local is what the peer must know to connect to a QP.
type Local struct {
	QPN ib.QPN
	PSN ib.PSN // we send from here on
}

// Remote is the peer of a QP.
type Remote struct {
	QPN ib.QPN
	PSN ib.PSN // it sends from here on
	IP  netip.Addr
	MAC wire.MAC // of the peer, or of the router on the way

	VLAN   ib.VLAN    // of the frames to it; the zero value is that of Source
	Source netip.Addr // which of our addresses; invalid: the first of IP's version
	// Feedback: the peer understands congestion feedback, and wants ours.
	Feedback bool
	DSCP     *uint8 // of the QP's packets; nil: that of its creation, or the NIC's

	Resolved bool // the path is the kernel's, and follows it: Peers, Moved, PathDown
}

// RegisterMR makes a region of size zero bytes in the default domain.
func (n *NIC) RegisterMR(size int, access qp.Access) (*qp.Region, error) {
	return n.RegisterMemory(DefaultPD, make([]byte, max(size, 0)), access)
}

// DeregisterMR forgets a region. Nothing touches its bytes from now on.
func (n *NIC) DeregisterMR(r *qp.Region) {
	n.memory.Deregister(r)
	n.pds.release(r.PD)
}

// QPConfig is what a QP has by default, for a creator to change.
func (n *NIC) QPConfig() qp.Config {
	c := n.cfg.QP
	c.PD = DefaultPD
	return c
}

// CreateQP makes a QP that may post receives. Its number is chosen here.
func (n *NIC) CreateQP(cfg qp.Config) (Local, error) { return n.CreateRC(cfg, Service{}) }

// Service is what the NIC does for one QP differently than for others.
type Service struct {
	SRQ  *SRQ      // receives are taken from there; nil: the QP has its own
	DSCP *uint8    // of data and answers; nil: the NIC's
	CC   cc.Params // valid ones; nil: the NIC's
}

// CreateRC is CreateQP with a service of the creator's choice.
func (n *NIC) CreateRC(cfg qp.Config, s Service) (Local, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return Local{}, fmt.Errorf("create QP: %w", err)
	}
	if cfg.MTU > n.cfg.QP.MTU {
		return Local{}, fmt.Errorf("create QP: mtu: %d is above the NIC's %d", cfg.MTU,
			n.cfg.QP.MTU)
	}
	c, err := n.newConn(cfg.PD, s)
	if err != nil {
		return Local{}, err
	}
	cfg.QPN = c.qpn
	c.cc = c.params.New(n.setup(c, cfg.MTU))
	c.cq = qp.NewCQ(cfg.SendQueue + cfg.ReceiveQueue)
	c.qp = qp.New(cfg, n.memory, c.cq, &n.transport)
	if s.SRQ != nil {
		err = c.qp.UseSRQ(s.SRQ.queue)
	}
	if err == nil {
		err = c.qp.Init()
	}
	if err != nil {
		n.free.put(slotOf(c.qpn), 0)
		return Local{}, fmt.Errorf("create QP: %w", err)
	}
	n.place(c)
	return Local{c.qpn, c.psn}, nil
}

// setup is what congestion control is told of a QP with a path MTU.
func (n *NIC) setup(c *conn, mtu int) cc.Setup {
	return cc.Setup{Line: n.cfg.Rate, MTU: unit.Bytes(mtu + ib.MaxOverhead), Seed: n.seed(c)}
}

// seed is that of a QP's dice. It is the NIC's in another place for each QP, and costs the
// generator of keys no number.
func (n *NIC) seed(c *conn) uint64 { return n.cfg.Seed + uint64(c.qpn)<<32 }

// Connect takes a QP to RTS with its peer.
func (n *NIC) Connect(qpn ib.QPN, r Remote) error {
	c, err := n.reliable(qpn)
	if err != nil {
		return fmt.Errorf("connect %w", err)
	}
	cfg := c.qp.Config()
	if err := n.ReadyToReceive(qpn, r, cfg.ReceiveAttributes()); err != nil {
		return err
	}
	out := cfg.SendAttributes()
	out.PSN = c.psn
	return n.ReadyToSend(qpn, out)
}

// ReadyToReceive takes a QP from INIT to RTR with its peer. Number and first PSN of the peer are
// those of r, whatever a says.
func (n *NIC) ReadyToReceive(qpn ib.QPN, r Remote, a qp.ReceiveAttributes) error {
	c, err := n.reliable(qpn)
	if err != nil {
		return fmt.Errorf("connect %w", err)
	}
	ends, err := n.endpoints(r.IP, r.Source, r.MAC, r.VLAN)
	if err == nil {
		err = judgeDSCP(r.DSCP)
	}
	if err != nil {
		return fmt.Errorf("connect QP %v to %v: %w", qpn, r.IP, err)
	}
	if a.MTU > n.cfg.QP.MTU {
		return fmt.Errorf("connect QP %v: mtu: %d is above the NIC's %d", qpn, a.MTU,
			n.cfg.QP.MTU)
	}
	params := n.chosen(c, r.DSCP)
	if cc.NeedsOf(params).Any() && !r.Feedback {
		return fmt.Errorf("connect QP %v: %w", qpn, ErrNoFeedback)
	}
	a.Remote, a.PSN = r.QPN, r.PSN
	if err := c.qp.ReadyToReceive(a); err != nil {
		return err
	}
	r.Source, r.VLAN = ends.Source, ends.VLAN
	c.remote, c.way = r, way{}
	n.follow(c, params)
	c.cc = params.New(n.setup(c, a.MTU)) // it has no past: nothing has been sent
	if r.Feedback {
		n.agree(c)
	}
	n.byRemote[farEnd{r.IP, r.QPN}] = c
	n.rewrite(c)
	n.mark(c, r.DSCP)
	return nil
}

// ReadyToSend takes a QP from RTR to RTS.
func (n *NIC) ReadyToSend(qpn ib.QPN, a qp.SendAttributes) error {
	c, err := n.reliable(qpn)
	if err != nil {
		return fmt.Errorf("connect %w", err)
	}
	return c.qp.ReadyToSend(a)
}

// SourceOf is which of our addresses packets on a path come from.
func (n *NIC) SourceOf(p Path) (netip.Addr, error) {
	ends, err := n.endpoints(p.IP, p.Source, p.MAC, p.VLAN)
	return ends.Source, err
}

// reliable finds an RC QP.
func (n *NIC) reliable(qpn ib.QPN) (*conn, error) {
	c := n.conn(qpn)
	if c == nil || c.qp == nil {
		return nil, fmt.Errorf("QP %v: %w", qpn, ErrNoQP)
	}
	return c, nil
}

// QP is a queue pair, to be looked at; nil if there is none of that number.
func (n *NIC) QP(qpn ib.QPN) *qp.QP {
	if c := n.conn(qpn); c != nil {
		return c.qp
	}
	return nil
}

// Post appends work to a QP's send queue.
func (n *NIC) Post(now unit.Time, qpn ib.QPN, wr qp.WR) error {
	n.now = now
	c := n.conn(qpn)
	if c == nil || c.qp == nil {
		return ErrNoQP
	}
	err := c.qp.Post(now, wr)
	n.settle(now, c)
	n.kick()
	return err
}

// PostReceive appends a buffer to a QP's receive queue.
func (n *NIC) PostReceive(now unit.Time, qpn ib.QPN, wr qp.ReceiveWR) error {
	n.now = now
	c := n.conn(qpn)
	if c == nil {
		return ErrNoQP
	}
	if c.srq != nil {
		return qp.ErrOp // IBTA 10.2.9: a QP with an SRQ has no receives of its own
	}
	var err error
	if c.ud != nil {
		err = c.ud.PostReceive(now, wr)
	} else {
		err = c.qp.PostReceive(now, wr)
	}
	n.settle(now, c)
	return err
}

// NextCompleted returns a QP that has completions since it was last returned here, and false if
// there is none. It is how an application finds out without asking every QP.
func (n *NIC) NextCompleted() (ib.QPN, bool) {
	c := n.completed.take(inCompleted)
	if c == nil {
		return 0, false
	}
	return c.qpn, true
}

// PollCQ moves completions of a QP to dst and returns how many.
func (n *NIC) PollCQ(qpn ib.QPN, dst []qp.Completion) int {
	c := n.conn(qpn)
	if c == nil {
		return 0
	}
	return c.cq.Poll(dst)
}

// DestroyQP ends a QP at once. Its number is given out again after all others, and not before the
// timewait of its connection is over.
func (n *NIC) DestroyQP(qpn ib.QPN) error {
	c := n.conn(qpn)
	if c == nil {
		return fmt.Errorf("destroy QP %v: %w", qpn, ErrNoQP)
	}
	n.pacer.Deactivate(&c.flow)
	n.wheel.Cancel(c.timers + kindCC)
	n.wheel.Cancel(c.timers + kindQP)
	n.wheel.Cancel(c.timers + kindNotify)
	c.notify.Close()
	n.delayed.remove(c, inDelayed)
	n.wheel.Cancel(c.timers + kindFeedback)
	n.feedbacks.remove(c, n.ackPriority(c))
	n.cnps.remove(c, inCNPs)
	n.acks.remove(c, n.ackPriority(c))
	n.completed.remove(c, inCompleted)
	n.failed.remove(c, inFailed)
	n.astray.remove(c, inAstray)
	if at := (farEnd{c.remote.IP, c.remote.QPN}); n.byRemote[at] == c {
		delete(n.byRemote, at)
	}
	slot := slotOf(qpn)
	n.conns[slot] = nil
	n.free.put(slot, c.connection)
	n.pds.release(c.pd)
	if c.srq != nil {
		c.srq.users--
	}
	n.hangUp(c)
	return nil
}

// conn finds a QP by its number, nil if there is none.
func (n *NIC) conn(qpn ib.QPN) *conn {
	if slot := uint64(qpn) - uint64(FirstQPN); slot < uint64(len(n.conns)) {
		return n.conns[slot]
	}
	return nil
}
