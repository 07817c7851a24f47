package nic

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
)

// CNPConfig is how the notification point makes CNPs, which NICs do differently.
//
//	marked packet ---- scope, interval ----> owed ---- delay ----> due ---- spacing ----> wire
type CNPConfig struct {
	// Scope is what Interval holds for.
	Scope CNPScope
	// Interval is the least time between two CNPs of one scope: N of [DCQCN] 3.1. 0 is one for
	// each marked packet.
	Interval time.Duration
	// Delay is from the marked packet to its CNP, on a wire that is free. At most Interval: one CNP
	// of a QP is on its way at a time. With Interval 0 the marks of that time have one together.
	Delay time.Duration
	// Spacing is the least time between any two CNPs of the NIC: what its hardware can make.
	Spacing time.Duration
	// OnNAK makes a NAK of a gap count as a mark.
	OnNAK bool
}

// CNPScope is what has one CNP per interval.
type CNPScope uint8

// The scopes. ScopeQP is [DCQCN] figure 6: a mark within the interval makes a CNP when that is
// over. In the others it is forgotten, as by the rule that Lumina (SIGCOMM 2023) judges NICs by:
// lumina/analyzer/checker/cnp_check.py.
const (
	ScopeQP   CNPScope = iota
	ScopeIP            // the address that the CNP goes to
	ScopePort          // the whole NIC
	scopes
)

var scopeNames = [...]string{"qp", "ip", "port"}

func (s CNPScope) String() string { return scopeNames[s] }

// MarshalText returns the name.
func (s CNPScope) MarshalText() ([]byte, error) {
	if s >= scopes {
		return nil, fmt.Errorf("CNP scope %d is unknown", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText sets the scope by its name.
func (s *CNPScope) UnmarshalText(b []byte) error {
	for i, name := range scopeNames {
		if string(b) == name {
			*s = CNPScope(i)
			return nil
		}
	}
	return fmt.Errorf("CNP scope %q: want qp, ip or port", b)
}

// maxCNPTime bounds intervals, delays and spacings, far above any hardware's.
const maxCNPTime = time.Second

func (c *CNPConfig) validate() (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("cnp_"+format, args...))
		}
	}
	must(c.Scope < scopes, "scope: %d is unknown", c.Scope)
	must(c.Interval >= 0, "interval: %v is negative", c.Interval)
	must(c.Interval <= maxCNPTime, "interval: %v is above %v", c.Interval, maxCNPTime)
	must(c.Delay >= 0 && c.Delay <= maxCNPTime, "delay: %v is not in 0..%v", c.Delay, maxCNPTime)
	must(c.Delay <= c.Interval || c.Interval == 0,
		"delay: %v is longer than the interval of %v", c.Delay, c.Interval)
	must(c.Spacing >= 0 && c.Spacing <= maxCNPTime, "spacing: %v is not in 0..%v", c.Spacing,
		maxCNPTime)
	return faults
}

// counts reports whether an algorithm can count flows by the CNPs of the scope, or does not want
// to.
func (c *CNPConfig) counts(algorithm cc.Params) bool {
	return c.Scope == ScopeQP || !cc.CNPRuleOf(algorithm).Counts()
}

// notifier decides when a CNP is due, whatever the scope. That of QPs is in each of them.
type notifier struct {
	cfg  CNPConfig
	port unit.Time                // no CNP before, if the scope is the port
	ips  map[netip.Addr]unit.Time // the same by address
	most int                      // addresses that are kept

	free unit.Time // the hardware makes no CNP before
}

func newNotifier(cfg CNPConfig, most int) notifier {
	return notifier{cfg: cfg, ips: make(map[netip.Addr]unit.Time), most: most}
}

// allows reports whether a CNP to ip may be made now, in the scopes wider than a QP, and begins
// their interval if so.
func (m *notifier) allows(now unit.Time, ip netip.Addr) bool {
	if m.cfg.Scope == ScopePort {
		if now < m.port {
			return false
		}
		m.port = now.Add(m.cfg.Interval)
		return true
	}
	if now < m.ips[ip] {
		return false
	}
	if _, known := m.ips[ip]; !known && len(m.ips) >= m.most {
		m.forget(now)
	}
	m.ips[ip] = now.Add(m.cfg.Interval)
	return true
}

// forget drops the addresses whose interval is over: they are as good as unknown.
func (m *notifier) forget(now unit.Time) {
	for ip, until := range m.ips { // order does not matter
		if until <= now {
			delete(m.ips, ip)
		}
	}
}

// congested is a mark, or what counts as one, for the notification point: [DCQCN] figure 6.
func (n *NIC) congested(now unit.Time, c *conn) {
	if n.notifier.cfg.Scope != ScopeQP {
		if n.notifier.allows(now, c.remote.IP) {
			n.owe(now, c)
		}
		return
	}
	if c.notify.Marked(now) {
		n.owe(now, c)
	}
	n.arm(c.timers+kindNotify, c.notify.NextWake())
}

// owe begins the way of a CNP to the wire. The delay is the same for all, so that those who wait
// for it stand in the order in which it ends.
func (n *NIC) owe(now unit.Time, c *conn) {
	if n.notifier.cfg.Delay == 0 {
		n.ripe(now, c)
		return
	}
	if !c.links[inDelayed].in {
		c.cnpDue = now.Add(n.notifier.cfg.Delay)
		n.delayed.add(c, inDelayed)
		n.arm(cnpTimer, c.cnpDue)
	}
}

// due moves on the CNPs whose delay is over.
func (n *NIC) due(now unit.Time) {
	for c := n.delayed.head; c != nil && c.cnpDue <= now; c = n.delayed.head {
		n.ripe(now, n.delayed.take(inDelayed))
	}
	if c := n.delayed.head; c != nil {
		n.arm(cnpTimer, c.cnpDue)
	}
}

// ripe puts a CNP in front of the wire, which takes it as soon as the hardware can make it.
func (n *NIC) ripe(now unit.Time, c *conn) {
	n.cnps.add(c, inCNPs)
	if n.notifier.free > now {
		n.arm(cnpTimer, n.notifier.free)
	}
}

// cnpReady reports whether a CNP is due that the hardware can make now.
func (n *NIC) cnpReady() bool { return n.cnps.head != nil && n.notifier.free <= n.now }

// made begins the spacing behind a CNP.
func (n *NIC) made() {
	if n.notifier.cfg.Spacing > 0 {
		n.notifier.free = n.now.Add(n.notifier.cfg.Spacing)
		if n.cnps.head != nil {
			n.arm(cnpTimer, n.notifier.free)
		}
	}
}
