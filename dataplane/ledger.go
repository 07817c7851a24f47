package dataplane

import (
	"fmt"
	"strings"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Count is a number of frames and their bytes.
type Count struct {
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
}

// Add counts one frame of n bytes.
func (c *Count) Add(n unit.Bytes) { c.Frames++; c.Bytes += uint64(n) }

// Sub takes one frame of n bytes out again.
func (c *Count) Sub(n unit.Bytes) { c.Frames--; c.Bytes -= uint64(n) }

func (c Count) plus(o Count) Count { return Count{c.Frames + o.Frames, c.Bytes + o.Bytes} }

// Ledger is the conservation account of one device. At all times, in frames and in bytes:
//
//	Received + Generated = Sent + Consumed + Buffered + sum(Dropped)
//
// Generated are frames the device made (PFC, ACK, data of a NIC) and bytes that it added to others
// (a switch's telemetry), Consumed those it ended by using them (a PFC frame obeyed, a packet
// placed into memory).
type Ledger struct {
	Received, Generated      Count
	Sent, Consumed, Buffered Count
	Dropped                  [frame.ReasonCount]Count
}

// Drop counts a lost frame and releases it.
func (l *Ledger) Drop(f *frame.Frame, why frame.Reason) {
	l.Dropped[why].Add(f.Len())
	f.Release()
}

// Consume counts a frame that has served its purpose and releases it.
func (l *Ledger) Consume(f *frame.Frame) {
	l.Consumed.Add(f.Len())
	f.Release()
}

// DroppedTotal sums the drops over all reasons.
func (l *Ledger) DroppedTotal() (sum Count) {
	for _, c := range l.Dropped {
		sum = sum.plus(c)
	}
	return sum
}

// Check returns an error that shows both sides if the account does not balance.
func (l *Ledger) Check() error {
	in := l.Received.plus(l.Generated)
	out := l.Sent.plus(l.Consumed).plus(l.Buffered).plus(l.DroppedTotal())
	if in == out {
		return nil
	}
	var drops strings.Builder
	for r, c := range l.Dropped {
		if c.Frames != 0 {
			fmt.Fprintf(&drops, " %v %d", frame.Reason(r), c.Frames)
		}
	}
	return fmt.Errorf(
		"ledger: received %d + generated %d != sent %d + consumed %d + buffered %d + dropped%s"+
			" (bytes %d != %d)",
		l.Received.Frames,
		l.Generated.Frames,
		l.Sent.Frames,
		l.Consumed.Frames,
		l.Buffered.Frames,
		drops.String(),
		in.Bytes,
		out.Bytes,
	)
}
