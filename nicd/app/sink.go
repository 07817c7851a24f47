package app

import (
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Sink describes the receiving side of SENDs, and of WRITEs with immediate, on one QP.
type Sink struct {
	QPN   ib.QPN
	Local qp.Local // where each message goes, all to the same place
	Depth int      // receives posted at a time
}

// SinkStats is what a sink has received.
type SinkStats struct {
	Messages uint64
	Bytes    unit.Bytes
	Failed   uint64
	Last     unit.Time
	Err      error // why a receive could not be posted
}

// sink keeps the receive queue of a QP filled.
type sink struct {
	Sink
	stats  SinkStats
	posted uint64
	held   []*flow // that wait for messages
}

// holds has a flow wait for messages. Those that are done are forgotten.
func (s *sink) holds(f *flow) {
	s.held = slices.DeleteFunc(s.held, func(f *flow) bool { return f.stats.Done })
	s.held = append(s.held, f)
}

// Listen keeps receives posted on a QP, which need not be connected yet.
func (h *Host) Listen(now unit.Time, s Sink) error {
	q := h.nic.QP(s.QPN)
	if q == nil {
		return fmt.Errorf("%w: receive on QP %v: %w", ErrFlow, s.QPN, nic.ErrNoQP)
	}
	u := h.user(s.QPN)
	if u.sink != nil {
		return fmt.Errorf("%w: QP %v has its receives already", ErrFlow, s.QPN)
	}
	if most := q.Config().ReceiveQueue; s.Depth < 1 || s.Depth > most {
		return fmt.Errorf("%w: depth %d of receives is not in 1..%d", ErrFlow, s.Depth, most)
	}
	k := &sink{Sink: s}
	if h.fillSink(now, k); k.stats.Err != nil {
		return fmt.Errorf("%w: receive on QP %v: %w", ErrFlow, s.QPN, k.stats.Err)
	}
	u.sink = k
	return nil
}

// Sink returns what the QP has received; false if nobody called Listen for it.
func (h *Host) Sink(qpn ib.QPN) (SinkStats, bool) {
	u := h.users[qpn]
	if u == nil || u.sink == nil {
		return SinkStats{}, false
	}
	return u.sink.stats, true
}

func (h *Host) fillSink(now unit.Time, s *sink) {
	for s.posted-s.stats.Messages-s.stats.Failed < uint64(s.Depth) && s.stats.Err == nil {
		wr := qp.ReceiveWR{ID: s.posted, Local: s.Local}
		if s.stats.Err = h.nic.PostReceive(now, s.QPN, wr); s.stats.Err == nil {
			s.posted++
		}
	}
}

func (h *Host) received(now unit.Time, s *sink, c *qp.Completion) {
	if c.Status != qp.Success {
		s.stats.Failed++
		return // the QP is in ERR, and no receive is of use
	}
	s.stats.Messages++
	s.stats.Bytes += unit.Bytes(c.Bytes)
	s.stats.Last = now
	h.fillSink(now, s)
}
