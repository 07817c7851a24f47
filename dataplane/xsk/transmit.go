package xsk

import (
	"fmt"

	"github.com/asavie/xdp"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/frame"
)

// Send copies f into transmit chunks. It reports false, and leaves f with the caller, if too few
// are free, which Flush may change; the frame is on its way after Flush and not before.
func (s *Socket) Send(f *frame.Frame) bool {
	if s.err != nil {
		s.stats.Down++
		f.Release()
		return true
	}
	b := f.Bytes()
	if len(b) > s.opts.MaxFrame {
		s.tooLong(f)
		return true
	}
	n := s.opts.chunks(len(b))
	if len(s.free) < n && !s.reclaim(n) {
		return false
	}
	for ; n > 1; n-- {
		s.put(b[:s.opts.Chunk], unix.XDP_PKT_CONTD)
		b = b[s.opts.Chunk:]
	}
	s.put(b, 0)
	s.stats.Sent++
	f.Release()
	return true
}

// put copies a part of a frame into a chunk of its own.
func (s *Socket) put(part []byte, options uint32) {
	d := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	d.Len, d.Options = uint32(len(part)), options
	copy(s.sock.GetFrame(d), part)
	s.batch = append(s.batch, d)
}

// reclaim takes back the chunks that the kernel has completed and reports whether n are free. Only
// transmit chunks can be free in the library's list, and all of them that are in ours still are.
func (s *Socket) reclaim(n int) bool {
	s.sock.Complete(s.sock.NumCompleted())
	// Chunks not yet handed over are still marked free by the library.
	if len(s.batch) > 0 {
		return false
	}
	s.free = append(s.free[:0], s.sock.GetDescs(s.opts.Transmit)...)
	return len(s.free) >= n
}

// Flush hands the frames of Send to the kernel.
func (s *Socket) Flush() error {
	s.flush()
	return s.err
}

func (s *Socket) flush() {
	for len(s.batch) > 0 && s.err == nil {
		n := s.transmit(s.batch)
		s.batch = append(s.batch[:0], s.batch[n:]...)
		if n == 0 {
			return
		}
	}
	// In copy mode the kernel sends at most 32 frames a call; ask until it has taken all.
	for s.err == nil && s.sock.NumFreeTxSlots() < s.opts.Transmit {
		before := s.sock.NumFreeTxSlots()
		s.transmit(nil)
		if s.sock.NumFreeTxSlots() == before {
			return
		}
	}
}

// transmit is the one place where the library may panic: sendto failed, the device is gone.
func (s *Socket) transmit(descs []xdp.Desc) (n int) {
	defer func() {
		if r := recover(); r != nil {
			s.err = fmt.Errorf("AF_XDP send: %v", r)
		}
	}()
	return s.sock.Transmit(descs)
}
