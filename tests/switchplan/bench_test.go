package switchplan

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// card says what a case is: where hardware people know it from, and what it runs on.
type card struct {
	plan   *plan
	name   string // as in the plan
	checks string // in words, for the matrix
	config func(c *pipeline.Config)
	// response is how long the tester takes to obey a PFC frame.
	response time.Duration
}

// bench is a case at work: the two devices on a bed, with what the case asks of them.
type bench struct {
	*testing.T
	bed
	setup
	card card
	row  *row
	mode mode

	events  []pipeline.Event // of the switch; to be read when time stands still
	samples []uint64         // taken on the way, and to be equal on both beds
	reached unit.Time
	ended   bool
	spoilt  bool // frames were damaged on the way on purpose
}

// mode is which of the two beds a case runs on.
type mode int

const (
	inVirtualTime mode = iota
	onRealFrames
	modes
)

var modeNames = [modes]string{"virtual time", "real frames"}

// conform runs a case on both beds.
func conform(t *testing.T, c card, run func(b *bench)) {
	t.Helper()
	if !slices.Contains(c.plan.cases, c.name) {
		t.Fatalf("the plan %s does not list %s", c.plan.title, c.name)
	}
	r := c.plan.row(c.name, c.checks)
	t.Run(modeNames[inVirtualTime], func(t *testing.T) { play(t, c, r, inVirtualTime, run) })
	t.Run(modeNames[onRealFrames], func(t *testing.T) {
		needReal(t)
		play(t, c, r, onRealFrames, run)
		// What the case ran on both beds came first; a search in virtual time may follow.
		for i, real := range r.digests[onRealFrames] {
			if !slices.Equal(real, r.digests[inVirtualTime][i]) {
				t.Errorf("bed %d: real frames are not those of virtual time, or not when they"+
					" should be", i)
			}
		}
	})
}

// The pools cover all that the switch can store and the tester can send at a time.
const poolFrames = 8192

func play(t *testing.T, c card, r *row, m mode, run func(b *bench)) {
	t.Helper()
	r.begin(m)
	defer func() { r.failed[m] = t.Failed() }()
	trial(t, c, r, m, run)
}

// trial runs a case once on a bed of its own.
func trial(t *testing.T, c card, r *row, m mode, run func(b *bench)) {
	t.Helper()
	cfg := baseConfig()
	if c.config != nil {
		c.config(&cfg)
	}
	b := &bench{T: t, card: c, row: r, mode: m, setup: newSetup(t, &cfg, c.response)}
	if m == inVirtualTime {
		b.bed = newVirtual(t, &b.setup)
	} else {
		b.bed = newRealFrames(t, &b.setup)
	}
	defer b.end(false)
	b.do(theSwitch, func(unit.Time) {
		b.sw.SetNotify(func(e pipeline.Event) { b.events = append(b.events, e) })
		b.sw.SetVerdict(func(port dataplane.PortID, _ pfc.Set) { b.enforce(port) })
	})
	run(b)
	b.end(true)
}

// end stops the bed, once. A case that came to its end has its accounts checked.
func (b *bench) end(check bool) {
	b.Helper()
	if b.ended {
		return
	}
	b.ended = true
	if !check {
		b.stop()
		return
	}
	b.settle()
	if n := b.lost(); n != 0 {
		b.Errorf("the emulator lost %d frames", n)
	}
	b.stop()
	b.balance()
	if !b.spoilt {
		b.row.digests[b.mode] = append(b.row.digests[b.mode],
			append(digest(b.tester), b.samples...))
		collect(b.tester)
	}
}

// digest sums up every frame that arrived, by port, with the time.
func digest(t *tester) (sums []uint64) {
	for i := range t.ports {
		h := fnv.New64a()
		for _, a := range t.ports[i].arrivals {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(a.at)))
			h.Write(a.bytes)
		}
		sums = append(sums, h.Sum64())
	}
	return sums
}

// again runs something else on another bed of the same kind, with a configuration that is changed
// further. It ends the bed of b, because beds on real frames share the cables.
func (b *bench) again(change func(c *pipeline.Config), run func(b *bench)) {
	b.Helper()
	b.end(true)
	c := b.card
	before := c.config
	c.config = func(cfg *pipeline.Config) {
		if before != nil {
			before(cfg)
		}
		change(cfg)
	}
	trial(b.T, c, b.row, b.mode, run)
}

func newSetup(t *testing.T, cfg *pipeline.Config, response time.Duration) setup {
	t.Helper()
	s := setup{cfg: cfg, delay: linkDelay}
	for n := range s.pools {
		s.pools[n] = frame.NewPool(poolFrames, frameSize)
	}
	s.tester = newTester(cfg.Ports, response, s.pools[theTester])
	var err error
	if s.sw, err = pipeline.New(*cfg, s.pools[theSwitch]); err != nil {
		t.Fatal(err)
	}
	if cfg.Router == nil {
		for i := range cfg.Ports {
			if err := s.sw.MACs().AddStatic(station(i).mac(), dataplane.PortID(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// send gives the tester streams.
func (b *bench) send(streams ...stream) {
	b.Helper()
	b.do(theTester, func(now unit.Time) {
		for _, s := range streams {
			b.tester.add(now, s)
		}
	})
}

// run lets time go by until then. Afterwards it stands still, on real frames a little later: less
// than the delay of a link, so that nothing that a case does next comes too late.
func (b *bench) run(until unit.Time) {
	b.Helper()
	b.bed.run(until)
	b.reached = until
}

// now is the time to which the case has run. It is the same on both beds.
func (b *bench) now() unit.Time { return b.reached }

// cut ends all streams.
func (b *bench) cut() {
	b.do(theTester, func(unit.Time) {
		for i := range b.tester.ports {
			b.tester.ports[i].streams = nil
		}
	})
}

// sample looks at the switch again and again while each frame of a stream is on its way. What is
// seen must be the same on both beds.
func (b *bench) sample(s stream, look func(*pipeline.Snapshot) uint64) {
	b.Helper()
	const step = 100 * time.Nanosecond
	for i := range s.count {
		sent := s.at.Add(time.Duration(i) * s.every)
		for at := sent; at < sent.Add(2*b.delay); at = at.Add(step) {
			b.at(at, theSwitch, func(now unit.Time) {
				var seen pipeline.Snapshot
				b.sw.Snapshot(now, &seen)
				b.samples = append(b.samples, look(&seen))
			})
		}
	}
}

// snapshot is what the switch shows now.
func (b *bench) snapshot() *pipeline.Snapshot {
	var s pipeline.Snapshot
	b.do(theSwitch, func(now unit.Time) { b.sw.Snapshot(now, &s) })
	return &s
}

// arrivals is what the tester has received on a port, without and with PFC frames.
func (b *bench) arrivals(port int) (data, control []arrival) {
	b.do(theTester, func(unit.Time) {
		for _, a := range b.tester.ports[port].arrivals {
			if a.class.Kind == frame.PFC {
				control = append(control, a)
			} else {
				data = append(data, a)
			}
		}
	})
	return data, control
}

// stored is all that a group stores.
func stored(s *pipeline.Snapshot, port int, g mmu.PG) unit.Bytes {
	u := &s.Ports[port].Groups[g]
	return u.Reserved + u.Shared + u.Headroom
}

// settle lets everything that is on a wire arrive. What is stored for a paused port stays.
func (b *bench) settle() {
	b.Helper()
	const attempts = 50
	for range attempts {
		var idle bool
		b.do(theTester, func(unit.Time) { idle = b.tester.idle() })
		if idle && b.agree() {
			return
		}
		b.run(b.now().Add(20 * b.delay))
	}
	b.Errorf("frames are still on their way: switch %+v, tester %+v", b.sw.Ledger(),
		b.tester.ledger)
}

// agree reports whether everything that one device sent has reached the other.
func (b *bench) agree() bool {
	var s, t dataplane.Ledger
	b.do(theSwitch, func(unit.Time) { s = b.sw.Ledger() })
	b.do(theTester, func(unit.Time) { t = b.tester.Ledger() })
	if b.wasted(theSwitch)+b.wasted(theTester) == 0 {
		return s.Sent == t.Received && t.Sent == s.Received
	}
	return s.Sent.Frames == t.Received.Frames+b.wasted(theSwitch) &&
		t.Sent.Frames == s.Received.Frames+b.wasted(theTester)
}

// balance looks at the accounts when all is over.
func (b *bench) balance() {
	b.Helper()
	for n := range nodes {
		l := b.device(n).Ledger()
		if err := l.Check(); err != nil {
			b.Errorf("device %d: %v", n, err)
		}
	}
	// In virtual time the frames that the switch stores are the tester's.
	stored := b.sw.Ledger().Buffered.Frames
	used := b.pools[theSwitch].InUse() + b.pools[theTester].InUse()
	if uint64(used) != stored {
		b.Errorf("%d frames are in use, the switch stores %d", used, stored)
	}
}

// equal checks a number of ours against the one that the configuration gives, and puts both into
// the matrix.
func (b *bench) equal(what string, got, want any) {
	b.Helper()
	g, w := fmt.Sprint(got), fmt.Sprint(want)
	b.row.note(b.mode, figure{what, w, g})
	if g != w {
		b.Errorf("%s: %s, the configuration says %s", what, g, w)
	}
}

// near is equal for a number that may differ by a part of itself.
func (b *bench) near(what string, got, want, part float64) {
	b.Helper()
	limit := math.Abs(want * part)
	b.row.note(b.mode, figure{what, fmt.Sprintf("%.4g ± %.2g", want, limit), format(got)})
	if !(math.Abs(got-want) <= limit) {
		b.Errorf("%s: %g, the configuration says %g ± %g", what, got, want, limit)
	}
}

// soon is equal for a time.
func (b *bench) soon(what string, got, want time.Duration) {
	b.Helper()
	b.row.note(b.mode, figure{what, want.String(), got.String()})
	if (got - want).Abs() > grain {
		b.Errorf("%s: %v, the configuration says %v", what, got, want)
	}
}

func format(f float64) string { return fmt.Sprintf("%.4g", f) }

// grain is by how much a time may be off, on either bed: the rounding of a computed time. Real
// frames arrive when virtual time says so (dataplane/loop).
const grain = 2 * time.Nanosecond

// onWire is how long a frame of n bytes occupies a link.
func onWire(n unit.Bytes, r unit.Rate) time.Duration {
	var s unit.Serial
	return s.Time(wire.OnLine(n), r)
}
