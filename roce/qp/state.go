package qp

import (
	"fmt"

	"github.com/rocelab/rocelab/roce/ib"
)

// State is that of a queue pair. IBTA 10.3.1, figure 124.
//
//	        Init          ReadyToReceive       ReadyToSend        Drain
//	RESET -------> INIT -----------------> RTR -----------> RTS --------> SQD
//	  ^             |                       |                | <--------   |
//	  |  Reset      | Fail                  |  fatal NAK     |   Resume    |
//	  +------------ERR <--------------------+----------------+-------------+
//
// Reset leads back from anywhere. IBTA's SQE concerns the unreliable services.
type State uint8

// The states.
const (
	StateReset State = iota
	StateInit
	StateRTR
	StateRTS
	StateSQD
	StateErr
)

var stateNames = [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "ERR"}

func (s State) String() string { return stateNames[s] }

// sends reports whether the requester is at work, if only to finish what it began.
func (s State) sends() bool { return s == StateRTS || s == StateSQD }

// Init goes from RESET to INIT: receives may be posted.
func (q *QP) Init() error { return q.enter(StateReset, StateInit) }

// ReadyToReceive goes from INIT to RTR: the peer sends from its QP remote, starting at psn.
func (q *QP) ReadyToReceive(remote ib.QPN, psn ib.PSN) error {
	if err := q.enter(StateInit, StateRTR); err != nil {
		return err
	}
	q.remote, q.resp.expected = remote, psn
	return nil
}

// ReadyToSend goes from RTR to RTS: we send starting at psn.
func (q *QP) ReadyToSend(psn ib.PSN) error {
	if err := q.enter(StateRTR, StateRTS); err != nil {
		return err
	}
	r := &q.req
	first := seq(psn)
	r.unacked, r.next, r.highest, r.posted = first, first, first, first
	return nil
}

// Drain goes from RTS to SQD: the message in progress is finished and acknowledged, no other
// begins. IBTA 10.3.1.5.
func (q *QP) Drain() error { return q.enter(StateRTS, StateSQD) }

// Drained reports whether in SQD nothing is in flight any more.
func (q *QP) Drained() bool {
	return q.state == StateSQD && q.req.unacked == q.req.highest && !q.requestDue(0)
}

// Resume goes from SQD back to RTS.
func (q *QP) Resume() error { return q.enter(StateSQD, StateRTS) }

// Reset returns to RESET from anywhere. Work requests vanish without completion, IBTA 10.3.1.1;
// completions not yet polled stay.
func (q *QP) Reset() {
	q.cq.reserved -= q.req.queue.len() + q.resp.queue.len() + q.resp.taken()
	q.req.queue.head, q.resp.queue.head = q.req.queue.tail, q.resp.queue.tail
	q.state, q.remote = StateReset, 0
	q.clear()
}

// Fail goes to ERR: every work request completes as flushed, and no answer goes out any more. In
// RESET there is nothing to fail.
func (q *QP) Fail() {
	if q.state != StateReset {
		q.flush()
		q.resp.nak, q.resp.ackOwed, q.resp.due = 0, false, q.resp.kept.tail
	}
}

func (q *QP) enter(from, to State) error {
	if q.state != from {
		return fmt.Errorf("QP %v to %v: %w: %v", q.cfg.QPN, to, ErrState, q.state)
	}
	q.state = to
	return nil
}
