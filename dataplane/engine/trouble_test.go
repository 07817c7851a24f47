package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// bench is a relay with two ports whose wires end at the test. A frame of 976 bytes takes 200 ns on
// a line of 40 Gb/s, and 1 us more to the far end.
type bench struct {
	engine.Engine
	t        testing.TB
	node     *engine.Node
	watch    *conform.Monitor
	relay    *conform.Relay
	pool     *frame.Pool
	exec     *fault.Executor
	got      []string // tag@time of what came out of port 1
	injured  []string
	pfc      []unit.Time // when PFC frames came out of port 1
	lastBody wire.PFC
}

const (
	delay = time.Microsecond
	size  = 976
	us    = unit.Time(time.Microsecond)
)

func newBench(t testing.TB) *bench {
	b := &bench{t: t, relay: &conform.Relay{}, pool: frame.NewPool(64, 2048)}
	b.watch = conform.Watch(b.relay, 2)
	var ports []engine.Port
	for range 2 {
		ports = append(ports, engine.Port{Out: b, Pool: b.pool,
			Wire: link.NewSender(link.Config{Rate: 40 * unit.GbPerSecond, Delay: delay})})
	}
	b.node = b.Add(b.watch, ports)
	b.exec = fault.NewExecutor(b, nil)
	b.node.Watch(func(s engine.Sight) {
		if s.Frame.Meta.Faults == 0 {
			return
		}
		b.exec.Hit(s.At, s.Frame, s.Lost)
		state := "through"
		if s.Lost {
			state = "lost"
		}
		b.injured = append(b.injured, fmt.Sprintf("%d %s@%d", b.tag(s.Frame), state, s.At))
	})
	return b
}

func (b *bench) Place(string) (fault.Place, error) {
	return fault.Place{Near: b.node.Target(1)}, nil
}

func (b *bench) tag(f *frame.Frame) byte { return f.Bytes()[len(f.Bytes())-1] }

// Deliver is the far end of both wires.
func (b *bench) Deliver(now unit.Time, f *frame.Frame) {
	if f.Meta.Class.Kind == frame.PFC {
		b.pfc = append(b.pfc, now)
		body, _ := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
		b.lastBody = *body
	} else {
		b.got = append(b.got, fmt.Sprintf("%d@%d", b.tag(f), now))
	}
	f.Release()
}

// arrive lets frames with tags from first on come in on port 0 at a time.
func (b *bench) arrive(at unit.Time, first byte, n int) {
	for i := range n {
		f := b.pool.Get()
		f.Resize(size)
		clear(f.Bytes())
		f.Bytes()[size-1] = first + byte(i)
		b.Arrive(b.node, 0, at, f)
	}
}

func (b *bench) fault(at, d time.Duration, text string) int {
	b.t.Helper()
	s, err := fault.Parse(text)
	if err != nil {
		b.t.Fatal(err)
	}
	id, err := b.exec.Add(b.Now(), fault.Entry{Port: "1", Fault: s, At: at, For: d})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// end checks what came out, and that all frames are accounted for.
func (b *bench) end(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.got, want) {
		b.t.Errorf("came out:\n%v, want\n%v", b.got, want)
	}
	if n := b.pool.InUse(); n != 0 {
		b.t.Errorf("%d frames are left", n)
	}
	for _, f := range b.watch.Faults {
		b.t.Error(f)
	}
	l := b.relay.Ledger()
	if err := l.Check(); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) hits(id int) uint64 {
	for _, s := range b.exec.List() {
		if s.ID == id {
			return s.Hits
		}
	}
	return 0
}

// A lost frame occupies the wire, and is seen when it starts.
func TestLost(t *testing.T) {
	b := newBench(t)
	id := b.fault(0, 0, "drop nth 2")
	b.arrive(0, 1, 3)
	b.Run(10 * us)
	b.end("1@1200", "3@1600")
	if !slices.Equal(b.injured, []string{"2 lost@200"}) || b.hits(id) != 1 {
		t.Errorf("injured %v, %d hits", b.injured, b.hits(id))
	}
}

// The second of two equal frames comes right behind the first and takes its time on the wire.
func TestDoubled(t *testing.T) {
	b := newBench(t)
	id := b.fault(0, 0, "dup nth 1")
	b.arrive(0, 1, 2)
	b.Run(10 * us)
	b.end("1@1200", "1@1400", "2@1600")
	if !slices.Equal(b.injured, []string{"1 through@200"}) || b.hits(id) != 1 {
		t.Errorf("injured %v, %d hits", b.injured, b.hits(id))
	}
}

func TestHeldBackForATime(t *testing.T) {
	b := newBench(t)
	b.fault(0, 0, "reorder nth 1 by 300ns")
	b.arrive(0, 1, 3)
	b.Run(10 * us)
	b.end("2@1400", "1@1500", "3@1600")
	if !slices.Equal(b.injured, []string{"1 through@0"}) {
		t.Errorf("injured %v", b.injured)
	}
}

// Held back until two have passed: right behind the second of them.
func TestHeldBackForFrames(t *testing.T) {
	b := newBench(t)
	b.fault(0, 0, "reorder nth 1 by 2 frames")
	b.arrive(0, 1, 4)
	b.Run(10 * us)
	b.end("2@1400", "3@1600", "1@1600", "4@1800")
}

// If nobody comes to pass, it goes on its way after the time that was said.
func TestHeldBackInVain(t *testing.T) {
	b := newBench(t)
	b.fault(0, 0, "reorder nth 1 by 2 frames within 5us")
	b.arrive(0, 1, 2)
	b.Run(20 * us)
	b.end("2@1400", "1@6200")
}

func TestDelayed(t *testing.T) {
	b := newBench(t)
	id := b.fault(900*time.Nanosecond, 600*time.Nanosecond, "delay 4us")
	b.arrive(0, 1, 1)
	b.arrive(us, 2, 1)
	b.arrive(2*us, 3, 1) // the delay is over, but what it holds back is not overtaken
	b.Run(20 * us)
	b.end("1@1200", "2@6200", "3@6200")
	if b.hits(id) != 1 {
		t.Errorf("%d hits", b.hits(id))
	}
}

// A frame that is still to go on its way when the link goes down does not.
func TestDelayedAndDown(t *testing.T) {
	b := newBench(t)
	b.fault(0, 0, "delay 4us")
	down := b.fault(time.Microsecond, 10*time.Microsecond, "down")
	b.arrive(0, 1, 1)
	b.Run(20 * us)
	b.end()
	if !slices.Equal(b.injured, []string{"1 through@0", "1 lost@4200"}) || b.hits(down) != 1 {
		t.Errorf("injured %v, %d hits", b.injured, b.hits(down))
	}
}

// The device goes on as if the wire were faster.
func TestSlower(t *testing.T) {
	b := newBench(t)
	b.fault(900*time.Nanosecond, time.Microsecond, "rate 10Gb/s")
	b.arrive(0, 1, 1)
	b.arrive(us, 2, 1)
	b.arrive(3*us, 3, 1)
	b.Run(20 * us)
	b.end("1@1200", "2@2800", "3@4200")
}

// A frozen port sends nothing, and all of it afterwards; its device does not know.
func TestFrozen(t *testing.T) {
	b := newBench(t)
	b.fault(300*time.Nanosecond, 5*time.Microsecond, "freeze")
	b.arrive(0, 1, 3)
	b.Run(20 * us)
	b.end("1@1200", "2@1400", "3@6500")
	l := b.relay.Ledger()
	if n := l.Dropped[frame.DropLinkDown].Frames; n != 0 || len(b.injured) != 0 {
		t.Errorf("%d dropped, injured %v", n, b.injured)
	}
}

// What arrives while the link is down is lost; the other end does the same to what was on the wire.
// The device is told: the relay keeps the fourth frame until the link is up.
func TestDown(t *testing.T) {
	b := newBench(t)
	id := b.fault(1300*time.Nanosecond, 3*time.Microsecond, "down")
	b.arrive(0, 1, 3)
	b.Run(2 * us)
	f := b.pool.Get()
	f.Set([]byte{0})
	b.Arrive(b.node, 1, 2*us, f)
	b.arrive(3*us, 4, 1)
	b.arrive(5*us, 5, 1)
	b.Run(20 * us)
	b.end("1@1200", "2@1400", "3@1600", "4@5500", "5@6200")
	if !slices.Equal(b.injured, []string{"0 lost@2000"}) || b.hits(id) != 1 {
		t.Errorf("injured %v, %d hits", b.injured, b.hits(id))
	}
}

// Three reasons for a link to be down: the device is told once, and that it is up when all are
// gone. The relay would drop its queue each time.
func TestDownTwice(t *testing.T) {
	b := newBench(t)
	b.fault(900*time.Nanosecond, 4*time.Microsecond, "down")
	b.fault(3*time.Microsecond, 4*time.Microsecond, "down")
	for i := range byte(10) {
		b.arrive(unit.Time(i)*us, i, 1)
	}
	b.Run(2 * us)
	b.node.SetLink(1, false)
	b.Run(8 * us)
	b.node.SetLink(1, true)
	b.Run(20 * us)
	b.end("0@1200", "1@9200", "2@9400", "3@9600", "4@9800", "5@10000", "6@10200", "7@10400",
		"8@10600", "9@10800")
}

// IEEE 802.1Q-2022 36: a pause of 65535 quanta at 40 Gb/s lasts 838.848 us; a storm has no gap.
func TestStormHasNoGap(t *testing.T) {
	b := newBench(t)
	const begin, length = 100 * time.Microsecond, 10 * time.Millisecond
	id := b.fault(begin, length, "storm 3,4")
	b.arrive(2000*us, 7, 1) // other frames go on
	b.Run(20_000 * us)
	if len(b.got) != 1 || len(b.pfc) < 2 {
		t.Fatalf("%v and %d PFC frames came out", b.got, len(b.pfc))
	}
	pause := unit.Time(pfc.Duration(wire.MaxQuanta, 40*unit.GbPerSecond))
	// 84 bytes on the line take 17 ns.
	if first := unit.Time(begin + delay); b.pfc[0] < first || b.pfc[0] > first+17 {
		t.Errorf("the first at %v", b.pfc[0])
	}
	for i := 1; i < len(b.pfc); i++ {
		if gap := b.pfc[i] - b.pfc[i-1]; gap > pause || gap < pause/4 {
			t.Errorf("from %v on for %v", b.pfc[i-1], gap)
		}
	}
	last := b.pfc[len(b.pfc)-1]
	if end := unit.Time(begin + length); last+pause < end || last > end+unit.Time(delay)+17 {
		t.Errorf("the last at %v", last)
	}
	if want := pfc.SetOf(3, 4); pfc.Set(b.lastBody.Enabled()) != want ||
		b.lastBody.Quanta(3) != wire.MaxQuanta || b.hits(id) != uint64(len(b.pfc)) {
		t.Errorf("classes %v, %d frames, %d hits", pfc.Set(b.lastBody.Enabled()), len(b.pfc),
			b.hits(id))
	}
	b.got = nil
	b.end()
}

// What the device itself says of the storm's priorities is not heard.
func TestStormDrownsTheDevice(t *testing.T) {
	b := newBench(t)
	b.fault(0, 0, "storm 3")
	b.Run(us)
	f := b.pool.Get()
	g := pfc.NewGenerator(pfc.GeneratorConfig{Rate: 40 * unit.GbPerSecond})
	g.XOFF(5)
	if !g.Build(0, f) {
		t.Fatal("no frame")
	}
	b.Arrive(b.node, 0, us, f)
	f = b.pool.Get()
	g.XON(5)
	g.XOFF(3)
	g.Build(0, f)
	g.XON(3)
	g.Build(0, f)
	b.Arrive(b.node, 0, 2*us, f)
	b.Run(10 * us)
	if body := b.lastBody; len(b.pfc) != 3 || body.Quanta(3) != wire.MaxQuanta ||
		!pfc.Set(body.Enabled()).Has(3) {
		t.Errorf("%d PFC frames, the last % x", len(b.pfc), body)
	}
	b.exec.ClearAll(b.Now())
	b.Run(2000 * us)
	b.end()
}

// The perfect path: nothing is asked and nothing allocated.
func BenchmarkFrame(bb *testing.B) {
	for _, c := range []struct{ name, text string }{{"perfect", ""}, {"loss of others",
		"drop qp 0x11 psn 100"}, {"delay", "delay 1us"}} {
		bb.Run(c.name, func(bb *testing.B) {
			b := newBench(bb)
			if c.text != "" {
				b.fault(0, 0, c.text)
			}
			now := unit.Time(0)
			bb.ReportAllocs()
			for bb.Loop() {
				now += us
				f := b.pool.Get()
				f.Resize(size)
				b.Arrive(b.node, 0, now, f)
				b.Run(now)
				b.got, b.injured = b.got[:0], b.injured[:0]
			}
		})
	}
}
