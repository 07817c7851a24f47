package nic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// Whose congestion control a QP has: its own, else that of the traffic class of its data, else the
// NIC's. Each of the three can be changed while QPs send.

// ErrClass says that there is no such traffic class.
var ErrClass = fmt.Errorf("a traffic class is 0 to %d", wire.Priorities-1)

// judge returns the faults of an algorithm's parameters, each with the path of its field.
func (c *Config) judge(path string, p cc.Params) (faults []error) {
	for _, f := range p.Validate(c.Rate) {
		faults = append(faults, fmt.Errorf("%s.params.%w", path, f))
	}
	if !c.CNP.counts(p) {
		faults = append(faults, fmt.Errorf("cnp_scope: %v, but the %w", c.CNP.Scope, ErrScope))
	}
	return faults
}

// chosen is the algorithm of a QP whose data has a codepoint; nil: the one that it has.
func (n *NIC) chosen(c *conn, dscp *uint8) cc.Params {
	if dscp == nil {
		dscp = &c.dscp.Data
	}
	switch class := n.cfg.ClassCC[n.priority(*dscp)]; {
	case c.own != nil:
		return c.own
	case class != nil:
		return class
	}
	return n.cfg.CC
}

// incast is the count of congested flows for an algorithm's notification points: flows whose
// receivers time their CNPs alike count together.
func (n *NIC) incast(p cc.Params) *cc.Incast {
	rule := cc.CNPRuleOf(p)
	in := n.incasts[rule]
	if in == nil {
		in = cc.NewIncast(n.cfg.CNP.Interval, rule)
		n.incasts[rule] = in
	}
	return in
}

// bucket is how a QP's rate limiter keeps credit.
//
// A limiter that is filled by a clock has a phase of its own, and the clock an error: those of
// hardware have no common zero, and none is exact. With one exact clock for all, packets of all
// senders would leave at the same moments and come into a queue in the order of its switch's ports,
// where the last finds it longer than the first, in every round: QCN's feedback, which is by that
// length, would keep one sender at several times the rate of another for good.
func (n *NIC) bucket(c *conn) (burst unit.Bytes, f ratelimit.Filling) {
	b := cc.BucketOf(c.params)
	if b.Depth == 0 {
		return n.cfg.Burst, ratelimit.Filling{}
	}
	most := int64(b.Refill) * 1000 / clockTolerance // in picoseconds
	return b.Depth, ratelimit.Filling{Every: b.Refill,
		Phase: time.Duration(rand.NewPCG(n.seed(c), phaseStream).Uint64() % uint64(b.Refill)),
		Drift: int64(rand.NewPCG(n.cfg.Seed, driftStream).Uint64()%uint64(2*most+1)) - most}
}

// clockTolerance is one part of so many: IEEE 802.3-2022 40.6.1.2.6, 125 MHz +- 0.01 %, which is
// the clock that [QCN] runs by.
const clockTolerance = 10_000

// The dice of clocks are others than those of reaction points, which may have the same seed.
const (
	phaseStream = iota + 1
	driftStream
)

// CC is the parameters of a QP's congestion control, and whether they are its own; nil if there is
// no such QP, or none of an algorithm's.
func (n *NIC) CC(qpn ib.QPN) (params cc.Params, own bool) {
	if c := n.conn(qpn); c != nil && c.qp != nil {
		return c.params, c.own != nil
	}
	return nil, false
}

// Connections lists the queue pairs that have congestion control: the reliable ones, by number.
func (n *NIC) Connections() (list []ib.QPN) {
	for _, c := range n.conns {
		if c != nil && c.qp != nil {
			list = append(list, c.qpn)
		}
	}
	return list
}

// SetCC changes the congestion control of the NIC: of every QP that has none of its own, and whose
// class has none. Reaction points begin anew as New makes them, as if their flows did: at line
// rate, or with a first window, and with nothing learnt; what is in flight counts in the window,
// but its feedback is not theirs. It is refused, and nothing is changed, if one of the QPs is
// connected with a peer that does not give what the algorithm needs.
func (n *NIC) SetCC(now unit.Time, p cc.Params) error {
	if err := n.acceptable(p); err != nil {
		return err
	}
	was := n.cfg.CC
	n.cfg.CC = p
	err := n.switchOver(now)
	if err != nil {
		n.cfg.CC = was
	}
	return err
}

// SetClassCC is SetCC for the QPs of a traffic class that have none of their own; with nil they
// have the NIC's.
func (n *NIC) SetClassCC(now unit.Time, class pfc.Priority, p cc.Params) error {
	if class >= wire.Priorities {
		return ErrClass
	}
	if err := n.acceptable(p); p != nil && err != nil {
		return err
	}
	was := n.cfg.ClassCC[class]
	n.cfg.ClassCC[class] = p
	err := n.switchOver(now)
	if err != nil {
		n.cfg.ClassCC[class] = was
	}
	return err
}

// SetQPCC is SetCC for one QP; with nil it has that of its class or of the NIC.
func (n *NIC) SetQPCC(now unit.Time, qpn ib.QPN, p cc.Params) error {
	c, err := n.reliable(qpn)
	if err != nil {
		return err
	}
	if err := n.acceptable(p); p != nil && err != nil {
		return err
	}
	was := c.own
	c.own = p
	if err = n.switchOver(now); err != nil {
		c.own = was
	}
	return err
}

// acceptable judges parameters as New does.
func (n *NIC) acceptable(p cc.Params) error {
	if p == nil {
		return errors.New("cc: no algorithm")
	}
	return errors.Join(n.cfg.judge("cc", p)...)
}

// switchOver puts what was chosen into force where it is not, everywhere or nowhere.
func (n *NIC) switchOver(now unit.Time) error {
	n.now = now
	for _, c := range n.conns {
		if c == nil || c.qp == nil || c.feedback != nil || !c.remote.IP.IsValid() {
			continue
		}
		if p := n.chosen(c, nil); p != c.params && cc.NeedsOf(p).Any() {
			return fmt.Errorf("QP %v: %w", c.qpn, ErrNoFeedback)
		}
	}
	for _, c := range n.conns {
		if c == nil || c.qp == nil {
			continue
		}
		if p := n.chosen(c, nil); p != c.params {
			n.react(now, c, p)
		}
	}
	n.kick()
	return nil
}

// react gives a QP a new reaction point.
func (n *NIC) react(now unit.Time, c *conn, p cc.Params) {
	n.follow(c, p)
	c.cc = p.New(n.setup(c, c.qp.Config().MTU))
	n.wheel.Cancel(c.timers + kindCC)
	if b := c.feedback; b != nil {
		before := b.needs.Feedback
		b.needs = cc.NeedsOf(p)
		b.past = b.sent - b.seen
		if !before || !b.needs.Feedback { // nobody counts, or nobody has counted
			b.seen, b.past = b.sent, 0
		}
	}
	n.pacer.Deactivate(&c.flow)
	burst, filling := n.bucket(c)
	c.flow.Bucket.Shape(now, burst, filling)
	n.limit(now, c)
	n.settle(now, c)
}

// follow makes an algorithm a QP's, with the notification point that its peer's would want.
func (n *NIC) follow(c *conn, p cc.Params) {
	if cc.CNPRuleOf(p) != cc.CNPRuleOf(c.params) {
		c.notify.Close()
		c.notify = n.incast(p).Point()
	}
	c.params = p
}
