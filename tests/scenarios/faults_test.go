package scenarios

import (
	"bytes"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
)

// trouble is a fault of a scenario: at a host's port to the switch, or, of host 0 and up, at the
// switch's port to the host.
type trouble struct {
	atSwitch bool
	host     int
	at, d    time.Duration
	text     string
}

// everything is each fault there is, on links of 1 to 1.5 Gb/s, whose frames take some 9 us. The
// dice are seeded by the plan, since the seeds of links are the bed's.
var everything = []trouble{
	{false, 0, 0, 0, "drop nth 20"},
	{true, 2, 0, 0, "loss 0.02 seed 1"},
	{false, 1, 0, 0, "dup 0.02 seed 2"},
	{true, 1, 0, 0, "dup every 4 op ack"},
	{false, 0, 0, 0, "corrupt 0.01 byte 80 seed 3"},
	{false, 0, 0, 0, "reorder 0.02 by 30us seed 4"},
	{false, 1, 0, 0, "reorder every 50 by 3 frames within 200us"},
	{false, 1, 500 * time.Microsecond, 500 * time.Microsecond, "delay 3us jitter 2us seed 5"},
	{true, 2, 0, 0, "mark every 7"},
	{true, 2, 0, 0, "drop qp 0x11 psn 2443715 limit 1"},
	{false, 0, time.Millisecond, 300 * time.Microsecond, "rate 500Mb/s"},
	{false, 1, 1400 * time.Microsecond, 100 * time.Microsecond, "freeze"},
	{true, 1, 1800 * time.Microsecond, 50 * time.Microsecond, "down"},
}

// stormy is a storm of pauses from the receiver's NIC into the switch ([RDMA at scale] 4.3) and one
// from the switch into a sender, on links of 40 Gb/s, with a lost
// XOFF.
var stormy = []trouble{
	{false, 2, 20 * time.Microsecond, 900 * time.Microsecond, "storm 3"},
	{true, 0, 900 * time.Microsecond, 50 * time.Microsecond, "storm 3,4"},
	{false, 2, 0, 0, "drop kind pfc nth 2"},
}

// troubled is what a scenario came to.
type troubled struct {
	arrived [3][][]byte // at each host
	hits    map[string]uint64
}

// suffer runs two senders into one receiver with faults.
func suffer(t *testing.T, s *star, b bed, plan []trouble, until unit.Time) (out troubled) {
	t.Helper()
	var mu sync.Mutex
	for h := range s.hosts {
		b.tap(h, func(dir loop.Direction, f *frame.Frame) {
			if dir == loop.In {
				mu.Lock()
				defer mu.Unlock()
				out.arrived[h] = append(out.arrived[h], bytes.Clone(f.Bytes()))
			}
		})
	}
	for _, p := range plan {
		spec, err := fault.Parse(p.text)
		if err != nil {
			t.Fatal(err)
		}
		node, port := p.host, 0
		if p.atSwitch {
			node, port = s.switchNode(), p.host
		}
		b.fault(node, port, fault.Entry{Fault: spec, At: p.at, For: p.d})
	}
	s.start(t, b, func(i int, f *app.Flow) {
		f.Messages, f.Start = crossingMessages, crossingStart(i)
	})
	b.run(until)
	b.stop()
	for i, n := range s.nodes() {
		l := n.Ledger()
		if err := l.Check(); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		if left := s.pools[i].InUse(); left != 0 {
			t.Errorf("node %d: %d of its frames are still in use", i, left)
		}
	}
	for i := range s.senders {
		if _, st := s.hosts[i].Flow(0); !st.Done || st.Completed != crossingMessages {
			t.Errorf("sender %d: %d of %d messages, %d failed", i, st.Completed, crossingMessages,
				st.Failed)
		}
	}
	out.hits = b.hits()
	return out
}

// The same faults do the same to the same frames under both drivers, to the byte and to the count;
// every one of them does something; and no message is lost whatever goes wrong.
func TestBothDriversSufferTheSame(t *testing.T) {
	slow := crossing()
	slow.timeout = 6 // 4.096 us x 2^6: what is lost at the end is sent again soon
	fast := slow
	fast.rates = nil
	for _, c := range []struct {
		name  string
		setup setup
		plan  []trouble
		until unit.Time
		idle  map[string]bool // faults that touch no frame
	}{
		{"everything", slow, everything, 8000 * us,
			map[string]bool{"rate 500Mb/s": true, "freeze": true}},
		{"storm", fast, stormy, 4000 * us, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStar(t, c.setup)
			want := suffer(t, s, newVirtual(t, s), c.plan, c.until)
			s = newStar(t, c.setup)
			got := suffer(t, s, newLoops(t, s, 100), c.plan, c.until)
			if !maps.Equal(got.hits, want.hits) {
				t.Errorf("on loops the faults hit %v, in virtual time %v", got.hits, want.hits)
			}
			for text, n := range want.hits {
				if (n == 0) != c.idle[text] {
					t.Errorf("%s hit %d frames", text, n)
				}
			}
			for h := range want.arrived {
				if err := differ(got.arrived[h], want.arrived[h]); err != nil {
					t.Errorf("at host %d: %v", h, err)
				}
			}
		})
	}
}

// differ tells the first difference between two sequences of frames.
func differ(got, want [][]byte) error {
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Errorf("frame %d:\n%s, in virtual time\n%s", i, fault.Describe(got[i]),
				fault.Describe(want[i]))
		}
	}
	if len(got) != len(want) || len(got) < 10 {
		return fmt.Errorf("%d frames, in virtual time %d", len(got), len(want))
	}
	return nil
}
