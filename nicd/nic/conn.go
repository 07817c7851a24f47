package nic

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// DefaultPD is the protection domain of QPs and regions whose creator does not care.
const DefaultPD qp.PD = 1

// Errors of the verbs.
var (
	ErrNoQP   = errors.New("no such QP")
	ErrTooFew = errors.New("all queue pairs are in use")
	ErrFamily = errors.New("NIC has no address of that IP version")
)

// conn is a QP with everything the NIC keeps for it.
type conn struct {
	qp      *qp.QP
	cc      cc.Algorithm
	notify  cc.NotificationPoint
	flow    ratelimit.Flow
	window  unit.Bytes
	headers ib.Headers
	remote  Remote
	psn     ib.PSN // our first
	cnps    uint64 // received

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
}

// RegisterMR makes a region of size zero bytes in the default domain.
func (n *NIC) RegisterMR(size int, access qp.Access) (*qp.Region, error) {
	return n.memory.Register(DefaultPD, size, access)
}

// DeregisterMR forgets a region.
func (n *NIC) DeregisterMR(r *qp.Region) { n.memory.Deregister(r) }

// QPConfig is what a QP has by default, for a creator to change.
func (n *NIC) QPConfig() qp.Config {
	c := n.cfg.QP
	c.PD = DefaultPD
	return c
}

// CreateQP makes a QP that may post receives. Its number is chosen here.
func (n *NIC) CreateQP(cfg qp.Config) (Local, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return Local{}, fmt.Errorf("create QP: %w", err)
	}
	if cfg.MTU > n.cfg.QP.MTU {
		return Local{}, fmt.Errorf("create QP: mtu: %d is above the NIC's %d", cfg.MTU,
			n.cfg.QP.MTU)
	}
	if len(n.free) == 0 {
		return Local{}, fmt.Errorf("create QP: %w: %d", ErrTooFew, n.cfg.MaxQPs)
	}
	slot := n.free[len(n.free)-1]
	n.free = n.free[:len(n.free)-1]
	cfg.QPN = firstQPN + ib.QPN(slot)
	c := &conn{cc: n.cfg.CC.New(n.setup(cfg)), psn: ib.MakePSN(uint32(n.random.Uint64())),
		notify: cc.NewNotificationPoint(n.cfg.CNPInterval)}
	c.qp = qp.New(cfg, n.memory, qp.NewCQ(cfg.SendQueue+cfg.ReceiveQueue), &n.transport)
	c.timers = timersOf(slot)
	c.flow.Init(n.now, slot, c.timers+kindPace, uint8(n.priority(n.cfg.DSCP.Data)),
		c.cc.Limit().Rate, n.cfg.Burst)
	n.conns[slot] = c
	if err := c.qp.Init(); err != nil {
		return Local{}, err
	}
	return Local{cfg.QPN, c.psn}, nil
}

// setup is what congestion control is told of a QP. The seed is the NIC's in another place for
// each QP, and costs the generator of keys no number.
func (n *NIC) setup(c qp.Config) cc.Setup {
	return cc.Setup{Line: n.cfg.Rate, MTU: unit.Bytes(c.MTU + ib.MaxOverhead),
		Seed: n.cfg.Seed + uint64(c.QPN)<<32}
}

// Connect takes a QP to RTS with its peer.
func (n *NIC) Connect(qpn ib.QPN, r Remote) error {
	c := n.conn(qpn)
	if c == nil {
		return fmt.Errorf("connect QP %v: %w", qpn, ErrNoQP)
	}
	source := n.cfg.IPv6
	if r.IP.Is4() {
		source = n.cfg.IPv4
	}
	if !source.IsValid() || !r.IP.IsValid() {
		return fmt.Errorf("connect QP %v to %v: %w", qpn, r.IP, ErrFamily)
	}
	if err := c.qp.ReadyToReceive(r.QPN, r.PSN); err != nil {
		return err
	}
	if err := c.qp.ReadyToSend(c.psn); err != nil {
		return err
	}
	c.remote = r
	n.byRemote[farEnd{r.IP, r.QPN}] = c
	c.headers = ib.NewHeaders(ib.Endpoints{SourceMAC: n.cfg.MAC, DestMAC: r.MAC,
		Source: source, Dest: r.IP, SourcePort: ib.SourcePort(qpn, r.QPN), DestQP: r.QPN,
		PKey: c.qp.Config().PKey})
	return nil
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
	if c == nil {
		return ErrNoQP
	}
	err := c.qp.Post(wr)
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
	err := c.qp.PostReceive(wr)
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
	return c.qp.QPN(), true
}

// PollCQ moves completions of a QP to dst and returns how many.
func (n *NIC) PollCQ(qpn ib.QPN, dst []qp.Completion) int {
	c := n.conn(qpn)
	if c == nil {
		return 0
	}
	return c.qp.CQ().Poll(dst)
}

// DestroyQP ends a QP at once; its number may be given out again.
func (n *NIC) DestroyQP(qpn ib.QPN) error {
	c := n.conn(qpn)
	if c == nil {
		return fmt.Errorf("destroy QP %v: %w", qpn, ErrNoQP)
	}
	n.pacer.Deactivate(&c.flow)
	n.wheel.Cancel(c.timers + kindCC)
	n.wheel.Cancel(c.timers + kindQP)
	n.wheel.Cancel(c.timers + kindNotify)
	n.cnps.remove(c, inCNPs)
	n.acks.remove(c, inAcks)
	n.completed.remove(c, inCompleted)
	if at := (farEnd{c.remote.IP, c.remote.QPN}); n.byRemote[at] == c {
		delete(n.byRemote, at)
	}
	slot := uint32(qpn - firstQPN)
	n.conns[slot] = nil
	n.free = append(n.free, slot)
	return nil
}

// conn finds a QP by its number, nil if there is none.
func (n *NIC) conn(qpn ib.QPN) *conn {
	if slot := uint64(qpn) - uint64(firstQPN); slot < uint64(len(n.conns)) {
		return n.conns[slot]
	}
	return nil
}
