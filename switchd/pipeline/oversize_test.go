package pipeline

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// TestOversize: port 0 has an MTU of 1200, port 1 of 700, port 2 takes any frame. What is longer
// than its port's MTU allows is dropped by name where it comes in, or where it would leave.
func TestOversize(t *testing.T) {
	c := testConfig(3)
	c.Ports[0].MaxFrame, c.Ports[1].MaxFrame = wire.MaxFrame(1200), wire.MaxFrame(700)
	b := newBench(t, c)
	for _, port := range []frame.PortID{0, 1, 2} {
		if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(10+port).MAC(), port); err != nil {
			t.Fatal(err)
		}
	}
	dropped := uint64(0)
	for _, test := range []struct {
		in, out frame.PortID
		size    int
		passes  bool
	}{
		{0, 2, 1218, true}, {0, 2, 1219, false}, // in at port 0
		{2, 0, 1218, true}, {2, 0, 1219, false}, // out at port 0
		{0, 1, 718, true}, {0, 1, 719, false},
		{1, 0, 718, true}, {1, 0, 719, false},
	} {
		b.rx(test.in, data(9, wiretest.MACOrNumber(10+test.out), test.size))
		f := b.tx(test.out)
		if passes := f != nil; passes != test.passes || (passes && len(f) != test.size) {
			t.Errorf("%d bytes from port %d to port %d: %d bytes left", test.size, test.in,
				test.out, len(f))
		}
		if !test.passes {
			dropped++
		}
		if n := b.sw.Ledger().Dropped[frame.DropOversize].Frames; n != dropped {
			t.Errorf("%d dropped, want %d", n, dropped)
		}
	}
	// A flood reaches the ports that it fits.
	b.rx(2, data(9, 0xffff, 900))
	if b.tx(0) == nil || b.tx(1) != nil {
		t.Error("a flooded frame of 900 bytes: want it out of port 0 and not of port 1")
	}
	b.dropped(frame.DropOversize, dropped+1)
	b.check()
}
