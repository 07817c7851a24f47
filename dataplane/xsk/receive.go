package xsk

import (
	"github.com/asavie/xdp"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
)

// Receive copies frames out of the ring into frames of the pool, at most len(dst).
func (s *Socket) Receive(pool *frame.Pool, dst []loop.Arrival) (n int) {
	if s.err != nil || s.closed {
		return 0
	}
	// A frame in parts takes several descriptors, so there may be more in the ring than were asked
	// for: nobody says so again.
	for n < len(dst) {
		descs := s.sock.Receive(min(len(dst)-n, s.sock.NumReceived()))
		if len(descs) == 0 {
			break
		}
		s.refill = s.refill[:0]
		for _, d := range descs {
			s.refill = append(s.refill, xdp.Desc{Addr: d.Addr &^ uint64(s.opts.Chunk-1)})
			if a, ok := s.take(pool, d); ok {
				dst[n] = a
				n++
			}
		}
		s.sock.Fill(s.refill)
	}
	return n
}

// gathering is the frame whose last part has not come out of the ring yet.
type gathering struct {
	open    bool
	arrival loop.Arrival // its frame is nil if it is dropped; the other parts come all the same
}

// take copies the part of a frame, mostly all of it, that a descriptor holds. It reports true with
// the last part, unless the frame was dropped.
func (s *Socket) take(pool *frame.Pool, d xdp.Desc) (loop.Arrival, bool) {
	part, g := s.sock.GetFrame(d), &s.gather
	switch {
	case !g.open:
		g.arrival = s.begin(pool, d, part)
	case g.arrival.Frame != nil && !g.arrival.Frame.Append(part):
		s.tooLong(g.arrival.Frame)
		g.arrival.Frame = nil
	}
	g.open = d.Options&unix.XDP_PKT_CONTD != 0
	if g.open || g.arrival.Frame == nil {
		return loop.Arrival{}, false
	}
	s.stats.Received++
	return g.arrival, true
}

// begin takes a frame's first part, which has the metadata in front.
func (s *Socket) begin(pool *frame.Pool, d xdp.Desc, part []byte) (a loop.Arrival) {
	f := pool.Get()
	if f == nil {
		s.stats.NoFrame++
		return a
	}
	if !f.Set(part) {
		s.tooLong(f)
		return a
	}
	a.Frame = f
	meta := xdp.Desc{Addr: d.Addr - bpf.MetaLen, Len: bpf.MetaLen}
	if class, mono, ok := bpf.DecodeMeta(s.sock.GetFrame(meta)); ok {
		f.Meta.Class, a.Mono = class, mono
	}
	return a
}

func (s *Socket) tooLong(f *frame.Frame) {
	s.stats.TooLong++
	f.Release()
}
