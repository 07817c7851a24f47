package pfc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// refreshPart is the part of an announced pause after which it is announced again: half, so that
// the other end hears of it twice before it runs on, and one lost frame does no harm.
const refreshPart = 2

// GeneratorConfig is the constant part of a Generator.
type GeneratorConfig struct {
	Source wire.MAC  // of the frames it builds
	Rate   unit.Rate // of the link
	Quanta uint16    // time in an XOFF; 0 is the longest, wire.MaxQuanta
}

// Generator tells the other end of a link which priorities to hold back.
//
// What is wanted (by XOFF and XON) and what the other end has been told (by Build) are two sets:
// where they differ, or an announced pause is about to end, a frame is pending. An XOFF taken
// back before its frame left costs no frame.
type Generator struct {
	cfg GeneratorConfig

	asked     Set // by XOFF
	storm     Set
	silent    Set
	wanted    Set // what these three come to
	announced Set
	refresh   unit.Time // when the announced pauses are to be announced again, or Never
	due       bool      // that time has come
	since     [wire.Priorities]unit.Time
	counters  GeneratorCounters
}

// GeneratorCounters is what a Generator counted, by priority.
type GeneratorCounters struct {
	Frames [wire.Priorities]uint64        // PFC frames with the class enabled
	Paused [wire.Priorities]time.Duration // from announcing XOFF to announcing XON, up to now
}

// NewGenerator returns the generator of a link.
func NewGenerator(cfg GeneratorConfig) Generator {
	if cfg.Quanta == 0 {
		cfg.Quanta = wire.MaxQuanta
	}
	return Generator{cfg: cfg, refresh: unit.Never}
}

// XOFF asks that p be held back.
func (g *Generator) XOFF(p Priority) {
	g.asked = g.asked.With(p)
	g.decide()
}

// XON asks that p run.
func (g *Generator) XON(p Priority) {
	g.asked = g.asked.Without(p)
	g.decide()
}

// Storm holds these priorities back, without a gap, whatever is asked until EndStorm: what a NIC
// does whose receive pipeline is stuck. [RDMA at scale] section 4.3
func (g *Generator) Storm(priorities Set) {
	g.storm = priorities
	g.decide()
}

// EndStorm goes back to what is asked.
func (g *Generator) EndStorm() { g.Storm(0) }

// Silence lets these priorities, and no others, not be held back whatever is asked, also not by a
// storm: what a watchdog does to them. What was announced is taken back.
func (g *Generator) Silence(priorities Set) {
	g.silent = priorities
	g.decide()
}

func (g *Generator) decide() { g.wanted = (g.asked | g.storm) &^ g.silent }

// Wanted is the set of priorities that shall be held back.
func (g *Generator) Wanted() Set { return g.wanted }

// Since is when the pause of p that goes on was announced; only for priorities that are.
func (g *Generator) Since(p Priority) unit.Time { return g.since[p] }

// Announced is the set of priorities that the other end was told to hold back.
func (g *Generator) Announced() Set { return g.announced }

// Pending reports whether there is a frame to send. It goes before all other frames, because the
// headroom of the buffer counts on it.
func (g *Generator) Pending(now unit.Time) bool {
	return g.wanted != g.announced || g.due || now >= g.refresh
}

// Build makes f the pending frame: XOFF for every priority that is wanted held back, so that one
// timer serves all, and XON for those announced that are not. It reports false, changing nothing,
// if f is too small.
func (g *Generator) Build(now unit.Time, f *frame.Frame) bool {
	var b wire.ControlFrame
	b.Init(g.cfg.Source, wire.OpPFC)
	body := b.PFC()
	enabled := g.wanted | g.announced
	body.SetEnabled(uint8(enabled))
	for s := g.wanted; s != 0; s &= s - 1 {
		body.SetQuanta(uint8(s.first()), g.cfg.Quanta)
	}
	if !f.Set(b[:]) {
		return false
	}
	f.Meta.Class = frame.Class{Kind: frame.PFC}
	for s := enabled; s != 0; s &= s - 1 {
		g.counters.Frames[s.first()]++
	}
	g.announce(now)
	return true
}

func (g *Generator) announce(now unit.Time) {
	for s := g.wanted &^ g.announced; s != 0; s &= s - 1 {
		g.since[s.first()] = now
	}
	for s := g.announced &^ g.wanted; s != 0; s &= s - 1 {
		p := s.first()
		g.counters.Paused[p] += now.Sub(g.since[p])
	}
	g.announced = g.wanted
	g.refresh, g.due = unit.Never, false
	if g.wanted != 0 {
		g.refresh = now.Add(Duration(g.cfg.Quanta, g.cfg.Rate) / refreshPart)
	}
}

// NextWake is when announced pauses must be announced again.
func (g *Generator) NextWake() unit.Time { return g.refresh }

// Wake makes a frame pending if it is time to announce again.
func (g *Generator) Wake(now unit.Time) {
	if now >= g.refresh {
		g.refresh, g.due = unit.Never, true
	}
}

// Reset forgets what was announced, as when the link goes down: the other end has too. What is
// wanted stays wanted.
func (g *Generator) Reset(now unit.Time) {
	for s := g.announced; s != 0; s &= s - 1 {
		p := s.first()
		g.counters.Paused[p] += now.Sub(g.since[p])
	}
	g.announced, g.refresh, g.due = 0, unit.Never, false
}

// Counters returns the counters, with the pauses that go on counted up to now.
func (g *Generator) Counters(now unit.Time) GeneratorCounters {
	c := g.counters
	for s := g.announced; s != 0; s &= s - 1 {
		p := s.first()
		c.Paused[p] += now.Sub(g.since[p])
	}
	return c
}
