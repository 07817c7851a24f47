package qp

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
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

// ReadyToReceive goes from INIT to RTR: the peer may send. With an attribute out of its range the
// state stays.
func (q *QP) ReadyToReceive(a ReceiveAttributes) error {
	if err := q.may(StateInit, StateRTR); err != nil {
		return err
	}
	if err := q.adoptReceive(a); err != nil {
		return err
	}
	q.state = StateRTR
	return nil
}

// ReadyToSend goes from RTR to RTS: we may send. With an attribute out of its range the state
// stays.
func (q *QP) ReadyToSend(a SendAttributes) error {
	if err := q.may(StateRTR, StateRTS); err != nil {
		return err
	}
	if err := q.adoptSend(a); err != nil {
		return err
	}
	q.state = StateRTS
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
func (q *QP) Fail(now unit.Time) {
	q.now = now
	if q.state != StateReset {
		q.flush()
		q.resp.nak, q.resp.due = 0, q.resp.kept.tail
		q.resp.acknowledged()
	}
}

func (q *QP) enter(from, to State) error {
	err := q.may(from, to)
	if err == nil {
		q.state = to
	}
	return err
}

func (q *QP) may(from, to State) error {
	if q.state != from {
		return fmt.Errorf("QP %v to %v: %w: %v", q.cfg.qpn, to, ErrState, q.state)
	}
	return nil
}
