package nic

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// EventKind is what happened to the verbs without a completion:
// the asynchronous events of ibv_get_async_event(3).
type EventKind uint8

// The events.
const (
	QPFatal  EventKind = iota // the QP went to ERR, and its owner did not ask for it
	SRQLimit                  // fewer receives than the limit are left

	PathError    // there is no path to the peer any more
	PathMigrated // the path to the peer is another one, or is there again
)

// Event is one of them.
type Event struct {
	Kind EventKind
	QPN  ib.QPN       // all but SRQLimit
	SRQ  *SRQ         // SRQLimit
	Why  frame.Reason // PathError
}

// HasNews reports whether there are completions, events, or events of the connection manager to be
// asked for: after most calls there are none.
func (n *NIC) HasNews() bool {
	return n.completed.head != nil || n.failed.head != nil || n.astray.head != nil ||
		len(n.low) > 0 || n.gsi.HasEvent()
}

// NextEvent takes the next event, and reports false if there is none. Events are not lost: of each
// kind, a QP or queue has at most one, and of changes of its path the latest.
func (n *NIC) NextEvent() (Event, bool) {
	if c := n.failed.take(inFailed); c != nil {
		return Event{Kind: QPFatal, QPN: c.qpn}, true
	}
	if c := n.astray.take(inAstray); c != nil {
		if c.way.lost != frame.NoReason {
			return Event{Kind: PathError, QPN: c.qpn, Why: c.way.lost}, true
		}
		return Event{Kind: PathMigrated, QPN: c.qpn}, true
	}
	if len(n.low) == 0 {
		return Event{}, false
	}
	s := n.low[0]
	n.low = append(n.low[:0], n.low[1:]...)
	s.low = false
	return Event{Kind: SRQLimit, SRQ: s}, true
}

// watch looks whether a queue has fallen below its limit.
func (n *NIC) watch(s *SRQ) {
	if s.queue.LimitReached() && !s.low {
		s.low = true
		n.low = append(n.low, s)
	}
}
