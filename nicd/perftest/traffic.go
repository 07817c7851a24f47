package perftest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// queuePair is what the traffic needs of an *rdma.QP.
type queuePair interface {
	QPN() ib.QPN
	Post(wr ...rdma.WR) (posted int, err error)
	PostReceive(wr ...rdma.ReceiveWR) (posted int, err error)
}

// completionQueue is what it needs of an *rdma.CQ. All QPs of a test share one.
type completionQueue interface {
	Poll(dst []rdma.Completion) (int, error)
	Wait(ctx context.Context, dst []rdma.Completion) (int, error)
}

// pollBatch is the number of completions taken at a time.
const pollBatch = 64

// traffic sends and receives messages on connected QPs. It is used by one goroutine.
type traffic struct {
	c      *Config
	now    func() unit.Time // the NIC's virtual time
	lost   func() time.Duration
	cq     completionQueue
	qps    []queuePair
	mem    *rdma.Memory
	lay    layout
	remote []rdma.Target // where the area of each QP begins at the peer
	inline int           // bytes up to which messages are sent inline
	rate   unit.Rate     // of the port
	mtu    int           // the largest that a QP may have

	polled  [pollBatch]rdma.Completion
	wrs     []rdma.WR        // one post list
	rwrs    []rdma.ReceiveWR // one receive
	pattern pattern
}

// receiveFlag in a work request's ID tells receives. The other bits are the QP's index and the
// number of messages that had been posted on it, this one included.
const (
	receiveFlag = 1 << 63
	qpShift     = 40
	countMask   = 1<<qpShift - 1
)

func sendID(qp, count int) uint64 { return uint64(qp)<<qpShift | uint64(count) }

func receiveID(qp, count int) uint64 { return receiveFlag | sendID(qp, count) }

func splitID(id uint64) (qp, count int, receive bool) {
	return int(id &^ receiveFlag >> qpShift), int(id & countMask), id&receiveFlag != 0
}

// errStalled says that nothing happened for as long as the user is ready to wait.
var errStalled = errors.New("nothing has happened")

// wait takes completions, waiting for one at most until the user's patience ends. It returns none
// if the virtual time until is reached first.
func (t *traffic) wait(ctx context.Context, until unit.Time) ([]rdma.Completion, error) {
	if n, err := t.cq.Poll(t.polled[:]); n > 0 || err != nil {
		return t.polled[:n], err
	}
	// Virtual time may run at any speed and stop: look at it every now and then.
	const slice = 20 * time.Millisecond
	for waited := time.Duration(0); t.now() < until; {
		left := t.c.Patience - waited
		if left <= 0 {
			return nil, errStalled
		}
		if until != unit.Never {
			left = min(left, slice)
		}
		n, err := t.waitReal(ctx, left)
		if n > 0 || err != nil {
			return t.polled[:n], err
		}
		waited += left
	}
	return nil, nil
}

// waitReal waits for completions for a real time.
func (t *traffic) waitReal(ctx context.Context, d time.Duration) (int, error) {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	n, err := t.cq.Wait(bounded, t.polled[:])
	switch {
	case n > 0:
		return n, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case bounded.Err() != nil:
		return 0, nil
	}
	return 0, err
}

// check turns a completion that is no success into an error.
func (t *traffic) check(c *rdma.Completion) error {
	if c.Status == rdma.Success {
		return nil
	}
	what := fmt.Sprintf("%v on QP %v", c.Op, c.QPN)
	if advice := advices[c.Status]; advice != "" {
		return fmt.Errorf("%s: %v: %s", what, c.Status, advice)
	}
	return fmt.Errorf("%s: %v", what, c.Status)
}

// advices say what usually is behind a status.
var advices = map[rdma.Status]string{
	rdma.RetryExceeded: "the peer's NIC does not answer. Its program may have ended, the way " +
		"to it or back may be lossy or gone, or one of the two NICs has another path MTU than " +
		"the wire carries; --qp-timeout sets how long is waited",
	rdma.RNRRetryExceeded: "the peer has no receive posted: its program hangs, or runs " +
		"another test",
	rdma.RemoteAccess: "the peer does not let us reach its memory: it runs another test, or " +
		"one with another --size or --qp",
	rdma.RemoteInvalidRequest: "the peer does not take this request: it runs another test, or " +
		"expects messages of another --size",
	rdma.LocalLength: "the peer's message is longer than ours: give both the same --size",
	rdma.Flushed:     "the QP was in error before",
}

// stalled says what did not happen.
func (t *traffic) stalled(what string, done, want int) error {
	return fmt.Errorf("%w for %v: %s %d of %d messages. Both ends must be given the same --iters, "+
		"--size, --qp and test; --patience sets how long to wait", errStalled, t.c.Patience, what,
		done, want)
}

// header is what every packet has on the wire beside its payload, at least: preamble and gap 20,
// Ethernet 14 and FCS 4 (IEEE 802.3), IPv4 20, UDP 8, BTH 12, ICRC 4.
const header = 20 + 14 + 4 + 20 + 8 + 12 + 4

// onWire is the least time that a message takes on the port's wire, in nanoseconds.
func (t *traffic) onWire(size int) float64 {
	packets := (size + t.mtu - 1) / t.mtu
	return float64(size+packets*header) * 8 * 1e9 / float64(t.rate)
}

// local is the request's own memory for message n of a QP, to be sent or to be fetched into.
func (t *traffic) local(qp, n, size int) rdma.Segment {
	return t.mem.Segment(t.lay.sendAt(qp, n, size), size)
}

// target is the peer's memory for message n of a QP.
func (t *traffic) target(qp, n, size int) rdma.Target {
	at := t.remote[qp]
	at.VA += uint64(t.lay.remoteOffset(n, size))
	return at
}

// request fills one work request: message n (from 0) of a QP.
func (t *traffic) request(wr *rdma.WR, qp, n, size int) {
	*wr = rdma.WR{ID: sendID(qp, n+1), Op: operation(t.c), Local: t.local(qp, n, size)}
	switch t.c.Test.Verb {
	case Send:
	case Atomic:
		wr.Remote = t.target(qp, n, size)
		wr.SwapAdd = 1
		if t.c.AtomicType == CmpAndSwap {
			// What the n-th operation on a slot expects is what the one before it put there, so
			// that all of them swap.
			wr.Compare = uint64(n / t.lay.remoteSlots(size))
			wr.SwapAdd = wr.Compare + 1
		}
	default:
		wr.Remote = t.target(qp, n, size)
	}
	if size <= t.inline && (t.c.Test.Verb == Send || t.c.Test.Verb == Write) {
		at := t.lay.sendAt(qp, n, size)
		wr.Inline = t.mem.Bytes[at : at+size]
	}
}

func operation(c *Config) rdma.Op {
	switch c.Test.Verb {
	case Send:
		return rdma.Send
	case Write:
		return rdma.Write
	case Read:
		return rdma.Read
	}
	if c.AtomicType == CmpAndSwap {
		return rdma.CmpSwap
	}
	return rdma.FetchAdd
}

// postReceive posts the receive for message n of a QP.
func (t *traffic) postReceive(qp, n, size int) error {
	t.rwrs = append(t.rwrs[:0], rdma.ReceiveWR{ID: receiveID(qp, n),
		Local: t.mem.Segment(t.lay.receiveAt(qp, n, size), size)})
	_, err := t.qps[qp].PostReceive(t.rwrs...)
	return err
}

// prepareReceives fills the receive queues for messages of size bytes. Receives of the previous
// size must have been used up.
func (t *traffic) prepareReceives(size int) error {
	for qp := range t.qps {
		for n := range t.c.RxDepth {
			if err := t.postReceive(qp, n, size); err != nil {
				return fmt.Errorf("post receive %d on QP %v: %w", n, t.qps[qp].QPN(), err)
			}
		}
	}
	return nil
}
