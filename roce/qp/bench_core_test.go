package qp

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rocelab/rocelab/roce/ib"
)

// pipe is a wire between two cores: packets in slots, one writer and one reader.
type pipe struct {
	slots [64]struct {
		frame [ib.MaxOverhead + 4096]byte
		n     int
	}
	sent atomic.Uint64
	_    [56]byte // the two counts lie in lines of their own
	read atomic.Uint64
}

// put hands over the packet that fill builds, if there is room and it has one.
func (p *pipe) put(fill func(dst []byte) int) bool {
	at := p.sent.Load()
	if at-p.read.Load() == uint64(len(p.slots)) {
		return false
	}
	s := &p.slots[at%uint64(len(p.slots))]
	if s.n = fill(s.frame[:]); s.n == 0 {
		return false
	}
	p.sent.Store(at + 1)
	return true
}

// take hands the next packet to use.
func (p *pipe) take(use func([]byte)) bool {
	at := p.read.Load()
	if at == p.sent.Load() {
		return false
	}
	s := &p.slots[at%uint64(len(p.slots))]
	use(s.frame[:s.n])
	p.read.Store(at + 1)
	return true
}

// turn lets a side say what it has to say and hear what there is. It reports whether it did.
func (s *side) turn(in, out *pipe) (busy bool) {
	for in.take(func(b []byte) {
		if p, ok := ib.Open(b, 14, 34); ok && p.CheckICRC() {
			s.Receive(0, &p)
		}
	}) {
		busy = true
	}
	var o ib.Outgoing
	for out.put(func(dst []byte) int {
		if !s.NextResponse(&o) && !s.Next(0, 0, &o) {
			return 0
		}
		return s.headers.Build(dst, &o)
	}) {
		busy = true
	}
	return busy
}

// Requester and responder each on a core of its own, packets through memory between them.
func BenchmarkCoreToCore(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("write/%d", n), func(b *testing.B) {
			deep := func(c *Config) { c.MTU, c.SendQueue = 4096, 64 }
			x, y := newSide(b, 0, deep), newSide(b, 1, deep)
			connect(b, x, y, 0, 0)
			there, back := &pipe{}, &pipe{}
			var stop atomic.Bool
			var responder sync.WaitGroup
			responder.Go(func() {
				for !stop.Load() {
					if !y.turn(there, back) {
						runtime.Gosched()
					}
				}
			})
			wr := WR{Op: Write, Local: x.local(0, n), Remote: y.remote(0)}
			done, posted := 0, 0
			var polled [16]Completion
			b.SetBytes(int64(n))
			b.ReportAllocs()
			b.ResetTimer()
			for done < b.N {
				for posted < b.N && x.Post(0, wr) == nil {
					posted++
				}
				if !x.turn(back, there) {
					runtime.Gosched()
				}
				done += x.CQ().Poll(polled[:])
			}
			stop.Store(true)
			responder.Wait()
			seconds := b.Elapsed().Seconds()
			b.ReportMetric(float64(b.N)/seconds, "messages/s")
			b.ReportMetric(seconds*1e9/float64(x.Stats.PacketsSent), "ns/packet")
		})
	}
}
