package fault

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

const us = unit.Time(time.Microsecond)

// stand is a driver with two ports, a and b, that are the two ends of a link.
type stand struct {
	now   unit.Time
	calls []call
	ports map[string]*standPort
	exec  *Executor
	told  []string
}

type call struct {
	at unit.Time
	fn func(unit.Time)
}

type standPort struct {
	wire  *link.Sender
	state State
}

func (p *standPort) Link() *link.Sender { return p.wire }
func (p *standPort) SetState(s State)   { p.state = s }

func newStand() *stand {
	s := &stand{ports: map[string]*standPort{}}
	for _, name := range []string{"a", "b"} {
		s.ports[name] = &standPort{wire: link.NewSender(link.Config{Rate: 100 * unit.GbPerSecond})}
	}
	s.exec = NewExecutor(s, func(h Happening) {
		s.told = append(s.told, fmt.Sprintf("%v %d %d", h.At, h.What, h.Fault.ID))
	})
	return s
}

func (s *stand) At(at unit.Time, fn func(unit.Time)) { s.calls = append(s.calls, call{at, fn}) }

func (s *stand) Place(name string) (Place, error) {
	switch name {
	case "a":
		return Place{s.ports["a"], s.ports["b"]}, nil
	case "b":
		return Place{s.ports["b"], s.ports["a"]}, nil
	}
	return Place{}, errors.New("no port " + name)
}

// run calls what is due, in the order of time.
func (s *stand) run(until unit.Time) {
	for {
		next := -1
		for i, c := range s.calls {
			if c.at <= until && (next < 0 || c.at < s.calls[next].at) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		c := s.calls[next]
		s.calls = slices.Delete(s.calls, next, next+1)
		s.now = c.at
		c.fn(c.at)
	}
	s.now = until
}

func (s *stand) add(t interface{ Fatal(...any) }, port, text string, at, d time.Duration) int {
	spec, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.exec.Add(s.now, Entry{Port: port, Fault: spec, At: at, For: d})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestFaultsBeginAndEnd(t *testing.T) {
	s := newStand()
	s.add(t, "a", "loss 0.5", 5*time.Microsecond, 10*time.Microsecond)
	s.add(t, "a", "rate 10Gb/s", 0, 0)
	a := s.ports["a"]
	if a.wire.Faulty() || a.wire.Rate() != 10*unit.GbPerSecond {
		t.Errorf("at the start: faulty %v, %v", a.wire.Faulty(), a.wire.Rate())
	}
	s.run(5 * us)
	if !a.wire.Faulty() {
		t.Error("the loss has not begun")
	}
	s.run(15 * us)
	if a.wire.Faulty() {
		t.Error("the loss has not ended")
	}
	if err := s.exec.Clear(s.now, 2); err != nil || a.wire.Rate() != 100*unit.GbPerSecond {
		t.Errorf("rate %v after clearing: %v", a.wire.Rate(), err)
	}
	want := []string{"0s 0 2", "5µs 0 1", "15µs 1 1", "15µs 1 2"}
	if !slices.Equal(s.told, want) {
		t.Errorf("told %q, want %q", s.told, want)
	}
	if err := s.exec.Clear(s.now, 2); err == nil {
		t.Error("cleared twice")
	}
}

// A fault that is cleared before it begins never does.
func TestClearedBefore(t *testing.T) {
	s := newStand()
	id := s.add(t, "a", "down", 5*time.Microsecond, 0)
	if err := s.exec.Clear(us, id); err != nil {
		t.Fatal(err)
	}
	s.run(10 * us)
	if s.ports["a"].state != (State{}) || s.exec.List()[0].Phase != Ended {
		t.Errorf("%+v, %+v", s.ports["a"].state, s.exec.List())
	}
}

// A link is down at both ends; a storm and a frozen port are at one.
func TestWhichEnds(t *testing.T) {
	s := newStand()
	s.add(t, "a", "down", 0, 0)
	s.add(t, "a", "storm 3", 0, 0)
	s.add(t, "a", "freeze", 0, 0)
	a, b := s.ports["a"].state, s.ports["b"].state
	if a.Down != 1 || b.Down != 1 || !a.Frozen || b.Frozen || a.Storm != pfc.SetOf(3) ||
		b.Storm != 0 || a.StormBy != 2 {
		t.Errorf("a %+v, b %+v", a, b)
	}
	if n := s.exec.ClearAll(0); n != 3 || s.ports["a"].state != (State{}) ||
		s.ports["b"].state != (State{}) {
		t.Errorf("%d cleared, a %+v", n, s.ports["a"].state)
	}
}

func TestWhatCannotBeAdded(t *testing.T) {
	s := newStand()
	down := Spec{Kind: Down}
	for want, e := range map[string]Entry{
		"no port c":              {Port: "c", Fault: down},
		"no port":                {Fault: down},
		"no fault":               {Port: "a"},
		"must not be negative":   {Port: "a", Fault: down, At: -1},
		"at and for must not be": {Port: "a", Fault: down, For: -1},
	} {
		if _, err := s.exec.Add(0, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", e, err, want)
		}
	}
	for range frame.MaxFaults {
		s.add(t, "a", "freeze", time.Second, 0)
	}
	if _, err := s.exec.Add(0, Entry{Port: "a", Fault: down}); err == nil ||
		!strings.Contains(err.Error(), "clear some") {
		t.Errorf("one too many: %v", err)
	}
}

// What a frame remembers is told once for each fault, and counted.
func TestHits(t *testing.T) {
	s := newStand()
	s.add(t, "a", "corrupt 0.5", 0, 0)
	s.add(t, "a", "delay 1us", 0, 0)
	s.add(t, "a", "dup every 3", 0, 0)
	s.told = nil
	f := frame.NewPool(1, 64).Get()
	f.Meta.Faults = 1 | 2 | 4
	s.exec.Hit(7, f, false)
	if want := []string{"7ns 2 1", "7ns 2 3"}; !slices.Equal(s.told, want) {
		t.Errorf("told %v, want %v: a delay of everything is counted alone", s.told, want)
	}
	for _, st := range s.exec.List() {
		if st.Hits != 1 {
			t.Errorf("%+v", st)
		}
	}
	const want = `fault=corrupt rule="corrupt 0.5" id=1; fault=dup rule="dup every 3" id=3`
	if got := s.exec.Comment(1 | 4); got != want {
		t.Errorf("comment %q, want %q", got, want)
	}
}

// Whatever overlaps, a port is at each moment what the faults that are active then make of it, and
// sound when all are over; and the list is bounded.
func TestOverlappingFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStand()
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if len(active(s, Pending))+len(active(s, Active)) == frame.MaxFaults {
					return
				}
				text := rapid.SampledFrom([]string{"down", "freeze", "storm 3", "storm 4,5",
					"rate 1Gb/s", "rate 2Gb/s", "loss 0.5"}).Draw(t, "fault")
				at := time.Duration(s.now) + time.Duration(rapid.IntRange(0, 20).Draw(t, "in"))
				s.add(t, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "port"), text, at,
					time.Duration(rapid.IntRange(0, 20).Draw(t, "for")))
			},
			"clear": func(t *rapid.T) {
				if all := active(s, Active); len(all) > 0 {
					one := rapid.SampledFrom(all).Draw(t, "one")
					if err := s.exec.Clear(s.now, one.ID); err != nil {
						t.Fatal(err)
					}
				}
			},
			"wait": func(t *rapid.T) {
				s.run(s.now + unit.Time(rapid.IntRange(1, 9).Draw(t, "ns")))
			},
			"": func(t *rapid.T) { s.compare(t) },
		})
		s.exec.ClearAll(s.now)
		s.compare(t)
		for name, p := range s.ports {
			if p.state != (State{}) || p.wire.Faulty() || p.wire.Rate() != p.wire.Config().Rate {
				t.Fatalf("%s: %+v when all is over", name, p.state)
			}
		}
	})
}

func active(s *stand, phase Phase) (list []Status) {
	for _, st := range s.exec.List() {
		if st.Phase == phase {
			list = append(list, st)
		}
	}
	return list
}

// compare works out what the ports are from nothing but the list.
func (s *stand) compare(t *rapid.T) {
	if n := len(s.exec.List()); n > keptEnded+frame.MaxFaults {
		t.Fatalf("%d faults are listed", n)
	}
	for name, p := range s.ports {
		var down, frozen, lossy bool
		var storm pfc.Set
		rate, began := p.wire.Config().Rate, unit.Time(-1)
		for _, st := range active(s, Active) {
			if st.Begin > s.now || st.End <= s.now {
				t.Fatalf("at %v fault %+v is active", s.now, st)
			}
			f := &st.Entry.Fault
			down = down || f.Kind == Down
			if st.Entry.Port != name {
				continue
			}
			frozen = frozen || f.Kind == Freeze
			lossy = lossy || f.Kind == Loss
			storm |= f.Storm
			if f.Kind == Rate && st.Begin >= began {
				rate, began = f.Rate, st.Begin
			}
		}
		got := p.state
		if (got.Down != 0) != down || got.Frozen != frozen || got.Storm != storm ||
			p.wire.Faulty() != lossy || p.wire.Rate() != rate {
			t.Fatalf("at %v %s is %+v, faulty %v, %v; want down %v, frozen %v, storm %v, "+
				"lossy %v, %v", s.now, name, got, p.wire.Faulty(), p.wire.Rate(), down, frozen,
				storm, lossy, rate)
		}
	}
}

// realFrames are those of a real peer that package ib keeps, see the notes there.
func realFrames(t testing.TB) (list [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../../roce/ib/testdata/*.pcap")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := pcapgo.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		for b, _, err := r.ReadPacketData(); err == nil; b, _, err = r.ReadPacketData() {
			list = append(list, b)
		}
	}
	return list
}

// A description has what a person looks for in the capture.
func TestDescribe(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range realFrames(t) {
		seen[Describe(b)] = true
	}
	for _, want := range []string{
		"roce4, 1082 bytes, 10.9.0.2 > 10.9.0.1, ipid 0xffb9, RDMA_WRITE_LAST qp 0x11 psn 674588",
	} {
		if !seen[want] {
			t.Errorf("no %q in %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// FuzzDescribe: whatever the bytes, there is a description of them, and the rules judge them.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add(wiretest.PFC(1, map[uint8]uint16{3: 0xffff}))
	for _, b := range realFrames(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 2000 {
			return
		}
		if !strings.Contains(Describe(b), fmt.Sprintf("%d bytes", len(b))) {
			t.Error(Describe(b))
		}
		s := link.NewSender(link.Config{Rate: unit.GbPerSecond})
		for _, text := range []string{"drop qp 1", "corrupt 0.5", "mark dscp 0", "corrupt byte 0",
			"delay 1us ipid 0"} {
			spec, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			s.Add(spec.Rule)
		}
		one := frame.NewPool(1, 2000).Get()
		one.Set(b)
		s.Judge(0, one)
		if int(one.Len()) != len(b) {
			t.Errorf("%d bytes became %d", len(b), one.Len())
		}
	})
}
