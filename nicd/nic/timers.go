package nic

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/ratelimit"
)

// The kinds of deadline in the wheel. The owner of the first four is the QP's slot.
const (
	kindPace uint8 = iota
	kindCC
	kindQP
	kindNotify
	kindPause
	kindPool
)

// poolRetry is how long the NIC waits when the frame pool was empty: about a packet's time.
const poolRetry = time.Microsecond

// NextWake is the earliest deadline.
func (n *NIC) NextWake() unit.Time { return n.wheel.Next() }

// Wake handles every deadline that has passed, in order.
func (n *NIC) Wake(now unit.Time) {
	n.now = now
	for t := n.wheel.Pop(now); t != nil; t = n.wheel.Pop(now) {
		switch t.Kind {
		case kindPause:
			n.pause.Wake(now)
			n.wheel.Set(&n.pauseTimer, n.pause.NextWake())
		case kindPool: // kick below
		default:
			n.expired(now, n.conns[t.Owner], t.Kind)
		}
	}
	n.kick()
}

func (n *NIC) expired(now unit.Time, c *conn, kind uint8) {
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
	case kindNotify:
		if c.notify.Wake(now) {
			n.cnps.add(c, inCNPs)
		}
		n.arm(&c.notifyTimer, c.notify.NextWake())
	}
}

// arm makes sure that the wheel wakes not later than at. An earlier deadline stays: moving the
// timer on each acknowledgement would cost more than waking once for nothing.
func (n *NIC) arm(t *ratelimit.Timer, at unit.Time) {
	if at != unit.Never && (!t.Armed() || t.At() > at) {
		n.wheel.Set(t, at)
	}
}

// limit passes on what congestion control allows.
func (n *NIC) limit(now unit.Time, c *conn) {
	l := c.cc.Limit()
	c.window = l.Window
	n.pacer.SetRate(now, &c.flow, l.Rate)
	n.arm(&c.ccTimer, c.cc.NextWake())
}

// settle follows up any call into a QP: what it owes, what it may send, when it must be woken.
func (n *NIC) settle(now unit.Time, c *conn) {
	if c.qp.HasResponse() {
		n.acks.add(c, inAcks)
	}
	if c.qp.Pending(c.window) {
		n.pacer.Activate(now, &c.flow)
	}
	if c.qp.CQ().Len() > 0 {
		n.completed.add(c, inCompleted)
	}
	n.arm(&c.qpTimer, c.qp.Deadline())
}
