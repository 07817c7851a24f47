package loop

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// sieve is a wire whose kernel side is the test: frames get through or are dropped by its hand.
type sieve struct {
	through  []*frame.Frame
	filtered Filtered
	classes  uint8
}

func (w *sieve) Receive(_ *frame.Pool, dst []Arrival) (n int) {
	for ; n < len(dst) && n < len(w.through); n++ {
		dst[n] = Arrival{Frame: w.through[n]}
	}
	w.through = w.through[n:]
	return n
}

func (w *sieve) drop(class, bytes int, told bool) {
	n := &w.filtered.Classes[class]
	n.Frames, n.Bytes = n.Frames+1, n.Bytes+uint64(bytes)
	if told {
		w.filtered.Told++
	}
}

func (w *sieve) SetFilter(classes uint8) error { w.classes = classes; return nil }
func (w *sieve) Filtered() Filtered            { return w.filtered }
func (w *sieve) FD() int                       { return -1 }
func (w *sieve) Send(*frame.Frame) bool        { return false }
func (w *sieve) Flush() error                  { return nil }
func (w *sieve) Stats() WireStats              { return WireStats{} }
func (w *sieve) Close() error                  { return nil }

// sifted is a port with a told link, and who told.
type sifted struct {
	*sieve
	t     *testing.T
	port  *port
	links clock.Links
	pool  *frame.Pool
	sent  int
	got   dataplane.Count // the machine's account of class 3
}

func newSifted(t *testing.T) *sifted {
	t.Helper()
	s := &sifted{sieve: &sieve{}, t: t, pool: frame.NewPool(64, 64)}
	page := clock.Private(unit.Never)
	var err error
	if s.links, err = clock.NewLinks(page, 1); err != nil {
		t.Fatal(err)
	}
	c, err := clock.NewClock(page, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Device: idle{}, Pool: s.pool, Clock: c, Links: s.links,
		Ports: []Port{{Name: "p", Wire: s.sieve, TxLink: NoLink, RxLink: 0}},
		Log:   slog.New(slog.DiscardHandler),
		Filtered: func(_ dataplane.PortID, class uint8, n dataplane.Count) {
			if class == 3 {
				s.got.Frames, s.got.Bytes = s.got.Frames+n.Frames, s.got.Bytes+n.Bytes
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.mail.close)
	s.port = l.ports[0]
	if err := l.SetFilter(0, 1<<3); err != nil || s.classes != 1<<3 {
		t.Fatal("the wire has no filter", err)
	}
	return s
}

// send hands a frame to the kernel, which drops it or lets it through.
func (s *sifted) send(dropped bool) {
	s.sent++
	f := s.pool.Get()
	f.Set([]byte{byte(s.sent), 63: 0})
	s.links.Handing(0, []clock.Flight{{At: unit.Time(s.sent),
		Check: clock.CheckOf(f.Bytes())}})
	if dropped {
		s.drop(3, int(f.Len()), true)
		f.Release()
		return
	}
	s.through = append(s.through, f)
}

func (s *sifted) want(onTheWay int) {
	s.t.Helper()
	s.port.receive()
	if got := s.links.OnTheWay(0); got != onTheWay {
		s.t.Errorf("%d frames are on their way, want %d", got, onTheWay)
	}
	if got := s.port.loop.stats.Forgotten; got != 0 {
		s.t.Errorf("%d frames are lost", got)
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

// TestFilteredFramesHaveArrived: the clock waits for none of them, wherever among the others they
// were, and none is called lost.
func TestFilteredFramesHaveArrived(t *testing.T) {
	for name, order := range map[string]string{
		"all dropped": "ddd", "the first": "da", "the last": "ad", "in between": "adda",
		"by turns": "dadadad",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSifted(t)
			drops := uint64(0)
			for _, c := range order {
				s.send(c == 'd')
				if c == 'd' {
					drops++
				}
			}
			s.want(0)
			if s.got != (dataplane.Count{Frames: drops, Bytes: 64 * drops}) {
				t.Errorf("the machine heard of %+v, want %d frames", s.got, drops)
			}
		})
	}
}

// TestFilteredFrameBehindOneInTheKernel: when a drop can be seen before the frame in front of it,
// nobody may take that one for the dropped.
func TestFilteredFrameBehindOneInTheKernel(t *testing.T) {
	s := newSifted(t)
	s.send(false)
	late := s.through
	s.through = nil // through the program, and not yet in the ring
	s.send(true)
	s.want(2)
	s.through = late
	s.want(0)
}

// TestFilteredAndLost: what the kernel lost is still told from what the program dropped.
func TestFilteredAndLost(t *testing.T) {
	s := newSifted(t)
	s.send(true)
	s.send(false)
	s.through[0].Release()
	s.through = nil // lost
	s.send(false)
	s.port.receive()
	if got := s.port.loop.stats.Forgotten; got != 1 || s.links.OnTheWay(0) != 0 {
		t.Errorf("%d lost, %d on their way; want 1 and 0", got, s.links.OnTheWay(0))
	}
}

// TestTheClockDoesNotWaitForAPortThatIsDown: what the other end sent before it heard of it is given
// up like all that the kernel loses, or time would stand still until the port is back.
func TestTheClockDoesNotWaitForAPortThatIsDown(t *testing.T) {
	s := newSifted(t)
	s.port.down(errors.New("unplugged"))
	s.send(false)
	s.through[0].Release()
	s.port.receive()
	if n := s.links.OnTheWay(0); n != 1 {
		t.Errorf("%d on their way, want 1: the kernel may be slow", n)
	}
	s.port.loop.mono += patience + 1
	s.port.receive()
	if got := s.port.loop.stats.Forgotten; got != 1 || s.links.OnTheWay(0) != 0 {
		t.Errorf("%d lost, %d on their way; want 1 and 0", got, s.links.OnTheWay(0))
	}
}

// TestFilteredOfNobodyWhoTells: frames of kinds that no sender tells of are not waited for.
func TestFilteredOfNobodyWhoTells(t *testing.T) {
	s := newSifted(t)
	s.drop(3, 100, false)
	s.send(true)
	s.send(false)
	s.want(0)
	if s.got != (dataplane.Count{Frames: 2, Bytes: 164}) {
		t.Errorf("the machine heard of %+v", s.got)
	}
}

// TestFilterOfANewWire: the verdict goes on to the next wire, which counts from nothing.
func TestFilterOfANewWire(t *testing.T) {
	s := newSifted(t)
	s.send(true)
	s.port.down(ErrStopped)
	if s.got.Frames != 1 {
		t.Errorf("the machine heard of %+v", s.got)
	}
	next := &sieve{}
	s.port.Wire = next
	if err := s.port.setFilter(); err != nil || next.classes != 1<<3 {
		t.Errorf("the new wire filters %08b", next.classes)
	}
	next.drop(3, 64, false)
	s.port.receive()
	if s.got.Frames != 2 {
		t.Errorf("the machine heard of %+v", s.got)
	}
}
