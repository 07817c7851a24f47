// Package looptest has what tests of the loop need in place of sockets.
package looptest

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
)

// Wire is one end of a pipe in memory that behaves as a veth with AF_XDP sockets on both ends:
// frames are copied, stamped when they are handed over, and wake the other end.
type Wire struct {
	fd    int
	peer  *Wire
	batch [][]byte

	mu       sync.Mutex
	arrived  []stamped
	received uint64
	sent     uint64
	broken   error
}

type stamped struct {
	data []byte
	mono int64
}

// Pipe returns the two ends of a wire.
func Pipe() (a, b *Wire, err error) {
	a, b = &Wire{}, &Wire{}
	for _, w := range []*Wire{a, b} {
		if w.fd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
			return nil, nil, fmt.Errorf("eventfd: %w", err)
		}
	}
	a.peer, b.peer = b, a
	return a, b, nil
}

// FD polls readable when frames have arrived.
func (w *Wire) FD() int { return w.fd }

// Receive takes what has arrived.
func (w *Wire) Receive(pool *frame.Pool, dst []loop.Arrival) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var buf [8]byte
	_, _ = unix.Read(w.fd, buf[:]) // non-blocking; empty is fine
	for ; n < len(dst) && n < len(w.arrived); n++ {
		f := pool.Get()
		if f == nil || !f.Set(w.arrived[n].data) {
			break
		}
		dst[n] = loop.Arrival{Frame: f, Mono: w.arrived[n].mono}
	}
	w.arrived = w.arrived[n:]
	w.received += uint64(n)
	return n
}

// Send keeps a copy for Flush.
func (w *Wire) Send(f *frame.Frame) bool {
	w.batch = append(w.batch, append([]byte(nil), f.Bytes()...))
	f.Release()
	return true
}

// Flush hands the frames to the other end.
func (w *Wire) Flush() error {
	w.mu.Lock()
	err := w.broken
	w.sent += uint64(len(w.batch))
	w.mu.Unlock()
	if err != nil {
		return err
	}
	w.Push(w.batch...)
	w.batch = nil
	return nil
}

// Push lets frames arrive at the other end now.
func (w *Wire) Push(frames ...[]byte) { w.peer.arrive(frames) }

func (w *Wire) arrive(frames [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, data := range frames {
		w.arrived = append(w.arrived, stamped{data, clock.Monotonic()})
	}
	if len(frames) > 0 {
		_, _ = unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only if readable already
	}
}

// Break makes every further Flush fail, as a deleted device does.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = errors.New("device is gone")
}

// Stats counts frames.
func (w *Wire) Stats() loop.WireStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return loop.WireStats{Received: w.received, Sent: w.sent}
}

// Close closes the descriptor.
func (w *Wire) Close() error { return unix.Close(w.fd) }
