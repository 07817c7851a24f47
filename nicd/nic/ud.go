package nic

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// ErrAddress says that a datagram's address does not exist, or not in its QP's domain.
var ErrAddress = errors.New("no such address handle")

// Path is the way to a host.
type Path struct {
	Source netip.Addr // of ours; invalid: the one of IP's version
	IP     netip.Addr
	MAC    wire.MAC // of the host, or of the router on the way
	VLAN   ib.VLAN
	DSCP   *uint8 // of the packets; nil: the QP's

	Resolved bool // the path is the kernel's, and follows it: Peers, Moved, PathDown
}

// AH names an address handle, as ibv_create_ah(3) makes one. Handles are used again.
type AH uint32

// address is what an address handle stands for.
type address struct {
	pd   qp.PD
	ends ib.Endpoints
	path Path
	way  way
}

// CreateAH makes an address handle of a domain.
func (n *NIC) CreateAH(pd qp.PD, p Path) (AH, error) {
	ends, err := n.endpoints(p.IP, p.Source, p.MAC, p.VLAN)
	if err == nil {
		err = judgeDSCP(p.DSCP)
	}
	if err == nil {
		err = n.pds.hold(pd)
	}
	if err != nil {
		return 0, fmt.Errorf("address of %v: %w", p.IP, err)
	}
	a := &address{pd: pd, ends: ends, path: p}
	if k := len(n.freeAHs); k > 0 {
		h := n.freeAHs[k-1]
		n.freeAHs = n.freeAHs[:k-1]
		n.ahs[h] = a
		return h, nil
	}
	n.ahs = append(n.ahs, a)
	return AH(len(n.ahs) - 1), nil
}

// DestroyAH ends an address handle. Datagrams to it that are not sent yet are dropped.
func (n *NIC) DestroyAH(h AH) error {
	a := n.address(uint32(h))
	if a == nil {
		return ErrAddress
	}
	n.pds.release(a.pd)
	n.ahs[h] = nil
	n.freeAHs = append(n.freeAHs, h)
	return nil
}

func (n *NIC) address(h uint32) *address {
	if uint64(h) < uint64(len(n.ahs)) {
		return n.ahs[h]
	}
	return nil
}

// CreateUD makes a QP for datagrams in RTS. Its number and first PSN are chosen here. It is paced
// to the line's rate: congestion control concerns reliable connections.
func (n *NIC) CreateUD(cfg qp.UDConfig, s Service) (Local, error) {
	if err := n.judgeUD(&cfg); err != nil {
		return Local{}, fmt.Errorf("create UD QP: %w", err)
	}
	s.CC = &cc.NoneParams{}
	c, err := n.newConn(cfg.PD, s)
	if err != nil {
		return Local{}, err
	}
	cfg.QPN = c.qpn
	c.cc = s.CC.New(cc.Setup{Line: n.cfg.Rate})
	c.cq = qp.NewCQ(cfg.SendQueue + cfg.ReceiveQueue)
	c.ud = qp.NewUD(cfg, n.memory, c.cq, &n.transport)
	if s.SRQ != nil {
		if err := c.ud.UseSRQ(s.SRQ.queue); err != nil {
			n.free.put(slotOf(c.qpn), 0)
			return Local{}, fmt.Errorf("create UD QP: %w", err)
		}
	}
	if err := errors.Join(c.ud.Init(), c.ud.ReadyToReceive(), c.ud.ReadyToSend(c.psn)); err != nil {
		panic(fmt.Sprintf("nic: a new UD QP does not start: %v", err))
	}
	n.place(c)
	return Local{c.qpn, c.psn}, nil
}

func (n *NIC) judgeUD(cfg *qp.UDConfig) error {
	if cfg.PKey == 0 {
		cfg.PKey = n.cfg.QP.PKey
	}
	switch {
	case cfg.MTU < 1 || cfg.MTU > n.cfg.QP.MTU:
		return fmt.Errorf("mtu: %d is not in 1..%d", cfg.MTU, n.cfg.QP.MTU)
	case cfg.SendQueue < 1:
		return fmt.Errorf("send_queue: %d is not positive", cfg.SendQueue)
	case cfg.ReceiveQueue < 1:
		return fmt.Errorf("receive_queue: %d is not positive", cfg.ReceiveQueue)
	}
	return nil
}

// PostUD appends a datagram to a UD QP's send queue. wr.To.Handle is an AH of the QP's domain.
func (n *NIC) PostUD(now unit.Time, qpn ib.QPN, wr qp.UDWR) error {
	n.now = now
	c := n.conn(qpn)
	if c == nil || c.ud == nil {
		return ErrNoQP
	}
	if a := n.address(wr.To.Handle); a == nil || a.pd != c.pd {
		return ErrAddress
	}
	err := c.ud.Post(now, wr)
	n.settle(now, c)
	n.kick()
	return err
}

// datagram builds the next packet of a UD QP, and reports false if there was none to send. A
// datagram whose address has gone meanwhile is dropped, as if it had been lost on its way.
func (n *NIC) datagram(now unit.Time, f *frame.Frame, c *conn) bool {
	var o ib.Outgoing
	for {
		to, ok := c.ud.Next(now, &o)
		if !ok {
			return false
		}
		a := n.address(to.Handle)
		if a == nil || a.pd != c.pd {
			continue
		}
		ends, dscp := a.ends, c.dscp.Data
		if a.path.DSCP != nil {
			dscp = *a.path.DSCP
		}
		ends.DestQP, ends.SourcePort = to.QPN, ib.SourcePort(c.qpn, to.QPN)
		ends.PKey = n.cfg.QP.PKey
		c.headers = ib.NewHeaders(ends)
		n.build(f, c, &o, tos(dscp, frame.NotECT))
		if n.leaves(f, a.way) {
			return true
		}
	}
}

// sendUD is data for a UD QP whose turn it is.
func (n *NIC) sendUD(now unit.Time, f *frame.Frame, c *conn) (sent bool) {
	if sent = n.datagram(now, f, c); sent {
		n.pacer.Sent(now, &c.flow, wire.OnLine(f.Len()))
	}
	if !c.ud.Pending() {
		n.pacer.Deactivate(&c.flow)
	}
	n.settle(now, c)
	return sent
}

// receiveDatagram hands a packet to a UD QP.
func (n *NIC) receiveDatagram(now unit.Time, f *frame.Frame, c *conn, p *ib.Packet) frame.Reason {
	f.Meta.Flow = uint32(c.qpn)
	why := c.ud.Receive(now, p)
	n.settle(now, c)
	return why
}

// settleUD is settle for a UD QP, which owes nobody an answer and waits for nothing.
func (n *NIC) settleUD(now unit.Time, c *conn) {
	if c.srq != nil {
		n.watch(c.srq)
	}
	if c.ud.State() == qp.StateErr && !c.fatal {
		c.fatal = true
		n.failed.add(c, inFailed)
	}
	if c.ud.Pending() {
		n.pacer.Activate(now, &c.flow)
	}
}

// maxDSCP is the largest codepoint: six bits, RFC 2474 3.
const maxDSCP = 63

func judgeDSCP(dscp *uint8) error {
	if dscp != nil && *dscp > maxDSCP {
		return fmt.Errorf("dscp: %d is not in 0..%d", *dscp, maxDSCP)
	}
	return nil
}

// mark gives a QP's packets a codepoint of its own, if there is one. Its flow must be idle.
func (n *NIC) mark(c *conn, dscp *uint8) {
	if dscp != nil {
		c.dscp.Data, c.dscp.Ack = *dscp, *dscp
	}
	burst, filling := n.bucket(c)
	c.flow.Init(n.now, slotOf(c.qpn), c.timers+kindPace, uint8(n.priority(c.dscp.Data)),
		c.cc.Limit().Rate, burst)
	c.flow.Bucket.Shape(n.now, burst, filling)
}

// newConn takes a free slot for a QP of a domain and draws its PSN.
func (n *NIC) newConn(pd qp.PD, s Service) (*conn, error) {
	if _, ok := n.pds.used[pd]; !ok {
		return nil, fmt.Errorf("create QP: %w: %d", ErrNoPD, pd)
	}
	if err := judgeDSCP(s.DSCP); err != nil {
		return nil, fmt.Errorf("create QP: %w", err)
	}
	if s.CC != nil && !n.cfg.CNP.counts(s.CC) {
		return nil, fmt.Errorf("create QP: %w, not by %v", ErrScope, n.cfg.CNP.Scope)
	}
	slot, ok := n.free.take(n.gsi.Manager)
	if !ok {
		return nil, fmt.Errorf("create QP: %w: %d", ErrTooFew, n.cfg.MaxQPs)
	}
	n.wheel.Grow(int(timersOf(slot + 1)))
	c := &conn{qpn: FirstQPN + ib.QPN(slot), pd: pd, dscp: n.cfg.DSCP, srq: s.SRQ, own: s.CC,
		psn: ib.MakePSN(uint32(n.random.Uint64())), timers: timersOf(slot)}
	if s.DSCP != nil {
		c.dscp.Data, c.dscp.Ack = *s.DSCP, *s.DSCP
	}
	c.params = n.chosen(c, nil)
	return c, nil
}

// place puts a QP that newConn began into its slot.
func (n *NIC) place(c *conn) {
	n.pds.used[c.pd]++
	if c.srq != nil {
		c.srq.users++
	}
	c.notify = n.incast(c.params).Point()
	n.mark(c, nil)
	n.conns[slotOf(c.qpn)] = c
}

func slotOf(qpn ib.QPN) uint32 { return uint32(qpn - FirstQPN) }

// acknowledgers is the QPs that owe their peer something small, an ACK or NAK or congestion
// feedback, by the priority that it goes out with.
type acknowledgers struct {
	lists [8]list
	mask  pfc.Set
	as    membership
}

func (a *acknowledgers) add(c *conn, p pfc.Priority) {
	a.lists[p].add(c, a.as)
	a.mask = a.mask.With(p)
}

func (a *acknowledgers) remove(c *conn, p pfc.Priority) {
	a.lists[p].remove(c, a.as)
	a.settle(p)
}

func (a *acknowledgers) take(p pfc.Priority) *conn {
	c := a.lists[p].take(a.as)
	a.settle(p)
	return c
}

func (a *acknowledgers) settle(p pfc.Priority) {
	if a.lists[p].head == nil {
		a.mask = a.mask.Without(p)
	}
}

// ackPriority is that of a QP's answers.
func (n *NIC) ackPriority(c *conn) pfc.Priority { return n.priority(c.dscp.Ack) }
