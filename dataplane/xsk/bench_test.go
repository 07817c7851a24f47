package xsk

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
)

// BenchmarkFrame is a frame from a pool through two sockets and a veth and back to its pool, in
// bursts as the loop makes them. The kernel's part of it is most of it.
func BenchmarkFrame(b *testing.B) {
	const burst = 32
	for _, bm := range []struct{ mtu, chunk, size int }{
		{1500, 2048, 74}, {1500, 2048, 1082}, // an ACK, a packet of path MTU 1024
		{4500, 2048, 74}, {4500, 2048, 1082}, {4500, 2048, 4154},
		{4500, 4096, 74}, {4500, 4096, 1082}, {4500, 4096, 4154},
	} {
		name := fmt.Sprintf("mtu=%d/chunk=%d/size=%d", bm.mtu, bm.chunk, bm.size)
		b.Run(name, func(b *testing.B) {
			o := OptionsFor(bm.mtu)
			o.Chunk = bm.chunk
			p := newPairOf(b, bm.mtu, o)
			pool := frame.NewPool(2*burst, o.MaxFrame)
			data := random(rand.New(rand.NewPCG(5, 5)), bm.size)
			var got [burst]loop.Arrival
			b.ReportAllocs()
			b.SetBytes(int64(burst * bm.size))
			for b.Loop() {
				for range burst {
					f := pool.Get()
					f.Set(data)
					if !p.socks[0].Send(f) && (p.socks[0].Flush() != nil || !p.socks[0].Send(f)) {
						b.Fatal("no room")
					}
				}
				if err := p.socks[0].Flush(); err != nil {
					b.Fatal(err)
				}
				left := burst
				for try := 0; left > 0 && try < 1_000_000; try++ { // a softirq later at most
					n := p.socks[1].Receive(pool, got[:])
					for _, a := range got[:n] {
						a.Frame.Release()
					}
					left -= n
				}
				if left > 0 {
					b.Fatalf("%d frames do not arrive", left)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*burst), "ns/frame")
		})
	}
}
