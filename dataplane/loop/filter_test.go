package loop

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// sieve is a wire whose kernel side is the test: frames get through or are dropped by its hand.
type sieve struct {
	through  []*frame.Frame
	dropped  []Drop
	filtered [classify.Classes]dataplane.Count
	classes  uint8
}

func (w *sieve) Receive(_ *frame.Pool, dst []Arrival) (n int) {
	for ; n < len(dst) && n < len(w.through); n++ {
		dst[n] = Arrival{Frame: w.through[n]}
	}
	w.through = w.through[n:]
	return n
}

func (w *sieve) Dropped() (d Drop, ok bool) {
	if len(w.dropped) == 0 {
		return d, false
	}
	return w.dropped[0], true
}

func (w *sieve) NextDrop() { w.dropped = w.dropped[1:] }

func (w *sieve) SetFilter(classes uint8) error { w.classes = classes; return nil }
func (w *sieve) FD() int                       { return -1 }
func (w *sieve) Send(*frame.Frame) bool        { return false }
func (w *sieve) Flush() error                  { return nil }
func (w *sieve) Stats() WireStats              { return WireStats{} }
func (w *sieve) Close() error                  { return nil }

func (w *sieve) Filtered() [classify.Classes]dataplane.Count { return w.filtered }

// sifted is a port with a told link, and who told.
type sifted struct {
	*sieve
	t     *testing.T
	loop  *Loop
	port  *port
	links clock.Links
	pool  *frame.Pool
	sent  int
	got   [classify.Classes]dataplane.Count // the machine's account
	heard []unit.Time                       // when frames came to it
	hits  int                               // frames that a fault ended
}

// Frames that are sent arrive one after the other, so far apart.
const apart = unit.Time(100)

func newSifted(t *testing.T) *sifted {
	t.Helper()
	s := &sifted{sieve: &sieve{}, t: t, pool: frame.NewPool(64, 256)}
	page := clock.Private(unit.Never)
	var err error
	if s.links, err = clock.NewLinks(page, 1); err != nil {
		t.Fatal(err)
	}
	c, err := clock.NewClock(page, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.loop, err = New(Config{Pool: s.pool, Clock: c, Links: s.links,
		Device: listener{heard: &s.heard, ready: &dataplane.PortSet{}},
		Ports:  []Port{{Name: "p", Wire: s.sieve, TxLink: NoLink, RxLink: 0}},
		Log:    slog.New(slog.DiscardHandler),
		OnFault: func(h fault.Happening) {
			if h.What == fault.Hit && h.Lost {
				s.hits++
			}
		},
		Filtered: func(_ dataplane.PortID, class uint8, n dataplane.Count) {
			s.got[class].Frames += n.Frames
			s.got[class].Bytes += n.Bytes
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.loop.mail.close)
	s.port = s.loop.ports[0]
	if err := s.loop.SetFilter(0, 1<<3|1<<4); err != nil || s.classes != 1<<3|1<<4 {
		t.Fatal("the wire has no filter", err)
	}
	return s
}

// frame is the next frame to be sent, and tells of it.
func (s *sifted) frame(size int) *frame.Frame {
	s.sent++
	f := s.pool.Get()
	f.Set(append([]byte{byte(s.sent)}, make([]byte, size-1)...))
	s.links.Handing(0, []clock.Flight{{At: apart * unit.Time(s.sent),
		Check: clock.CheckOf(f.Bytes())}})
	return f
}

// pass hands a frame to the kernel, which lets it through.
func (s *sifted) pass() { s.through = append(s.through, s.frame(64)) }

// lose hands a frame to the kernel, which loses it.
func (s *sifted) lose() { s.frame(64).Release() }

// drop hands a frame to the kernel, where the program drops it.
func (s *sifted) drop(class uint8, size int) {
	f := s.frame(size)
	s.dropped = append(s.dropped, Drop{Class: class, Check: clock.CheckOf(f.Bytes()),
		Bytes: f.Len()})
	f.Release()
}

// look has the loop see what there is, and go on to at.
func (s *sifted) look(at unit.Time) {
	s.port.receive()
	s.loop.engine.Run(at)
}

// late is when all frames of a test have arrived.
const late = 1000 * apart

// want checks how many frames are on their way, and how many were called lost.
func (s *sifted) want(onTheWay, lost int) {
	s.t.Helper()
	if got := s.links.OnTheWay(0); got != onTheWay {
		s.t.Errorf("%d frames are on their way, want %d", got, onTheWay)
	}
	if got := s.loop.stats.Forgotten; got != uint64(lost) {
		s.t.Errorf("%d frames are lost, want %d", got, lost)
	}
}

// counted checks the machine's account of class 3.
func (s *sifted) counted(frames, bytes uint64) {
	s.t.Helper()
	if want := (dataplane.Count{Frames: frames, Bytes: bytes}); s.got[3] != want {
		s.t.Errorf("the machine heard of %+v, want %+v", s.got[3], want)
	}
}

// idle is a device that keeps nothing.
type idle struct{}

func (idle) Receive(_ unit.Time, _ dataplane.PortID, f *frame.Frame) { f.Release() }
func (idle) Transmit(unit.Time, dataplane.PortID) *frame.Frame       { return nil }
func (idle) Ready() *dataplane.PortSet                               { return &dataplane.PortSet{} }
func (idle) NextWake() unit.Time                                     { return unit.Never }
func (idle) Wake(unit.Time)                                          {}
func (idle) SetLink(now unit.Time, port dataplane.PortID, up bool)   {}
func (idle) Ledger() dataplane.Ledger                                { return dataplane.Ledger{} }

// listener is an idle device that keeps the times of arrivals.
type listener struct {
	idle
	heard *[]unit.Time
	ready *dataplane.PortSet
}

func (d listener) Ready() *dataplane.PortSet { return d.ready }

func (d listener) Receive(now unit.Time, _ dataplane.PortID, f *frame.Frame) {
	*d.heard = append(*d.heard, now)
	f.Release()
}

// TestFilteredFramesHaveArrived: the clock waits for none of them, wherever among the others they
// were, none is called lost, and the others arrive at their own times.
func TestFilteredFramesHaveArrived(t *testing.T) {
	for name, order := range map[string]string{
		"all dropped": "ddd", "the first": "da", "the last": "ad", "in between": "adda",
		"by turns": "dadadad",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSifted(t)
			var drops uint64
			var passed []unit.Time
			for i, c := range order {
				if c == 'a' {
					s.pass()
					passed = append(passed, apart*unit.Time(i+1))
					continue
				}
				s.drop(3, 64)
				drops++
			}
			s.look(late)
			s.want(0, 0)
			s.counted(drops, 64*drops)
			if !slices.Equal(s.heard, passed) {
				t.Errorf("frames came at %v, want %v", s.heard, passed)
			}
		})
	}
}

// TestFilteredFramesCountWhenTheyArrive: however early the loop sees that they were dropped.
// Whoever calls at that moment finds them counted, as all that arrives then.
func TestFilteredFramesCountWhenTheyArrive(t *testing.T) {
	s := newSifted(t)
	s.drop(3, 100)
	s.drop(4, 150)
	s.pass()
	s.drop(3, 200)
	var seen [][2]dataplane.Count
	for at := apart; at <= 4*apart; at += apart {
		for _, at := range []unit.Time{at - 1, at} {
			s.loop.engine.At(at, func(unit.Time) {
				seen = append(seen, [2]dataplane.Count{s.got[3], s.got[4]})
			})
		}
	}
	s.look(0)
	s.want(0, 0)
	s.counted(0, 0)
	s.look(4 * apart)
	var none dataplane.Count
	first, both := dataplane.Count{Frames: 1, Bytes: 100}, dataplane.Count{Frames: 2, Bytes: 300}
	other := dataplane.Count{Frames: 1, Bytes: 150}
	want := [][2]dataplane.Count{{none, none}, {first, none}, {first, none}, {first, other},
		{first, other}, {first, other}, {first, other}, {both, other}}
	if !slices.Equal(seen, want) {
		t.Errorf("samples just before and at each arrival are\n%v, want\n%v", seen, want)
	}
}

// TestTheLoopWaitsForADrop: it decides nothing as late as a frame of which it does not know yet
// whether it was dropped.
func TestTheLoopWaitsForADrop(t *testing.T) {
	s := newSifted(t)
	s.drop(3, 64)
	seen := s.dropped
	s.dropped = nil
	s.look(0)
	if got := s.port.horizon(); got != apart-1 {
		t.Errorf("the loop may go on to %v, and a frame arrives at %v", got, apart)
	}
	s.dropped = seen
	s.look(0)
	if got := s.port.horizon(); got < late {
		t.Errorf("the loop may go on to %v, and there is nothing to come", got)
	}
}

// TestFilteredFrameBehindOneInTheKernel: when a drop can be seen before the frame in front of it,
// nobody may take that one for the dropped.
func TestFilteredFrameBehindOneInTheKernel(t *testing.T) {
	s := newSifted(t)
	s.pass()
	slow := s.through
	s.through = nil // through the program, and not yet in the ring
	s.drop(3, 64)
	s.look(0)
	s.want(2, 0)
	s.through = slow
	s.look(late)
	s.want(0, 0)
	s.counted(1, 64)
	if !slices.Equal(s.heard, []unit.Time{apart}) {
		t.Errorf("the other came at %v", s.heard)
	}
}

// TestFilteredAndLost: what the kernel lost is still told from what the program dropped, and what
// was dropped counts when it should.
func TestFilteredAndLost(t *testing.T) {
	s := newSifted(t)
	s.lose()
	s.drop(3, 64)
	s.lose()
	s.lose()
	s.drop(3, 64)
	s.pass()
	s.look(2*apart - 1)
	s.want(0, 3)
	s.counted(0, 0)
	s.look(2 * apart)
	s.counted(1, 64)
	s.look(5 * apart)
	s.counted(2, 128)
}

// TestALostFrameInFrontOfADrop: nothing comes behind the two, so that the loop gives up on the one
// after a while, and knows the other again.
func TestALostFrameInFrontOfADrop(t *testing.T) {
	s := newSifted(t)
	s.lose()
	s.drop(3, 64)
	s.look(0)
	s.want(2, 0)
	s.loop.mono += patience + 1
	s.look(2*apart - 1)
	s.want(0, 1)
	s.counted(0, 0)
	s.look(2 * apart)
	s.counted(1, 64)
}

// TestTheClockDoesNotWaitForAPortThatIsDown: what the other end sent before it heard of it is given
// up like all that the kernel loses, or time would stand still until the port is back.
func TestTheClockDoesNotWaitForAPortThatIsDown(t *testing.T) {
	s := newSifted(t)
	s.port.down(errors.New("unplugged"))
	s.lose()
	s.look(0)
	s.want(1, 0) // the kernel may be slow
	s.loop.mono += patience + 1
	s.look(0)
	s.want(0, 1)
}

// TestFilteredOfNobodyWhoTells: frames of kinds that no sender tells of are not waited for, and
// count when they are seen.
func TestFilteredOfNobodyWhoTells(t *testing.T) {
	s := newSifted(t)
	s.filtered[3] = dataplane.Count{Frames: 1, Bytes: 100}
	s.dropped = append(s.dropped, Drop{Class: 3, Check: 1, Bytes: 30}) // told of, by its kind
	s.drop(3, 64)
	s.pass()
	s.look(0)
	s.want(0, 0)
	s.counted(2, 130)
	s.look(late)
	s.counted(3, 194)
}

// TestFilterOfANewWire: what the old wire dropped counts when it arrives, although the wire is
// gone. The verdict goes on to the next wire, which counts from nothing.
func TestFilterOfANewWire(t *testing.T) {
	s := newSifted(t)
	s.lose()
	s.drop(3, 64)
	s.filtered[3] = dataplane.Count{Frames: 1, Bytes: 10}
	s.port.down(ErrStopped)
	s.want(0, 1)
	s.counted(1, 10)
	next := &sieve{}
	s.port.Wire = next
	if err := s.port.setFilter(); err != nil || next.classes != 1<<3|1<<4 {
		t.Errorf("the new wire filters %08b", next.classes)
	}
	next.filtered[3] = dataplane.Count{Frames: 1, Bytes: 10}
	s.sieve = next
	s.drop(3, 64)
	s.look(late)
	s.counted(4, 148)
}

// TestFilteredWhileTheLinkIsDown: a fault that takes the link down comes before the machine, which
// would not have heard the frame.
func TestFilteredWhileTheLinkIsDown(t *testing.T) {
	s := newSifted(t)
	down, err := fault.Parse("down")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.loop.Faults().Add(0, fault.Entry{Port: "p", At: time.Duration(2*apart - 1),
		Fault: down}); err != nil {
		t.Fatal(err)
	}
	s.drop(3, 64)
	s.drop(3, 64)
	s.look(late)
	s.counted(1, 64)
	if s.hits != 1 {
		t.Errorf("the fault hit %d frames, want 1", s.hits)
	}
}

// TestFilteringNeedsNoMemory: not for each frame, even if there is never a moment without one.
func TestFilteringNeedsNoMemory(t *testing.T) {
	s := newSifted(t)
	d := Drop{Class: 3, Check: clock.CheckOf([]byte{0}), Bytes: 1}
	list, flight := []Drop{d}, make([]clock.Flight, 1)
	one := func() {
		s.sent++
		flight[0] = clock.Flight{At: apart * unit.Time(s.sent), Check: d.Check}
		s.links.Handing(0, flight)
		s.dropped = list
		s.look(apart * unit.Time(s.sent-50))
	}
	for range 1000 {
		one()
	}
	if n := testing.AllocsPerRun(1000, one); n != 0 {
		t.Errorf("%v allocations for a frame", n)
	}
	if n := len(s.port.filter.due); n > 200 {
		t.Errorf("%d drops are kept, of which 50 are still to come", n)
	}
}
