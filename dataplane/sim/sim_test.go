package sim

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
)

const gig40 = 40 * unit.GbPerSecond

// chain is relays in a row: frames that the first originates on port 1 end at the last.
type chain struct {
	*Net
	pool    *frame.Pool
	relays  []*conform.Relay
	nodes   []*Node
	watches []*conform.Monitor
}

func newChain(n int, cfg link.Config) *chain {
	c := &chain{pool: frame.NewPool(2048, 2048)}
	c.Net = New(c.pool)
	for i := range n {
		r := &conform.Relay{Keep: true}
		w := conform.Watch(r, 2)
		c.relays, c.watches = append(c.relays, r), append(c.watches, w)
		c.nodes = append(c.nodes, c.Add(string(rune('a'+i)), w, 2))
	}
	c.relays[n-1].Sink = true
	for i := range n {
		c.Connect(c.nodes[i], 1, c.nodes[(i+1)%n], 0, cfg)
	}
	return c
}

// originate makes the first relay send count frames of the given size, tagged 0, 1, 2...
func (c *chain) originate(count, size int) {
	c.Do(c.nodes[0], func(unit.Time) {
		for i := range count {
			f := c.pool.Get()
			f.Resize(size)
			f.Bytes()[size-1] = byte(i)
			c.relays[0].Originate(1, f)
		}
	})
}

func (c *chain) verify(t *testing.T) {
	t.Helper()
	for i, w := range c.watches {
		for _, f := range w.Faults {
			t.Errorf("relay %d: %s", i, f)
		}
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestArrivalTimesAreSerialisationPlusDelay(t *testing.T) {
	c := newChain(3, link.Config{Rate: gig40, Delay: time.Microsecond})
	c.originate(3, 976) // 1000 bytes on the line: 200 ns at 40 Gb/s
	c.Run(3000)
	want := []conform.Seen{
		{At: 1200, Size: 976},
		{At: 1400, Size: 976, Tag: 1},
		{At: 1600, Size: 976, Tag: 2},
	}
	if got := c.relays[1].Log; !reflect.DeepEqual(got, want) {
		t.Errorf("first hop saw %+v, want %+v", got, want)
	}
	if got := c.relays[2].Log; len(got) != 3 || got[0].At != 2400 {
		t.Errorf("second hop saw %+v, want the first at 2400", got)
	}
	c.verify(t)
}

func TestTheSameSeedIsTheSameRun(t *testing.T) {
	run := func(seed uint64) []conform.Seen {
		c := newChain(3, link.Config{Rate: gig40, Delay: time.Microsecond, Seed: seed,
			Faults: link.Faults{Loss: 0.2, Duplicate: 0.2, Reorder: 0.2, ReorderBy: 700}})
		c.originate(100, 500)
		c.Run(unit.Time(5 * time.Microsecond))
		c.verify(t)
		return c.relays[2].Log
	}
	if !reflect.DeepEqual(run(1), run(1)) {
		t.Error("two runs with one seed differ")
	}
	if reflect.DeepEqual(run(1), run(2)) {
		t.Error("two runs with different seeds are the same")
	}
}

func TestFaultsHappenAsOftenAsAsked(t *testing.T) {
	const frames, p = 20_000, 0.1
	c := newChain(2, link.Config{Rate: gig40, Delay: time.Microsecond, Seed: 3,
		Faults: link.Faults{Loss: p, Corrupt: p, Duplicate: p, Reorder: p, ReorderBy: 700}})
	for range frames / 1000 {
		c.originate(1000, 100)
		for c.relays[0].Ledger().Buffered.Frames > 0 {
			c.Run(c.Now() + 1000)
		}
	}
	st := c.nodes[0].Link(1).Stats
	left := float64(frames - st.Lost)
	for name, got := range map[string]struct{ count, of float64 }{
		"lost":       {float64(st.Lost), frames},
		"corrupted":  {float64(st.Corrupted), left},
		"duplicated": {float64(st.Duplicated), left},
		"reordered":  {float64(st.Reordered), left},
	} {
		// Five standard deviations of the binomial distribution.
		if slack := 5 * math.Sqrt(got.of*p*(1-p)); math.Abs(got.count-got.of*p) > slack {
			t.Errorf("%s %.0f of %.0f, want %.0f +- %.0f", name, got.count, got.of, got.of*p, slack)
		}
	}
}

func TestAFlippedBitIsOneBit(t *testing.T) {
	c := newChain(2, link.Config{Rate: gig40, Faults: link.Faults{Corrupt: 1}})
	flipped := 0
	c.nodes[0].Tap(1, func(_ unit.Time, f *frame.Frame) {
		for i, b := range f.Bytes() {
			if want := byte(0); b != want && i != len(f.Bytes())-1 {
				flipped++
			}
		}
	})
	c.originate(1, 1500)
	c.Run(500)
	if st := c.nodes[0].Link(1).Stats; st.Corrupted != 1 || flipped > 1 {
		t.Errorf("%d frames corrupted, %d bytes changed", st.Corrupted, flipped)
	}
}

func TestLinkDownDropsAndComesBack(t *testing.T) {
	c := newChain(2, link.Config{Rate: gig40, Delay: time.Microsecond})
	c.originate(10, 976)
	c.Run(500) // two or three frames are on their way
	c.SetLink(c.nodes[0], 1, false)
	c.Run(2000)
	arrived := len(c.relays[1].Log)
	if lost := c.relays[0].Ledger().Dropped[frame.DropLinkDown].Frames; int(lost)+arrived != 10 ||
		arrived == 0 {
		t.Errorf("%d arrived, %d dropped, of 10", arrived, lost)
	}
	c.SetLink(c.nodes[0], 1, true)
	c.originate(1, 976)
	c.Run(4000)
	if len(c.relays[1].Log) != arrived+1 {
		t.Errorf("after the link came back %d arrived, want %d", len(c.relays[1].Log), arrived+1)
	}
	c.verify(t)
}

func TestSimultaneousEventsRunInTheOrderOfScheduling(t *testing.T) {
	c := newChain(2, link.Config{Rate: gig40})
	var order []int
	for i := range 50 {
		c.At(100, c.nodes[0], func(unit.Time) { order = append(order, i) })
	}
	c.Run(100)
	for i, got := range order {
		if i != got {
			t.Fatalf("order %v", order)
		}
	}
	if len(order) != 50 || c.Now() != 100 {
		t.Errorf("%d calls, time %v", len(order), c.Now())
	}
}

func BenchmarkFrameHop(b *testing.B) {
	c := newChain(8, link.Config{Rate: gig40, Delay: time.Microsecond})
	for _, r := range c.relays {
		r.Keep, r.Sink = false, false
	}
	c.originate(64, 976) // circulate for ever
	b.ReportAllocs()
	for b.Loop() {
		c.Run(c.Now() + 1000)
	}
	var sent uint64
	for _, r := range c.relays {
		sent += r.Ledger().Sent.Frames
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sent), "ns/frame")
	var _ dataplane.Device = c.watches[0]
}
