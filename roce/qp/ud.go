package qp

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// GRHLen is the space that a UD receive has in front of the payload for the network header: that
// of IPv6, or 20 bytes that mean nothing and that of IPv4. A17.4.
const GRHLen = wire.IPv6Len

// UDConfig is what does not change in the life of a UD QP.
type UDConfig struct {
	QPN          ib.QPN
	PD           PD
	MTU          int // the largest payload, which is the largest message
	SendQueue    int
	ReceiveQueue int
	QKey         uint32
	PKey         uint16
}

// Address is whom a datagram goes to.
type Address struct {
	Handle uint32 // the caller's: which of its packet headers
	QPN    ib.QPN
	QKey   uint32 // with its highest bit set, the sender's own counts: IBTA 10.2.5
}

// UDWR is a work request of a UD QP: one SEND.
type UDWR struct {
	ID        uint64
	Local     Local
	To        Address
	Imm       uint32 // if HasImm
	HasImm    bool
	Solicited bool
}

// UD is an unreliable datagram queue pair: each message is one packet, to anybody, acknowledged
// by nobody. IBTA 9.8.3. It is what the connection manager talks by.
type UD struct {
	cfg      UDConfig
	mem      *Memory
	cq       *CQ
	counters *Counters
	state    State
	psn      ib.PSN
	now      unit.Time // of the call under way, for completions
	sends    queue[udWQE]
	receives queue[receiveWQE]
	srq      *SRQ // nil: receives are its own
}

type udWQE struct {
	wr    UDWR
	local span
}

// ownQKey is the bit that makes the sender's Q_Key count, which is for the privileged to choose.
const ownQKey = 1 << 31

// NewUD makes a QP in RESET.
func NewUD(cfg UDConfig, mem *Memory, cq *CQ, counters *Counters) *UD {
	return &UD{cfg: cfg, mem: mem, cq: cq, counters: counters,
		sends: newQueue[udWQE](cfg.SendQueue), receives: newQueue[receiveWQE](cfg.ReceiveQueue)}
}

// UseSRQ makes a QP in RESET take its receives from s, which must be of its domain, or from its
// own queue if s is nil. A datagram for which none is left is dropped.
func (u *UD) UseSRQ(s *SRQ) error {
	if u.state != StateReset {
		return ErrState
	}
	if s != nil && s.pd != u.cfg.PD {
		return ErrLocal
	}
	u.srq = s
	return nil
}

// State is where in its life the QP is.
func (u *UD) State() State { return u.state }

// Init goes from RESET to INIT: receives may be posted.
func (u *UD) Init() error { return u.enter(StateReset, StateInit) }

// ReadyToReceive goes from INIT to RTR.
func (u *UD) ReadyToReceive() error { return u.enter(StateInit, StateRTR) }

// ReadyToSend goes from RTR to RTS: we send starting at psn.
func (u *UD) ReadyToSend(psn ib.PSN) error {
	if err := u.enter(StateRTR, StateRTS); err != nil {
		return err
	}
	u.psn = psn
	return nil
}

// Fail goes to ERR, where all work completes as flushed.
func (u *UD) Fail(now unit.Time) {
	u.now = now
	if u.state == StateReset {
		return
	}
	u.state = StateErr
	for u.sends.len() > 0 {
		u.completeSend(Flushed)
	}
	for u.receives.len() > 0 {
		u.completeReceive(&u.receives, Completion{Status: Flushed})
	}
}

func (u *UD) enter(from, to State) error {
	if u.state != from {
		return fmt.Errorf("QP %v to %v: %w: %v", u.cfg.QPN, to, ErrState, u.state)
	}
	u.state = to
	return nil
}

// Post appends a datagram to the send queue.
func (u *UD) Post(now unit.Time, wr UDWR) error {
	u.now = now
	if wr.Local.Length < 0 || wr.Local.Length > u.cfg.MTU {
		return ErrLength
	}
	if u.state < StateRTS {
		return ErrState
	}
	local, ok := u.mem.real(u.cfg.PD, wr.Local, false)
	if !ok {
		return ErrLocal
	}
	if u.sends.full() || !u.cq.reserve() {
		return ErrQueueFull
	}
	*u.sends.push() = udWQE{wr, local}
	if u.state == StateErr {
		u.completeSend(Flushed)
	}
	return nil
}

// PostReceive appends a buffer for one datagram, with GRHLen bytes in front.
func (u *UD) PostReceive(now unit.Time, wr ReceiveWR) error {
	u.now = now
	if u.state < StateInit {
		return ErrState
	}
	if u.srq != nil {
		return ErrOp
	}
	local, ok := u.mem.real(u.cfg.PD, wr.Local, true)
	if !ok {
		return ErrLocal
	}
	if u.receives.full() || !u.cq.reserve() {
		return ErrQueueFull
	}
	*u.receives.push() = receiveWQE{wr.ID, local}
	if u.state == StateErr {
		u.completeReceive(&u.receives, Completion{Status: Flushed})
	}
	return nil
}

// Pending reports whether Next has a packet.
func (u *UD) Pending() bool { return u.state == StateRTS && u.sends.len() > 0 }

// Next fills in the next datagram, tells whom it goes to, and completes it: nothing more is ever
// heard of it. o.Payload is memory of the work request, to be copied at once.
func (u *UD) Next(now unit.Time, o *ib.Outgoing) (to Address, ok bool) {
	u.now = now
	if !u.Pending() {
		return to, false
	}
	w := u.sends.at(u.sends.head)
	if !w.local.live() {
		u.completeSend(LocalProtection)
		u.Fail(now)
		return to, false
	}
	to = w.wr.To
	*o = ib.Outgoing{Opcode: ib.UDSendOnly, PSN: u.psn, Imm: w.wr.Imm, Payload: w.local.bytes,
		Solicited: w.wr.Solicited, UD: ib.Datagram{QKey: to.QKey, SourceQP: u.cfg.QPN}}
	if w.wr.HasImm {
		o.Opcode = ib.UDSendOnlyImm
	}
	if to.QKey&ownQKey != 0 {
		o.UD.QKey = u.cfg.QKey
	}
	u.psn = u.psn.Add(1)
	u.completeSend(Success)
	return to, true
}

// Receive takes a datagram whose ICRC is right. One that is not for us, or that nothing is
// posted for, is dropped: nobody is told but the counters. IBTA 9.8.3, 9.6.1.
func (u *UD) Receive(now unit.Time, p *ib.Packet) frame.Reason {
	u.now = now
	if u.state != StateRTR && u.state != StateRTS {
		u.counters.NotReady++
		return frame.DropUnknownQP
	}
	if p.Info.Transport != ib.UD {
		u.counters.BadTransport++
		return frame.DropUnexpected
	}
	if len(p.Payload) > u.cfg.MTU {
		u.counters.BadLength++
		return frame.DropUnexpected
	}
	if !ib.SamePartition(p.BTH.PKey(), u.cfg.PKey) {
		u.counters.BadPKey++
		return frame.DropUnexpected
	}
	if p.DETH.QKey() != u.cfg.QKey {
		u.counters.BadQKey++
		return frame.DropUnexpected
	}
	return u.place(p)
}

// place puts a datagram into the first receive, own or shared. One of an SRQ gets its place in the
// completion queue now; if there is none the datagram is lost too.
func (u *UD) place(p *ib.Packet) frame.Reason {
	from := &u.receives
	if u.srq != nil {
		from = &u.srq.queue
	}
	if from.len() == 0 {
		u.counters.OutOfBuffer++
		return frame.DropUnexpected
	}
	local := &from.at(from.head).local
	if len(local.bytes) < GRHLen+len(p.Payload) || !local.live() {
		u.counters.RespLocalLengthError++
		return frame.DropUnexpected
	}
	if u.srq != nil && !u.cq.reserve() {
		u.counters.OutOfBuffer++
		return frame.DropUnexpected
	}
	c := u.deliver(local.bytes, p)
	u.completeReceive(from, c)
	if u.srq != nil {
		u.srq.taken()
	}
	return frame.NoReason
}

// deliver copies a datagram and says what its receive completes with.
func (u *UD) deliver(dst []byte, p *ib.Packet) (c Completion) {
	h := p.NetworkHeader()
	clear(dst[:GRHLen-len(h)])
	copy(dst[GRHLen-len(h):], h)
	copy(dst[GRHLen:], p.Payload)
	c = Completion{Bytes: GRHLen + len(p.Payload), SourceQP: p.DETH.SourceQP(),
		Solicited: p.BTH.Solicited()}
	if p.Imm != nil {
		c.Imm, c.HasImm = p.Imm.Value(), true
	}
	return c
}

func (u *UD) completeSend(s Status) {
	w := u.sends.at(u.sends.head)
	u.sends.head++
	c := Completion{ID: w.wr.ID, QPN: u.cfg.QPN, Op: Send, Status: s, Bytes: len(w.local.bytes),
		At: u.now}
	if w.wr.HasImm {
		c.Op = SendImm
	}
	u.cq.push(c)
}

// completeReceive ends the first receive of a queue.
func (u *UD) completeReceive(from *queue[receiveWQE], c Completion) {
	c.ID, c.QPN, c.Op = from.at(from.head).id, u.cfg.QPN, Receive
	c.At = u.now
	from.head++
	u.cq.push(c)
}
