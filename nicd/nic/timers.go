package nic

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/qp"
)

// The NIC's own timers in the wheel.
const (
	pauseTimer    ratelimit.TimerID = iota // end of the earliest pause
	poolTimer                              // tries again when the pool was empty
	askTimer                               // pauses we asked for are about to end
	cnpTimer                               // a CNP's delay, or the spacing behind one, ends
	serviceTimer                           // the receive pipeline is done with a frame
	watchdogTimer                          // the watchdog looks at our pauses
	gsiTimer                               // the connection manager waits for something
	ownTimers
)

// The timers of each QP, which stand behind the NIC's own by slot.
const (
	kindPace ratelimit.TimerID = iota
	kindCC
	kindQP
	kindNotify
	kindFeedback
	kinds
)

// timersOf is the first timer of the QP in a slot.
func timersOf(slot uint32) ratelimit.TimerID { return ownTimers + ratelimit.TimerID(slot)*kinds }

// poolRetry is how long the NIC waits when the frame pool was empty: about a packet's time.
const poolRetry = time.Microsecond

// NextWake is the earliest deadline.
func (n *NIC) NextWake() unit.Time { return n.wheel.Next() }

// Wake handles every deadline that has passed, in order.
func (n *NIC) Wake(now unit.Time) {
	n.now = now
	for id, ok := n.wheel.Pop(now); ok; id, ok = n.wheel.Pop(now) {
		switch id {
		case pauseTimer:
			n.pause.Wake(now)
			n.wheel.Set(pauseTimer, n.pause.NextWake())
		case poolTimer: // kick below
		case askTimer:
			n.asking.Wake(now)
		case cnpTimer:
			n.due(now)
		case watchdogTimer:
			n.guard(now)
		case serviceTimer:
			n.serve(now)
		case gsiTimer:
			n.gsi.Wake(now)
			n.settleGSI()
		default:
			id -= ownTimers
			n.expired(now, n.conns[id/kinds], id%kinds)
		}
	}
	n.kick()
}

func (n *NIC) expired(now unit.Time, c *conn, kind ratelimit.TimerID) {
	switch kind {
	case kindPace:
		n.pacer.Expired(now, &c.flow)
	case kindCC:
		c.cc.Wake(now)
		n.limit(now, c)
	case kindQP:
		if c.qp.Wake(now) {
			c.cc.Timeout(now)
			n.limit(now, c)
		}
		n.settle(now, c)
	case kindFeedback:
		n.stalled(now, c)
	case kindNotify:
		if c.notify.Wake(now) {
			n.owe(now, c)
		}
		n.arm(c.timers+kindNotify, c.notify.NextWake())
	}
}

// arm makes sure that the wheel wakes not later than at. An earlier deadline stays: moving the
// timer on each acknowledgement would cost more than waking once for nothing.
func (n *NIC) arm(id ratelimit.TimerID, at unit.Time) {
	if at != unit.Never && (!n.wheel.Armed(id) || n.wheel.At(id) > at) {
		n.wheel.Set(id, at)
	}
}

// limit passes on what congestion control allows.
func (n *NIC) limit(now unit.Time, c *conn) {
	l := c.cc.Limit()
	c.window = l.Window
	n.pacer.SetRate(now, &c.flow, l.Rate)
	n.arm(c.timers+kindCC, c.cc.NextWake())
}

// settle follows up any call into a QP: what it owes, what it may send, when it must be woken.
func (n *NIC) settle(now unit.Time, c *conn) {
	if c.cq.Len() > 0 {
		n.completed.add(c, inCompleted)
	}
	if c.ud != nil {
		n.settleUD(now, c)
		return
	}
	if c.qp.State() == qp.StateErr && !c.fatal {
		c.fatal = true
		n.failed.add(c, inFailed)
	}
	if c.srq != nil {
		n.watch(c.srq)
	}
	if c.qp.HasResponse() {
		n.acks.add(c, n.ackPriority(c))
	}
	if c.pending() {
		n.pacer.Activate(now, &c.flow)
	}
	n.arm(c.timers+kindQP, c.qp.Deadline())
}
