package app

import (
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// SinkStats is what a QP received by SEND, or by WRITE with immediate.
type SinkStats struct {
	Messages uint64
	Bytes    unit.Bytes
	Failed   uint64
	Last     unit.Time
}

// sink keeps the receive queue of a QP filled. All receives are the whole region.
type sink struct {
	stats  SinkStats
	posted uint64
}

// Sink returns what the QP has received; false if Open did not make it.
func (h *Host) Sink(qpn ib.QPN) (SinkStats, bool) {
	e := h.ends[qpn]
	if e == nil {
		return SinkStats{}, false
	}
	return e.sink.stats, true
}

func (h *Host) fillSink(now unit.Time, e *end) error {
	s := &e.sink
	for s.posted-s.stats.Messages-s.stats.Failed < uint64(h.nic.Config().QP.ReceiveQueue) {
		err := h.nic.PostReceive(now, e.qpn, qp.ReceiveWR{ID: s.posted, Local: qp.Local{
			Key: e.region.Key, VA: e.region.VA, Length: len(e.region.Bytes)}})
		if err != nil {
			return err
		}
		s.posted++
	}
	return nil
}

func (h *Host) received(now unit.Time, e *end, c *qp.Completion) {
	s := &e.sink.stats
	if c.Status != qp.Success {
		s.Failed++
		return // the QP is in ERR, and no receive is of use
	}
	s.Messages++
	s.Bytes += unit.Bytes(c.Bytes)
	s.Last = now
	// A refused receive means that the QP has failed meanwhile: its completions will tell.
	_ = h.fillSink(now, e)
}
