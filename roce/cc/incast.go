package cc

import "time"

// Incast is what the notification points of one receiver know together: how many flows are
// congested. [DCQCN+] section 4.2 lets the CNP interval grow with them, so that the receiver's
// CNPs do not become a burst themselves.
//
// The thesis does not say how to count. A flow is congested here from its CNP until a whole
// interval goes by without a mark, which is the time that figure 6 of [DCQCN] remembers it for.
// The interval is the time between two CNPs of the receiver, times the flows, and never below N.
type Incast struct {
	least   time.Duration // N
	spacing time.Duration // 0: the interval is N whatever happens
	flows   int
}

// NewIncast makes the count of a receiver. Without spacing all intervals are N.
func NewIncast(n, spacing time.Duration) *Incast { return &Incast{least: n, spacing: spacing} }

// Flows is how many flows are congested.
func (i *Incast) Flows() int { return i.flows }

// Interval is the time between two CNPs of one flow.
func (i *Incast) Interval() time.Duration {
	return max(i.least, time.Duration(i.flows)*i.spacing)
}

// CNP is what the receiver says in a CNP: nothing, if its interval is fixed.
func (i *Incast) CNP() CNP {
	if i.spacing == 0 {
		return CNP{}
	}
	return CNP{Interval: i.Interval(), Flows: i.flows}
}

// CNPSpacing is the spacing that the receivers of an algorithm have; 0 if it has none.
func CNPSpacing(p Params) time.Duration {
	if s, ok := p.(interface{ CNPSpacing() time.Duration }); ok {
		return s.CNPSpacing()
	}
	return 0
}
