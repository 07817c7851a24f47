package pipeline

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
)

// deadServer is [RDMA at scale] section 4.2 before the packet comes: server 11 has said nothing
// for five minutes, so that its MAC address has left the MAC table, "but the ARP table entry" has
// four hours. The others keep talking.
func deadServer(t *testing.T, remedy fib.Remedy) *bench {
	c := torConfig()
	c.Router.Incomplete = remedy
	b := tor(t, c)
	b.wait(300*second + 1) // table timeouts: 5 minutes and 4 hours
	b.announce(0, 10, "10.0.1.10")
	mac, known := b.sw.router.Neighbours.Lookup(b.now, 0, ip("10.0.1.11"))
	if _, port := b.sw.macs.Lookup(b.now, mac); !known || port {
		t.Fatalf("the entry is not incomplete: MAC address known %v, port known %v", known, port)
	}
	return b
}

// purple is the paper's packet to the dead server, from the uplink, in a lossless class.
var purple = ipPacket{Src: "192.0.2.1", Dst: "10.0.1.11", MAC: 104, DSCP: 26}

// TestIncompleteFloods is what the paper found: "the standard behavior in this case is for the
// switch to flood the packet to all its ports", the other uplink (figure 4: T1.p4) among them, and
// in the lossless class, so that a pause on any of them spreads.
func TestIncompleteFloods(t *testing.T) {
	b := deadServer(t, fib.Flood)
	b.rx(4, purple.bytes())
	if out := b.sent(); len(out) != 5 || out[4] != nil || out[5] == nil {
		t.Errorf("flooded to %d ports", len(out))
	}
	for _, port := range []dataplane.PortID{0, 1, 2, 3, 5} {
		if n := b.sw.ports[port].queues[3].stats.Sent.Frames; n != 1 {
			t.Errorf("port %d: %d in the lossless queue", port, n)
		}
	}
}

// TestIncompleteToCPU is option (1): "we forward the packets to the switch CPU and let the switch
// CPU figure out what to do". It asks; a server that is alive gets its packet, a dead one does not,
// and its entry goes.
func TestIncompleteToCPU(t *testing.T) {
	b := deadServer(t, fib.ToCPU)
	b.rx(4, purple.bytes())
	if out := b.sent(); len(out) != 4 || arpOf(out[3]) == nil {
		t.Fatalf("asked on %d ports", len(out))
	}
	b.rx(1, arpFrom(11, wire.ARPReply, "10.0.1.11", "10.0.1.1"))
	if out := b.sent(); len(out) != 1 || out[1] == nil {
		t.Errorf("after the answer: %d ports sent", len(out))
	}

	b = deadServer(t, fib.ToCPU)
	b.rx(4, purple.bytes())
	for range fib.Attempts {
		b.sent()
		b.wait(second)
	}
	b.dropped(frame.DropNoNeighbour, 1)
	if _, ok := b.sw.router.Neighbours.Lookup(b.now, 0, ip("10.0.1.11")); ok {
		t.Error("the entry is still there")
	}
}

// TestIncompleteDropsLossless is option (3), the paper's choice and our default: "we drop the
// lossless packets if their corresponding ARP entry is incomplete". A lossy one is flooded on the
// bridge.
func TestIncompleteDropsLossless(t *testing.T) {
	b := deadServer(t, fib.DropLossless)
	b.rx(4, purple.bytes())
	if out := b.sent(); len(out) != 0 {
		t.Errorf("sent on %d ports", len(out))
	}
	b.dropped(frame.DropIncomplete, 1)
	lossy := purple
	lossy.DSCP = 0
	b.rx(4, lossy.bytes())
	if out := b.sent(); len(out) != 4 || out[5] != nil {
		t.Errorf("flooded to %d ports", len(out))
	}
	// The server is back: one frame of its is enough.
	b.rx(1, data(11, 10, 100))
	b.sent()
	b.rx(4, purple.bytes())
	if out := b.sent(); len(out) != 1 || out[1] == nil {
		t.Errorf("sent on %d ports", len(out))
	}
}

// TestTimeoutsNeverIncomplete is option (2): "we set up the timeout value of the MAC table to be
// longer than that of the ARP table, so that an ARP entry cannot be incomplete". Servers talk,
// fall silent, die and come back at any time; no packet ever meets an incomplete entry.
func TestTimeoutsNeverIncomplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := torConfig()
		c.Router.Neighbours.Timeout = c.MACs.Age
		if c.MACs.Age == 0 {
			c.Router.Neighbours.Timeout = fib.DefaultAge
		}
		b := tor(t, c)
		alive := true
		rt.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				b.wait(unit.Time(rapid.IntRange(0, 400).Draw(t, "s")) * second)
			},
			"dies or lives": func(*rapid.T) { alive = !alive },
			"talks": func(*rapid.T) {
				if alive {
					b.rx(1, data(11, 10, 100))
				}
			},
			"packet": func(*rapid.T) { b.rx(4, purple.bytes()) },
			"": func(t *rapid.T) {
				for port, f := range b.sent() {
					if arpOf(f) != nil && alive && port == 1 {
						b.rx(1, arpFrom(11, wire.ARPReply, "10.0.1.11", "10.0.1.1"))
					}
				}
				if n := b.sw.Ledger().Dropped[frame.DropIncomplete].Frames; n != 0 {
					t.Fatalf("%d packets met an incomplete entry", n)
				}
			},
		})
	})
}

// TestDefaultTimeouts are the section's: "4 hours and 5 minutes, respectively".
func TestDefaultTimeouts(t *testing.T) {
	if fib.DefaultNeighbourTimeout != 4*time.Hour || fib.DefaultAge != 5*time.Minute {
		t.Error(fmt.Sprint(fib.DefaultNeighbourTimeout, fib.DefaultAge))
	}
}
