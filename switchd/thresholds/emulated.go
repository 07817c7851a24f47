package thresholds

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// Emulated is one of our own links, seen from the switch whose ingress may go to XOFF.
//
//	peer   |trigger|  1  |  2  |  3  |  4  |        last frame begun before the pause acts
//	             \                    ^
//	              \ delay            / delay + reaction
//	               v                /
//	switch         XOFF | reverse |PFC|
//
// The group goes to XOFF when the last bit of the trigger has arrived; the trigger itself is the
// first frame in headroom. The PFC frame waits for the frame that the port is sending, then takes
// its own time and the link's delay; the peer then begins frames until its reaction delay has
// passed, and ends the one it has begun. A frame arrives one more delay after it was begun.
type Emulated struct {
	Rate  unit.Rate     // line rate
	Delay time.Duration // propagation, one way
	// Frame is the largest frame that the peer sends in the class, Reverse the largest that the
	// switch sends to it, as stored: without FCS. Reverse 0: the port sends nothing else.
	Frame, Reverse unit.Bytes
	Reaction       time.Duration // of the peer, from the PFC frame's last bit
	Cell           unit.Bytes    // what is stored takes whole cells; 0: bytes
}

// Traffic is what a Port and its link do not say.
type Traffic struct {
	Frame, Reverse unit.Bytes
	Reaction       time.Duration // of the peer: its pipeline.Port.PauseDelay, or its NIC's
	Cell           unit.Bytes    // of the switch's memory
}

// ForPort is the headroom that each lossless group of a port needs behind the given wire, so that
// nothing is dropped whatever frames up to t.Frame arrive.
func ForPort(p *pipeline.Port, w link.Config, t Traffic) unit.Bytes {
	e := Emulated{Rate: p.Rate, Delay: w.Delay, Frame: t.Frame, Reverse: t.Reverse,
		Reaction: t.Reaction, Cell: t.Cell}
	return e.Headroom()
}

// grain is the resolution of the machines' time: a frame that begins within it may be early.
const grain = time.Nanosecond

// Window is what the peer's line carries from the end of the trigger until the pause acts.
func (e *Emulated) Window() unit.Bytes {
	return e.reverse() + wire.OnLine(wire.MinFrame) + e.inTime()
}

// reverse is the frame that the PFC frame has to wait for.
func (e *Emulated) reverse() unit.Bytes {
	if e.Reverse == 0 {
		return 0
	}
	return wire.OnLine(e.Reverse)
}

// inTime is what the line carries in both delays and the reaction, rounded up.
func (e *Emulated) inTime() unit.Bytes {
	hi, lo := bits.Mul64(uint64(e.Rate), uint64(2*e.Delay+e.Reaction+grain))
	lo, carry := bits.Add64(lo, 8e9-1, 0)
	q, _ := bits.Div64(hi+carry, lo, 8e9)
	return unit.Bytes(q)
}

// charge is what a frame of n bytes takes in the buffer.
func (e *Emulated) charge(n unit.Bytes) unit.Bytes {
	n = max(n, wire.MinFrame)
	if e.Cell > 0 {
		n = (n + e.Cell - 1) / e.Cell * e.Cell
	}
	return n
}

// Uniform is the headroom that is used up, to the byte, when all frames have the length Frame and
// everything happens at the worst moment: the edge below which a frame is dropped.
func (e *Emulated) Uniform() unit.Bytes {
	begun := e.Window()/wire.OnLine(e.Frame) + 1 // at 0, T, 2T ... up to the window's end
	return (1 + begun) * e.charge(e.Frame)
}

// Headroom is enough for any mix of frames up to Frame: the trigger, what fits into the window at
// the length that fills the buffer fastest, and one more frame begun at its end.
func (e *Emulated) Headroom() unit.Bytes {
	stored, line := e.densest()
	fill := (e.Window()*stored + line - 1) / line
	return max(2*e.mostCharge()+fill, e.Uniform())
}

// densest is the frame that takes the most buffer for its time on the line: how much it takes,
// and how long it is there. With bytes that is the longest; with cells it may be one that fills
// little of its last cell.
func (e *Emulated) densest() (stored, line unit.Bytes) {
	stored, line = e.charge(wire.MinFrame), wire.OnLine(wire.MinFrame)
	for n := wire.MinFrame + 1; n <= e.Frame; n++ {
		if c, l := e.charge(n), wire.OnLine(n); c*line > stored*l {
			stored, line = c, l
		}
	}
	return stored, line
}

// mostCharge is the largest charge of one frame.
func (e *Emulated) mostCharge() unit.Bytes { return e.charge(e.Frame) }

// Derive is Headroom step by step.
func (e *Emulated) Derive() *Derivation {
	d := &Derivation{Title: fmt.Sprintf("Headroom on an emulated link of %v, %v", e.Rate, e.Delay),
		Source: "what can still arrive after XOFF"}
	d.add("reverse frame", "length + preamble, FCS, gap", fmt.Sprint(e.Reverse, " + 24"),
		float64(e.reverse()), "bytes")
	d.note("the PFC frame waits for the frame that is being sent")
	d.add("PFC frame", "60 + 24", "", float64(wire.OnLine(wire.MinFrame)), "bytes")
	d.add("in flight", "rate x (2 delay + reaction + 1 ns) / 8",
		fmt.Sprintf("%d x (2 x %d + %d + 1) ns / 8", int64(e.Rate), e.Delay.Nanoseconds(),
			e.Reaction.Nanoseconds()),
		float64(e.inTime()), "bytes")
	d.add("window", "reverse frame + PFC frame + in flight", fmt.Sprintf("%d + %d + %d",
		e.reverse(), wire.OnLine(wire.MinFrame), e.inTime()), float64(e.Window()), "bytes")
	stored, line := e.densest()
	fill := (e.Window()*stored + line - 1) / line
	d.add("stored", "window x stored / line of the densest frame",
		fmt.Sprintf("%d x %d / %d", e.Window(), stored, line), float64(fill), "bytes")
	d.add("headroom", "trigger + stored + last frame begun",
		fmt.Sprintf("%d + %d + %d", e.mostCharge(), fill, e.mostCharge()),
		float64(e.Headroom()), "bytes")
	d.note("frames of %d bytes alone use %d", e.Frame, e.Uniform())
	return d
}
