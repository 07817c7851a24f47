package pipeline

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// traffic is a switch in which everybody is known, and a frame from each port to the next.
func traffic(t testing.TB, ports int) (*bench, [][]byte) {
	b := newBench(t, testConfig(ports))
	frames := make([][]byte, ports)
	for i := range ports {
		mac := wiretest.MACOrNumber(i).MAC()
		if err := b.sw.MACs().AddStatic(mac, dataplane.PortID(i)); err != nil {
			t.Fatal(err)
		}
		frames[i] = data(wiretest.MACOrNumber(i), wiretest.MACOrNumber((i+1)%ports), 1082)
	}
	return b, frames
}

// through takes one frame through the switch: classify, forward, admit, mark, store, schedule.
func through(b *bench, bytes []byte, in, out dataplane.PortID) bool {
	f := b.pool.Get()
	f.Set(bytes)
	b.now += 217
	b.sw.Receive(b.now, in, f)
	f = b.sw.Transmit(b.now, out)
	if f == nil {
		return false
	}
	f.Release()
	return true
}

// BenchmarkPipeline is a frame from Receive to Transmit, its copy into the frame included.
func BenchmarkPipeline(b *testing.B) {
	for _, ports := range []int{5, 32} {
		b.Run(fmt.Sprintf("ports=%d", ports), func(b *testing.B) {
			sw, frames := traffic(b, ports)
			b.ReportAllocs()
			i, sent := 0, 0
			for b.Loop() {
				if through(sw, frames[i], dataplane.PortID(i), dataplane.PortID((i+1)%ports)) {
					sent++
				}
				if i++; i == ports {
					i = 0
				}
			}
			if sent < b.N {
				b.Fatalf("%d of %d frames came through", sent, b.N)
			}
		})
	}
}

// BenchmarkCopyAlone is what of BenchmarkPipeline is not the switch's.
func BenchmarkCopyAlone(b *testing.B) {
	sw, frames := traffic(b, 5)
	b.ReportAllocs()
	for b.Loop() {
		f := sw.pool.Get()
		f.Set(frames[0])
		f.Release()
	}
	if sw.pool.InUse() != 0 {
		b.Fatal("a frame was lost")
	}
}

// TestDataPathAllocatesNothing covers data, floods, pauses in both directions, links and
// snapshots.
func TestDataPathAllocatesNothing(t *testing.T) {
	b, frames := traffic(t, 5)
	flood := data(1, 0xffff, 1082)
	pause := wiretest.PFC(9, map[uint8]uint16{3: 100})
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	inject := func(port dataplane.PortID, bytes []byte) {
		f := b.pool.Get()
		f.Set(bytes)
		b.sw.Receive(b.now, port, f)
	}
	if n := testing.AllocsPerRun(200, func() {
		through(b, frames[0], 0, 1)
		inject(0, flood)
		inject(1, pause)
		for port := range dataplane.PortID(5) {
			for f := b.sw.Transmit(b.now, port); f != nil; f = b.sw.Transmit(b.now, port) {
				f.Release()
			}
		}
		b.wait(5 * us)
		b.sw.SetLink(b.now, 2, false)
		b.sw.SetLink(b.now, 2, true)
		b.sw.Snapshot(b.now, &s)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	b.check()
}
