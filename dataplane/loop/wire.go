package loop

import "github.com/rocelab/rocelab/dataplane/frame"

// Wire is what a port sends and receives real frames on: an AF_XDP socket, or memory in tests.
type Wire interface {
	// FD is a descriptor that polls readable when frames have arrived.
	FD() int
	// Receive moves arrived frames into frames of the pool, at most len(dst).
	Receive(pool *frame.Pool, dst []Arrival) int
	// Send takes ownership of f and reports true, or reports false when there is no room before
	// Flush, or even after it. Nothing leaves before Flush.
	Send(f *frame.Frame) bool
	// Flush hands what Send took to the kernel. An error means that the wire is down for good and
	// must be opened anew.
	Flush() error
	Stats() WireStats
	Close() error
}

// Arrival is a received frame and its time stamp.
type Arrival struct {
	Frame *frame.Frame
	Mono  int64 // CLOCK_MONOTONIC at which the XDP program saw it; 0 if it could not stamp
}

// WireStats counts what happened between a device and the kernel. Everything but the
// first three means that the emulator lost a frame, not the emulated network.
type WireStats struct {
	Received uint64
	Sent     uint64
	OnDevice uint64 // seen by the XDP program, also those for the kernel and those it dropped

	NoFrame     uint64 // arrived while the frame pool was empty
	TooLong     uint64 // longer than a frame of the pool
	Down        uint64 // to be sent while the wire was down
	Overrun     uint64 // from a sender that nobody paces, more than a NIC would hold
	RingDropped uint64 // kernel: dropped, no fill descriptor or other
	RingFull    uint64 // kernel: receive ring full
	FillEmpty   uint64 // kernel: fill ring found empty
	TxInvalid   uint64 // kernel: invalid transmit descriptors
}

// Plus sums two counts; a port that was opened again keeps those of its earlier wires.
func (a WireStats) Plus(b WireStats) WireStats {
	return WireStats{
		Received: a.Received + b.Received, Sent: a.Sent + b.Sent, OnDevice: a.OnDevice + b.OnDevice,
		NoFrame: a.NoFrame + b.NoFrame, TooLong: a.TooLong + b.TooLong, Down: a.Down + b.Down,
		Overrun:     a.Overrun + b.Overrun,
		RingDropped: a.RingDropped + b.RingDropped, RingFull: a.RingFull + b.RingFull,
		FillEmpty: a.FillEmpty + b.FillEmpty, TxInvalid: a.TxInvalid + b.TxInvalid,
	}
}

// Lost is how many frames were lost between the device and the kernel.
func (a WireStats) Lost() uint64 {
	return a.NoFrame + a.TooLong + a.Down + a.Overrun + a.RingDropped + a.RingFull + a.TxInvalid
}
