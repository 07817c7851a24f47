package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// DefaultCNPInterval is N of [DCQCN] 3.1.
const DefaultCNPInterval = 50 * time.Microsecond

// NotificationPoint decides when the receiver of one flow sends a CNP: [DCQCN] figure 6.
//
//	+-------+  marked packet: CNP   +---------------------+  window over, marks in it: CNP
//	| quiet | --------------------> | within N after CNP  | ---+
//	|       | <-------------------- | (remembers a mark)  | <--+
//	+-------+  window over, no mark +---------------------+
//
// So a CNP goes at once if none went for N, and then at most one every N while marks come.
// Where congested flows are counted, this one counts for longer than the window: see Incast.
// Make it with NewNotificationPoint, or as one of an Incast.
type NotificationPoint struct {
	incast  *Incast
	until   unit.Time // end of the window after the last CNP
	forget  unit.Time // when the flow is not congested any more
	window  bool
	marked  bool // a marked packet came in the window
	counted bool // as congested
}

// NewNotificationPoint makes one with the interval N; with zero each mark makes a CNP.
func NewNotificationPoint(interval time.Duration) NotificationPoint {
	return NewIncast(interval, CNPRule{}).Point()
}

// Point makes the notification point of one flow to the receiver.
func (i *Incast) Point() NotificationPoint { return NotificationPoint{incast: i} }

// CNP is what the receiver says in a CNP of this flow.
func (n *NotificationPoint) CNP() CNP { return n.incast.CNP() }

// Close ends the flow.
func (n *NotificationPoint) Close() {
	if n.counted {
		n.incast.flows--
	}
	n.window, n.counted = false, false
}

// Marked tells of a packet with CE, and reports whether a CNP goes now.
func (n *NotificationPoint) Marked(now unit.Time) (cnp bool) {
	if n.window && now < n.until {
		n.marked = true
		return false
	}
	n.open(now)
	return true
}

// NextWake is when Wake may have a CNP to send: the end of a window with marks in it; or when the
// flow is to be forgotten.
func (n *NotificationPoint) NextWake() unit.Time {
	switch {
	case n.window && n.marked:
		return n.until
	case n.counted:
		return n.forget
	}
	return unit.Never
}

// Wake reports whether a CNP goes now.
func (n *NotificationPoint) Wake(now unit.Time) (cnp bool) {
	if n.window && now >= n.until {
		if n.marked {
			n.open(now)
			return true
		}
		n.window = false
	}
	if n.counted && now >= n.forget {
		n.Close()
	}
	return false
}

func (n *NotificationPoint) open(now unit.Time) {
	if n.incast.rule.Counts() {
		if !n.counted {
			n.incast.flows++
		}
		n.counted, n.forget = true, now.Add(n.incast.memory())
	}
	n.window, n.marked, n.until = true, false, now.Add(n.incast.Interval())
}
