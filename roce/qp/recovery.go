package qp

import (
	"fmt"

	"github.com/rocelab/rocelab/roce/ib"
)

// Recovery is from where what was lost is sent again.
type Recovery uint8

// The modes. Go-back-0 is what makes the livelock of [SIGCOMM'16] 4.1: one lost packet costs the
// whole message, of SENDs, WRITEs and READs alike.
//
// We deviate. The paper's receiver answers the loss of packet i with NAK(i), and what it does with
// the packets before i it does not say. Ours throws them away and names packet 0: a receiver that
// kept them would take the message further each time that it is repeated. For READs the receiver
// is the requester, which then asks for the whole again.
const (
	GoBackN Recovery = iota
	GoBack0
	recoveries
)

var recoveryNames = [...]string{"go_back_n", "go_back_0"}

func (r Recovery) String() string { return recoveryNames[r] }

// MarshalText returns the name.
func (r Recovery) MarshalText() ([]byte, error) {
	if r >= recoveries {
		return nil, fmt.Errorf("recovery %d is unknown", uint8(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText sets the recovery by its name.
func (r *Recovery) UnmarshalText(b []byte) error {
	for i, name := range recoveryNames {
		if string(b) == name {
			*r = Recovery(i)
			return nil
		}
	}
	return fmt.Errorf("recovery %q: want go_back_n or go_back_0", b)
}

// restart is where to go back to if at is missing. By go-back-0 it is the start of the message,
// and acknowledgements of the message so far count no more.
func (q *QP) restart(at seq) seq {
	r := &q.req
	if q.cfg.recovery == GoBackN {
		return at
	}
	for pos := r.queue.head; pos != r.queue.tail; pos++ {
		if w := r.queue.at(pos); at < w.end() {
			q.forget(w)
			return w.first
		}
	}
	return at
}

// restarts reports whether a NAK names a packet that was acknowledged, in the message in
// progress: the responder has thrown it away.
func (q *QP) restarts(syn ib.Syndrome, at seq) bool {
	r := &q.req
	return q.cfg.recovery == GoBack0 && syn == ib.NAKSequence && r.queue.len() > 0 &&
		at == r.queue.at(r.queue.head).first
}

// forget takes back what has come of a request, or of the answer to it.
func (q *QP) forget(w *sendWQE) {
	r := &q.req
	if w.first >= r.unacked {
		return
	}
	n := uint64(int(r.unacked-w.first) * q.mtu())
	if w.op.Fetches() {
		q.Stats.BytesReceived -= n
	} else {
		q.Stats.BytesAcked -= n
	}
	r.unacked = w.first
}

// abandon throws away what has come of the message in progress, which is expected again from its
// first packet on. Its receive waits for that.
func (q *QP) abandon() {
	r := &q.resp
	if q.cfg.recovery == GoBackN || r.verb == ib.NoVerb {
		return
	}
	q.Stats.BytesReceived -= uint64(r.total)
	r.expected, r.verb, r.dest, r.total = r.first, ib.NoVerb, span{}, 0
}
