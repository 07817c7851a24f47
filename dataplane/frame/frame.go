package frame

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Frame is one Ethernet frame without preamble and FCS.
//
// It may have a run of zeros, such as the payload of a test, of which only the length is kept:
//
//	| head | run of zeros | tail |    on the wire, size bytes
//	| head | tail |                   in buf
//
// Buffers are small until a frame is larger than that, so that those of a fabric whose payload is
// never stored share pages and caches.
//
// It is the same frame whether the run is stored or not, because Bytes stores it. All headers are
// in the head, and what is put behind a frame on its way in the tail: who looks only there, as the
// hot path does, leaves the run as it is.
type Frame struct {
	Meta Meta

	buf   []byte // grows to the pool's size when that is needed
	size  int    // on the wire
	run   run
	pool  *Pool
	next  *Frame // in a FIFO
	owned bool
}

// Meta travels with a frame inside one device. Drivers clear it when a frame enters a device.
type Meta struct {
	Arrived unit.Time // when the last bit arrived; set by the driver before Receive
	Class   Class     // what the classifier found; zero if none has looked yet
	Port    PortID    // where it came in
	Out     PortID    // where it goes out; the switch's own use
	Queue   uint8     // egress queue; the switch's own use
	PG      uint8     // ingress priority group; the switch's own use
	Flow    uint32    // the owner's own use (the NIC keeps the local QPN here)

	// Of the wire by which the frame leaves, nearly always perfect. Drivers set it.
	Watched bool   // the wire is not perfect, and whoever watches has seen the frame
	Faults  Faults // the injected faults that did something to it
}

// Faults is a set of injected faults: bit n is that in slot n of the device's executor (package
// fault).
type Faults uint64

// MaxFaults is how many faults a Faults can tell apart.
const MaxFaults = 64

// PortID numbers the ports of a device from 0.
type PortID uint16

// run is zeros that are not stored.
type run struct {
	at, n int
	seal  func(frame []byte)
}

// Bytes is the frame from the destination MAC on; valid while the caller owns the frame.
func (f *Frame) Bytes() []byte {
	if f.run.n > 0 {
		f.store()
	}
	return f.buf[:f.size]
}

// store writes the run of zeros out.
func (f *Frame) store() {
	f.need(f.size)
	b, r := f.buf[:f.size], f.run
	copy(b[r.at+r.n:], b[r.at:])
	clear(b[r.at : r.at+r.n])
	f.run = run{}
	r.seal(b)
}

// Elide makes the frame one of head and tail bytes around a run of n zeros that is not stored. What
// head and tail hold is up to the caller. If the run is stored after all, seal computes whatever in
// the frame depends on all of its bytes: nobody but who calls Bytes sees that, and nobody else can
// change what it depends on.
func (f *Frame) Elide(head, n, tail int, seal func(frame []byte)) {
	if size := head + n + tail; min(head, n, tail) < 0 || size > f.Cap() {
		panic(fmt.Sprintf("frame: %d bytes, %d zeros and %d bytes in %d", head, n, tail, f.Cap()))
	}
	f.need(head + tail)
	f.size, f.run = head+n+tail, run{head, n, seal}
}

// Elided is the length of the run of zeros that is not stored.
func (f *Frame) Elided() int { return f.run.n }

// Head is the bytes before the run of zeros, all of the frame if there is none.
func (f *Frame) Head() []byte {
	if f.run.n > 0 {
		return f.buf[:f.run.at]
	}
	return f.buf[:f.size]
}

// Tail is the bytes behind the run of zeros, all of the frame if there is none.
func (f *Frame) Tail() []byte { return f.buf[f.run.at : f.size-f.run.n] }

// Len is the number of bytes in the frame.
func (f *Frame) Len() unit.Bytes { return unit.Bytes(f.size) }

// Cap is the largest size Resize accepts now.
func (f *Frame) Cap() int { return f.pool.size }

// need makes sure that n bytes of the frame can be stored.
func (f *Frame) need(n int) {
	if n > len(f.buf) {
		f.widen()
	}
}

// widen gives the frame a buffer of the pool's size, for good.
func (f *Frame) widen() {
	b := f.pool.wide()
	copy(b, f.buf)
	f.buf = b
}

// Resize sets the length, keeping the bytes. New bytes at the end hold what was there before.
func (f *Frame) Resize(n int) {
	if n < 0 || n > f.Cap() {
		panic(fmt.Sprintf("frame: resize to %d of %d", n, f.Cap()))
	}
	if n < f.run.at+f.run.n {
		f.store()
	}
	f.need(n - f.run.n)
	f.size = n
}

// Set makes the frame a copy of b. It reports false, changing nothing, if b does not fit.
func (f *Frame) Set(b []byte) bool {
	if len(b) > f.pool.size {
		return false
	}
	f.run = run{}
	f.need(len(b))
	f.size = copy(f.buf, b)
	return true
}

// Append adds b to the end. It reports false, changing nothing, if b does not fit.
func (f *Frame) Append(b []byte) bool {
	if len(b) > f.Cap()-f.size {
		return false
	}
	f.need(f.size - f.run.n + len(b))
	f.size += copy(f.buf[f.size-f.run.n:], b)
	return true
}

// Release gives the frame back to its pool. Only the owner may, and only once.
func (f *Frame) Release() { f.pool.put(f) }
