package cm

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// The random-operation test: two managers, a channel that loses, doubles and swaps messages, and
// applications that connect, accept, refuse, dawdle, disconnect and crash as dice say, in virtual
// time. The oracle is what a connection may be told, and that both ends think the same of it when
// the channel is good again.

// world is one run.
type world struct {
	*lab
	dice   *rand.Rand
	bad    bool // the channel
	flight []parcel
	books  map[*side]map[ID]*book
	todo   []task
	qpn    ib.QPN
	seed   uint64
}

// parcel is a message under way.
type parcel struct {
	at  unit.Time
	to  *side
	mad ib.MAD
}

// task is what an application is going to do.
type task struct {
	at unit.Time
	do func()
}

// book is what one end was told of a connection.
type book struct {
	told   []EventKind
	open   bool // established as far as this end knows
	closed bool // by its application: nothing more may be told
}

// after which events an event may be told; the first of a connection has none before it.
var legal = map[EventKind][]EventKind{
	Requested: nil, Delayed: {Requested, Delayed}, Replied: {Delayed},
	Established: {Requested, Delayed}, Rejected: {Requested, Delayed, Replied},
	Unreachable:  {Requested, Delayed, Replied},
	Disconnected: {Replied, Established, Disconnecting, Requested, Delayed},
	// Requested: a DREQ overtook the RTU.
	Disconnecting: {Replied, Established, Requested, Delayed},
	TimewaitOver:  {Disconnected, Rejected, Unreachable},
}

// first are the events that may be a connection's first at its active end.
var first = []EventKind{Delayed, Replied, Rejected, Unreachable}

func (w *world) book(s *side, id ID) *book {
	b := w.books[s][id]
	if b == nil {
		b = &book{}
		w.books[s][id] = b
	}
	return b
}

// later has an application do something within d.
func (w *world) later(d time.Duration, do func()) {
	w.todo = append(w.todo, task{w.now.Add(time.Duration(w.dice.Int64N(int64(d)))), do})
}

// hear takes an event, checks it, and has the application react.
func (w *world) hear(s *side, e *Event) {
	b := w.book(s, e.ID)
	ok := len(b.told) == 0 && (e.Kind == Requested || slices.Contains(first, e.Kind))
	if len(b.told) > 0 {
		ok = slices.Contains(legal[e.Kind], b.told[len(b.told)-1])
	}
	if b.closed {
		ok = e.Kind == TimewaitOver
	}
	if !ok {
		w.t.Fatalf("seed %d: %v told after %v (closed %v)", w.seed, e.Kind, b.told, b.closed)
	}
	b.told = append(b.told, e.Kind)
	switch e.Kind {
	case Requested:
		w.later(20*time.Second, func() { w.decide(s, e.ID) })
	case Replied:
		w.later(20*time.Second, func() {
			if s.Confirm(w.now, e.ID, nil) == nil {
				b.open = true
				w.live(s, e.ID)
			}
		})
	case Established:
		b.open = true
		w.live(s, e.ID)
	case Disconnecting:
		b.open = false
		w.later(5*time.Second, func() { _ = s.Disconnect(w.now, e.ID, nil) })
	case Disconnected, Rejected, Unreachable:
		b.open = false
	}
}

// decide is a passive application's answer.
func (w *world) decide(s *side, id ID) {
	switch w.dice.IntN(8) {
	case 0:
		_ = s.Reject(w.now, id, Refusal{})
	case 1:
		if s.Delay(w.now, id, 22) == nil {
			w.later(15*time.Second, func() { w.decide(s, id) })
		}
	case 2:
		w.crash(s, id)
	default:
		w.qpn++
		_ = s.Accept(w.now, id, Reply{QP: QP{QPN: w.qpn, PSN: ib.PSN(w.qpn)}})
	}
}

// live is a connection's life: some end by themselves, some are left for the end of the run.
func (w *world) live(s *side, id ID) {
	switch w.dice.IntN(6) {
	case 0, 1:
		w.later(60*time.Second, func() {
			if s.Disconnect(w.now, id, nil) == nil {
				w.book(s, id).open = false
			}
		})
	case 2:
		w.later(60*time.Second, func() { w.crash(s, id) })
	}
}

// crash is the end of an application, whose connections are closed for it.
func (w *world) crash(s *side, id ID) {
	if s.State(id) == Idle {
		return
	}
	s.Close(w.now, id)
	b := w.book(s, id)
	b.closed, b.open = true, false
}

// carry takes what a side sends and decides what becomes of it.
func (w *world) carry(s *side) {
	for m := w.take(s); m != nil; m = w.take(s) {
		copies := 1
		if w.bad {
			switch w.dice.IntN(10) {
			case 0, 1, 2:
				copies = 0
			case 3, 4:
				copies = 2
			}
		}
		for range copies {
			way := time.Millisecond
			if w.bad {
				way += time.Duration(w.dice.Int64N(int64(6 * time.Second)))
			}
			w.flight = append(w.flight, parcel{w.now.Add(way), w.other(s), *m})
		}
	}
}

// step goes on to the next thing that happens, and reports false if there is none before end.
func (w *world) step(end unit.Time) bool {
	for _, s := range []*side{w.a, w.b} {
		w.carry(s)
		for e, ok := s.NextEvent(); ok; e, ok = s.NextEvent() {
			w.hear(s, &e)
		}
	}
	if w.a.Pending() || w.b.Pending() {
		return true
	}
	next := min(w.a.NextWake(), w.b.NextWake())
	for i := range w.flight {
		next = min(next, w.flight[i].at)
	}
	for i := range w.todo {
		next = min(next, w.todo[i].at)
	}
	if next > end || next == unit.Never {
		w.now = max(w.now, min(end, next))
		return false
	}
	w.now = max(w.now, next)
	w.happen()
	return true
}

// happen does what is due now: one parcel or task, or the deadlines.
func (w *world) happen() {
	for i, p := range w.flight {
		if p.at <= w.now {
			w.flight = slices.Delete(w.flight, i, i+1)
			w.give(p.to, &p.mad)
			return
		}
	}
	for i, t := range w.todo {
		if t.at <= w.now {
			w.todo = slices.Delete(w.todo, i, i+1)
			t.do()
			return
		}
	}
	w.a.Wake(w.now)
	w.b.Wake(w.now)
}

func (w *world) until(end unit.Time) {
	for w.step(end) {
	}
}

// agree checks that each end that believes in a connection has its other end.
func (w *world) agree() {
	for _, s := range []*side{w.a, w.b} {
		for id, b := range w.books[s] {
			if b.open != (s.State(id) == Running) {
				w.t.Fatalf("seed %d: told %v, and is %v", w.seed, b.told, s.State(id))
			}
			if !b.open {
				continue
			}
			c := s.conns[id]
			o := w.other(s).conns[ID(c.peerID)]
			if o == nil || o.state != Running || ID(o.peerID) != id {
				w.t.Fatalf("seed %d: %08x has no other end: told %v", w.seed, uint32(id), b.told)
			}
			mine, _ := s.Attributes(id)
			its, _ := w.other(s).Attributes(o.id)
			if mine.SendPSN != its.ReceivePSN || mine.ReceivePSN != its.SendPSN ||
				mine.Remote != its.Local || mine.Local != its.Remote {
				w.t.Fatalf("seed %d: %+v and %+v", w.seed, mine, its)
			}
		}
	}
}

// play is one run from a seed.
func play(t testing.TB, seed uint64) (established int) {
	w := &world{lab: newLab(t, func(c *Config) { c.Random = rand.NewPCG(seed, c.GUID) }),
		dice: rand.New(rand.NewPCG(seed, 9)), bad: true, seed: seed, qpn: 100}
	w.books = map[*side]map[ID]*book{w.a: {}, w.b: {}}
	w.must(w.a.Listen(testService, 4))
	w.must(w.b.Listen(testService, 4))
	for range 8 {
		s := []*side{w.a, w.b}[w.dice.IntN(2)]
		w.later(60*time.Second, func() {
			r := w.request()
			w.qpn++
			r.Path, r.QP = w.path(s), QP{QPN: w.qpn, PSN: ib.PSN(w.qpn)}
			id, err := s.Connect(w.now, r)
			w.must(err)
			w.book(s, id)
		})
	}
	w.until(unit.Time(2 * time.Minute))
	w.bad = false
	w.until(unit.Time(30 * time.Minute)) // longer than 15 repetitions after an MRA
	w.agree()
	for _, s := range []*side{w.a, w.b} {
		for _, id := range sorted(w.books[s]) {
			if slices.ContainsFunc(w.books[s][id].told,
				func(k EventKind) bool { return k == Replied }) {
				established++
			}
			if s.State(id) == Running {
				w.must(s.Disconnect(w.now, id, nil))
				w.book(s, id).open = false
			}
		}
	}
	w.until(unit.Time(2 * time.Hour))
	w.agree()
	for _, s := range []*side{w.a, w.b} {
		if why := s.leak(); why != "" {
			t.Fatalf("seed %d: %s", seed, why)
		}
	}
	return established
}

func sorted(m map[ID]*book) (ids []ID) {
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// replay is the seed of one run, to see it again.
var replay = flag.Uint64("seed", 0, "play the model only from this seed")

// Thousands of runs, each of eight connections. One again: go test ./roce/cm -run Model -seed N.
func TestModel(t *testing.T) {
	if *replay != 0 {
		play(t, *replay)
		return
	}
	runs, established := 4000, 0
	if testing.Short() {
		runs = 400
	}
	for seed := range runs {
		established += play(t, uint64(seed+1))
	}
	if established < runs*3 {
		t.Errorf("only %d connections came about in %d runs", established, runs)
	}
}

// FuzzModel lets the fuzzer look for a seed.
func FuzzModel(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { play(t, seed) })
}
