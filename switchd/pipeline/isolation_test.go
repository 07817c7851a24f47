package pipeline

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// TestIsolation: ports 0 and 1 are in one isolation group, 2 is in another, 3 in none. Frames to a
// known address and floods reach every other port but that of the same group.
func TestIsolation(t *testing.T) {
	c := testConfig(4)
	c.Ports[0].Isolated, c.Ports[1].Isolated, c.Ports[2].Isolated = 1, 1, 2
	for in := range dataplane.PortID(4) {
		b := newBench(t, c)
		for out := range dataplane.PortID(4) {
			known := wiretest.MACOrNumber(10 + out)
			if err := b.sw.MACs().AddStatic(known.MAC(), out); err != nil {
				t.Fatal(err)
			}
			if in == out {
				continue
			}
			apart := in+out == 1
			before := b.sw.Ledger().Dropped[frame.DropIsolated].Frames
			b.rx(in, data(9, known, 100))
			if got := b.tx(out) != nil; got == apart {
				t.Errorf("from %d to %d: sent %v", in, out, got)
			}
			if n := b.sw.Ledger().Dropped[frame.DropIsolated].Frames - before; (n == 1) != apart {
				t.Errorf("from %d to %d: dropped %d", in, out, n)
			}
			b.rx(in, data(9, 0xffff, 100))
			for port := range dataplane.PortID(4) {
				want := port != in && port+in != 1
				if got := b.tx(port) != nil; got != want {
					t.Errorf("flood from %d: port %d sent %v", in, port, got)
				}
			}
			b.check()
		}
	}
}
