package pipeline

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// TestFloodWithoutFrames: a copy for which the pool has no frame is counted as made and lost.
func TestFloodWithoutFrames(t *testing.T) {
	b := newBench(t, testConfig(4))
	b.rx(0, data(1, 2, 1000)) // the frame itself and two copies
	var held []*frame.Frame
	for b.pool.Free() > 1 {
		held = append(held, b.pool.Get())
	}
	b.rx(0, data(1, 2, 1000))
	b.check()
	l := b.sw.Ledger()
	if l.Dropped[frame.DropNoFrame].Frames != 2 || l.Buffered.Frames != 4 {
		t.Errorf("ledger %+v", l)
	}
	for _, f := range held {
		f.Release()
	}
}

// TestPauseWithoutFrames: a PFC frame for which no pool has a frame is sent as soon as one has.
func TestPauseWithoutFrames(t *testing.T) {
	c := testConfig(2)
	c.Ports[0].Groups[3].Limit = mmu.Limit{Static: 500}
	b := newBench(t, c)
	if err := b.sw.MACs().AddStatic([6]byte{2, 0, 0, 0, 0, 2}, 1); err != nil {
		t.Fatal(err)
	}
	b.rx(0, data(1, 2, 1000)) // into headroom: XOFF
	var held []*frame.Frame
	for _, pool := range []*frame.Pool{b.pool, b.sw.pauses} {
		for pool.Free() > 0 {
			held = append(held, pool.Get())
		}
	}
	const port = dataplane.PortID(0)
	if f := b.tx(port); f != nil {
		t.Fatal("a frame out of nothing")
	}
	b.wait(10 * us)
	if f := b.tx(port); f != nil {
		t.Fatal("a frame out of nothing")
	}
	for _, f := range held {
		f.Release()
	}
	b.wait(us)
	if got := b.tx(port); got == nil || describe(got) != "pfc 3=65535" {
		t.Errorf("sent % x", got)
	}
	b.check()
}
