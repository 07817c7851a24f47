package rdma

import (
	"errors"
	"time"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/qp"
)

// Post appends work requests to the send queue and returns how many were taken; fewer than all
// only with an error, which is about the first that was not: ErrQueueFull, ErrState, ErrInvalid,
// ErrClosed or ErrDaemonGone.
func (q *QP) Post(wr ...WR) (posted int, err error) {
	return q.pd.dev.give(len(wr), func(w *writer, i int) error {
		err := q.judge(&wr[i])
		if err == nil {
			err = w.send(q, &wr[i])
		}
		if err == nil {
			q.sent++
		}
		return err
	})
}

// PostReceive appends receives and returns how many were taken; fewer than all only with an error.
// A QP with an SRQ has none of its own.
func (q *QP) PostReceive(wr ...ReceiveWR) (posted int, err error) {
	return q.pd.dev.give(len(wr), func(w *writer, i int) error {
		switch {
		case q.closed.Load():
			return ErrClosed
		case q.cfg.SRQ != nil || !q.pd.holds(wr[i].Local, true):
			return ErrInvalid
		case q.received-q.receivesDone.Load() >= uint32(q.cfg.ReceiveDepth):
			return ErrQueueFull
		}
		err := w.receive(abi.KindReceive, q.handle, &wr[i])
		if err == nil {
			q.received++
		}
		return err
	})
}

// PostReceive appends receives and returns how many were taken; fewer than all only with an error.
// There is room again for those that QPs have taken, once a completion has told of it.
func (s *SRQ) PostReceive(wr ...ReceiveWR) (posted int, err error) {
	return s.pd.dev.give(len(wr), func(w *writer, i int) error {
		switch {
		case !s.pd.holds(wr[i].Local, true):
			return ErrInvalid
		case s.posted-s.taken.Load() >= uint32(s.depth):
			return ErrQueueFull
		}
		err := w.receive(abi.KindShared, s.handle, &wr[i])
		if err == nil {
			s.posted++
		}
		return err
	})
}

// give has one write n work requests for the daemon, until one cannot be taken, and tells the
// daemon of all that were.
func (d *Device) give(n int, one func(w *writer, i int) error) (posted int, err error) {
	d.post.Lock()
	defer d.post.Unlock()
	if err := d.Err(); err != nil {
		return 0, err
	}
	for posted < n && err == nil {
		if err = one(&d.into, posted); err == nil {
			posted++
		}
	}
	d.into.flush()
	return posted, err
}

// judge says what is wrong with a work request that the daemon would end the QP for. Device.post
// is held.
func (q *QP) judge(wr *WR) error {
	ud := q.cfg.Type == UD
	n := wr.Local.Length
	if wr.Inline != nil {
		n = len(wr.Inline)
	}
	switch {
	case q.closed.Load():
		return ErrClosed
	case q.state.Load() < uint32(qp.StateRTS):
		return ErrState
	case q.sent-q.ended.Load() >= uint32(q.cfg.SendDepth):
		return ErrQueueFull
	case wr.Op >= Receive, n < 0, n > MaxMessage,
		ud && (wr.Op > SendImm || n > q.cfg.MTU),
		ud && (wr.To.Address == nil || wr.To.Address.pd != q.pd),
		wr.Inline != nil && (ud || n > q.cfg.MaxInline || wr.Op.Fetches()),
		wr.Op.Atomic() && n != qp.AtomicLen,
		wr.Inline == nil && !q.pd.holds(wr.Local, wr.Op.Fetches()):
		return ErrInvalid
	}
	return nil
}

// writer puts entries into the ring. Device.post is held.
type writer struct {
	dev   *Device
	ahead int // entries not yet published
	buf   [abi.SubmissionSize]byte
}

// send writes a work request.
func (w *writer) send(q *QP, wr *WR) error {
	e := abi.Submission{Kind: abi.KindSend, Op: uint8(wr.Op), Handle: q.handle, ID: wr.ID,
		VA: wr.Local.VA, Key: wr.Local.Key, Length: uint32(wr.Local.Length),
		Remote: wr.Remote.VA, RKey: wr.Remote.RKey, Imm: wr.Imm, SwapAdd: wr.SwapAdd,
		Compare: wr.Compare, QPN: uint32(wr.To.QPN), QKey: wr.To.QKey}
	if wr.To.Address != nil {
		e.Address = wr.To.Address.handle
	}
	if wr.Solicited {
		e.Flags |= abi.FlagSolicited
	}
	if wr.Fence {
		e.Flags |= abi.FlagFence
	}
	if wr.Unsignaled {
		e.Flags |= abi.FlagUnsignaled
	}
	more := 0
	if wr.Inline != nil {
		e.Flags |= abi.FlagInline
		e.Length = uint32(len(wr.Inline))
		more = abi.InlineEntries(len(wr.Inline))
	}
	if err := w.room(1 + more); err != nil {
		return err
	}
	e.Encode(w.buf[:])
	w.put(w.buf[:])
	for b := wr.Inline; len(b) > 0; b = b[min(len(b), abi.SubmissionSize):] {
		w.put(b[:min(len(b), abi.SubmissionSize)])
	}
	return nil
}

func (w *writer) receive(kind abi.Kind, handle uint32, wr *ReceiveWR) error {
	if err := w.room(1); err != nil {
		return err
	}
	e := abi.Submission{Kind: kind, Handle: handle, ID: wr.ID, VA: wr.Local.VA,
		Key: wr.Local.Key, Length: uint32(wr.Local.Length)}
	e.Encode(w.buf[:])
	w.put(w.buf[:])
	return nil
}

func (w *writer) put(b []byte) {
	w.dev.ring.Put(w.ahead, b)
	w.ahead++
}

// errRing says that the daemon's side of the ring makes no sense.
var errRing = errors.New("nicd: submission ring is damaged")

// again is when to look again whether the daemon has taken entries: a few of its turns.
const again = 20 * time.Microsecond

// room waits until n entries may be written. The daemon takes all that there are in every turn, so
// it is a matter of microseconds.
func (w *writer) room(n int) error {
	for {
		if err := w.dev.Err(); err != nil {
			w.ahead = 0
			return err
		}
		free, ok := w.dev.ring.Room()
		if !ok {
			return errRing
		}
		if free-w.ahead >= n {
			return nil
		}
		w.flush()
		time.Sleep(again)
	}
}

// flush hands the entries to the daemon.
func (w *writer) flush() {
	if w.ahead > 0 && w.dev.Err() == nil {
		w.dev.ring.Publish(w.ahead)
		w.dev.knock()
	}
	w.ahead = 0
}

// completed notes the end of a request: done is how many of the queue have ended so far.
func (q *QP) completed(c *Completion, done uint32) {
	switch {
	case c.Op != Receive:
		q.ended.Store(done)
	case q.cfg.SRQ != nil:
		q.cfg.SRQ.advance(done)
	default:
		q.receivesDone.Store(done)
	}
	if c.Status != Success && q.err.Load() == nil {
		q.broken(&StatusError{c.Status})
	}
}

// advance notes that QPs have taken done receives so far. Completions of several queues may tell of
// it out of order.
func (s *SRQ) advance(done uint32) {
	for old := s.taken.Load(); int32(done-old) > 0 && !s.taken.CompareAndSwap(old, done); {
		old = s.taken.Load()
	}
}

// StatusError is the error of a completion.
type StatusError struct{ Status Status }

func (e *StatusError) Error() string { return e.Status.String() }
