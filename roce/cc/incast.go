package cc

import "time"

// CNPRule is how the receivers of an algorithm time their CNPs. With the zero value the interval is
// fixed, and nothing is counted.
type CNPRule struct {
	Spacing time.Duration // the interval is so much for each congested flow
	Memory  int           // a flow is congested for so many intervals after its last CNP
}

// Counts reports whether congested flows are counted.
func (r CNPRule) Counts() bool { return r.Spacing > 0 }

// CNPRuleOf is the rule that the receivers of an algorithm follow.
func CNPRuleOf(p Params) CNPRule {
	if s, ok := p.(interface{ CNPRule() CNPRule }); ok {
		return s.CNPRule()
	}
	return CNPRule{}
}

// Incast is what the notification points of one receiver know together: how many flows are
// congested. [DCQCN+] section 4.2 lets the CNP interval grow with them, so that the receiver's
// CNPs do not become a burst themselves. The interval is the time between two CNPs of the
// receiver, times the flows, and never below N.
//
// The thesis does not say how to count. Its imitation by parameters sets timers by all flows of the
// incast (section 6.3, "3.1 * flownum us"), so a flow must stay counted although marks of it are
// rare: one at a few Mb/s does not even send a packet in each interval. A flow is congested here
// from its CNP on for the intervals of Memory. Forgotten as soon as figure 6 of [DCQCN] forgets it,
// after one interval without a mark, slow flows would not count, the fast ones would raise their
// rate as in a small incast, and the slow ones would stay slow.
type Incast struct {
	least time.Duration // N
	rule  CNPRule
	flows int
}

// NewIncast makes the count of a receiver.
func NewIncast(n time.Duration, r CNPRule) *Incast { return &Incast{least: n, rule: r} }

// Flows is how many flows are congested.
func (i *Incast) Flows() int { return i.flows }

// Interval is the time between two CNPs of one flow.
func (i *Incast) Interval() time.Duration {
	return max(i.least, time.Duration(i.flows)*i.rule.Spacing)
}

// memory is how long a flow stays counted after its CNP.
func (i *Incast) memory() time.Duration {
	return time.Duration(max(i.rule.Memory, 1)) * i.Interval()
}

// CNP is what the receiver says in a CNP: nothing, if its interval is fixed.
func (i *Incast) CNP() CNP {
	if !i.rule.Counts() {
		return CNP{}
	}
	return CNP{Interval: i.Interval(), Flows: i.flows}
}
