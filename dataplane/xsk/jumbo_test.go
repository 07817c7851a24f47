package xsk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// small4500 has few chunks, of which a frame of MTU 4500 takes three.
var small4500 = Options{Receive: 64, Transmit: 64, Chunk: 2048, MaxFrame: maxFrame(4500)}

func maxFrame(mtu int) int { return int(wire.MaxFrame(mtu)) }

// random gives a frame of n bytes with a header that no protocol claims.
func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
	return b
}

// send hands one frame to the kernel.
func (p *pair) send(t testing.TB, pool *frame.Pool, b []byte) {
	t.Helper()
	f := pool.Get()
	if f == nil || !f.Set(b) || !p.socks[0].Send(f) {
		t.Fatalf("no room for %d bytes", len(b))
	}
	if err := p.socks[0].Flush(); err != nil {
		t.Fatal(err)
	}
}

// receive waits until fn, called with what has arrived at the other end, says that it was enough.
func (p *pair) receive(t testing.TB, pool *frame.Pool, fn func([]loop.Arrival) bool) {
	t.Helper()
	got := p.got[:]
	deadline := time.Now().Add(10 * time.Second)
	for {
		n := p.socks[1].Receive(pool, got)
		enough := fn(got[:n])
		for _, a := range got[:n] {
			a.Frame.Release()
		}
		if enough {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not in 10 s: sent %+v, received %+v", p.socks[0].Stats(),
				p.socks[1].Stats())
		}
	}
}

// exchange sends one frame and checks that it arrives byte by byte, classified and stamped.
func (p *pair) exchange(t testing.TB, pool *frame.Pool, b []byte) {
	t.Helper()
	p.send(t, pool, b)
	p.receive(t, pool, func(got []loop.Arrival) bool {
		if len(got) == 0 {
			return false
		}
		a := got[0]
		if len(got) != 1 || a.Mono == 0 || a.Frame.Meta.Class.Kind != frame.Other ||
			!bytes.Equal(a.Frame.Bytes(), b) {
			t.Fatalf("%d bytes: %d frames, the first of %d bytes, %v, stamp %d", len(b), len(got),
				a.Frame.Len(), a.Frame.Meta.Class.Kind, a.Mono)
		}
		return true
	})
}

// edges are the lengths around those at which a frame takes one more chunk to receive or to send,
// or one more page of the veth, and a hundred others.
func edges(rng *rand.Rand, o Options) (lengths []int) {
	steps := []int{o.Chunk, o.Chunk - chunkHeadroom, maxFrame(3506), 4096}
	for _, step := range steps {
		for n := step; n <= o.MaxFrame+step; n += step {
			for d := -2; d <= 2; d++ {
				if l := n + d; l <= o.MaxFrame {
					lengths = append(lengths, l)
				}
			}
		}
	}
	for range 100 {
		lengths = append(lengths, 60+rng.IntN(o.MaxFrame-59))
	}
	return append(lengths, 60, o.MaxFrame)
}

func TestFramesOfEveryLengthArriveWhole(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, mtu := range []int{1500, 2200, 4200, MaxMTU} {
		for _, chunk := range []int{2048, 4096} {
			t.Run(fmt.Sprintf("MTU %d chunk %d", mtu, chunk), func(t *testing.T) {
				o := small
				o.Chunk, o.MaxFrame = chunk, maxFrame(mtu)
				p := newPairOf(t, mtu, o)
				pool := frame.NewPool(8, o.MaxFrame)
				for _, n := range edges(rng, o) {
					p.exchange(t, pool, random(rng, n))
				}
				if st := p.socks[1].Stats(); st.Lost() != 0 || pool.InUse() != 0 {
					t.Errorf("%d frames not released, %+v", pool.InUse(), st)
				}
			})
		}
	}
}

func TestManyTimesTheRingsInParts(t *testing.T) {
	p := newPairOf(t, 4500, small4500)
	// Of 64 chunks 21 frames are three each, and one chunk is left over.
	p.crossWindow(t, frame.NewPool(64, small4500.MaxFrame), 1000, small4500.MaxFrame, 16)
	if st := p.socks[1].Stats(); st.Received != 1000 || st.Lost() != 0 {
		t.Errorf("%+v", st)
	}
}

// A frame whose later parts do not fit is dropped whole, and counted once; so is one that found no
// frame in the pool. The frames around it arrive.
func TestAFrameInPartsIsDroppedWhole(t *testing.T) {
	p := newPairOf(t, 4500, small4500)
	rng := rand.New(rand.NewPCG(1, 1))
	pool, short := frame.NewPool(8, small4500.MaxFrame), frame.NewPool(4, 4000)
	for _, n := range []int{4001, 4518, 4000, 3999} {
		p.send(t, pool, random(rng, n))
	}
	arrived := 0
	p.receive(t, short, func(got []loop.Arrival) bool {
		for _, a := range got {
			if n := a.Frame.Len(); n > 4000 {
				t.Errorf("%d bytes in a frame of 4000", n)
			}
			arrived++
		}
		return arrived == 2
	})
	if st := p.socks[1].Stats(); st.TooLong != 2 || st.Received != 2 || short.InUse() != 0 {
		t.Errorf("%+v, %d frames not released", st, short.InUse())
	}

	empty := frame.NewPool(1, 4518)
	held := empty.Get()
	p.send(t, pool, random(rng, 4518))
	p.receive(t, empty, func([]loop.Arrival) bool { return p.socks[1].Stats().NoFrame > 0 })
	held.Release()
	p.exchange(t, pool, random(rng, 4518))
	if st := p.socks[1].Stats(); st.NoFrame != 1 || st.Received != 3 {
		t.Errorf("%+v", st)
	}
}

// A frame in parts that was not received to the end goes back to its pool with the socket.
func TestClosingInTheMiddleOfAFrame(t *testing.T) {
	p := newPairOf(t, 4500, small4500)
	pool := frame.NewPool(2, small4500.MaxFrame)
	p.send(t, pool, random(rand.New(rand.NewPCG(2, 2)), 4518))
	one := make([]loop.Arrival, 1)
	// The ring has three descriptors; of the frame's parts one is taken by hand.
	for deadline := time.Now().Add(10 * time.Second); p.socks[1].sock.NumReceived() < 3; {
		if time.Now().After(deadline) {
			t.Fatal("not in 10 s")
		}
	}
	d := p.socks[1].sock.Receive(1)
	if _, whole := p.socks[1].take(pool, d[0]); whole || pool.InUse() != 1 {
		t.Fatalf("whole %v, %d frames in use", whole, pool.InUse())
	}
	p.close(1)
	if n := p.socks[1].Receive(pool, one); n != 0 || pool.InUse() != 0 {
		t.Errorf("%d received, %d frames not released", n, pool.InUse())
	}
	p.socks[1] = nil
}

func TestAFrameTooLongForTheWireIsCounted(t *testing.T) {
	p := newPairOf(t, 4500, small4500)
	pool := frame.NewPool(2, 9018)
	p.send(t, pool, random(rand.New(rand.NewPCG(3, 3)), small4500.MaxFrame+1))
	if st := p.socks[0].Stats(); st.TooLong != 1 || st.Sent != 0 || pool.InUse() != 0 {
		t.Errorf("%+v, %d frames not released", st, pool.InUse())
	}
}

func TestFramesInPartsDoNotAllocate(t *testing.T) {
	p := newPairOf(t, 4500, small4500)
	pool := frame.NewPool(8, small4500.MaxFrame)
	b := random(rand.New(rand.NewPCG(4, 4)), 4178) // path MTU 4096 with headers and ICRC
	enough := func(got []loop.Arrival) bool { return len(got) > 0 }
	n := testing.AllocsPerRun(500, func() {
		p.send(t, pool, b)
		p.receive(t, pool, enough)
	})
	if n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
