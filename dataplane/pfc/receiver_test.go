package pfc

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

const us = unit.Time(time.Microsecond)

// told is the body of a PFC frame that enables the given priorities.
func told(quanta map[Priority]uint16) *wire.PFC {
	var f wire.ControlFrame
	f.Init(wire.MAC{}, wire.OpPFC)
	var enabled Set
	for p, q := range quanta {
		enabled = enabled.With(p)
		f.PFC().SetQuanta(uint8(p), q)
	}
	f.PFC().SetEnabled(uint8(enabled))
	return f.PFC()
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		quanta uint16
		rate   unit.Rate
		want   time.Duration
	}{
		{0, 40 * unit.GbPerSecond, 0},
		{1, 40 * unit.GbPerSecond, 13}, // 12.8 ns
		{65535, 40 * unit.GbPerSecond, 838848},
		{65535, 10 * unit.GbPerSecond, 3355392},
		{1, 400 * unit.GbPerSecond, 2}, // 1.28 ns
		{65535, unit.MbPerSecond, 33553920 * time.Microsecond},
	} {
		if got := Duration(c.quanta, c.rate); got != c.want {
			t.Errorf("%d quanta at %v: %d ns, want %d", c.quanta, c.rate, got, c.want)
		}
	}
}

// TestPauseEndsByItself walks one pause: it starts with the frame and ends to the nanosecond.
func TestPauseEndsByItself(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3, 4)})
	r.Receive(10*us, told(map[Priority]uint16{3: 1000})) // 12.8 us
	end := 10*us + 12800
	if r.NextWake() != end || r.Paused(end-1) != SetOf(3) {
		t.Fatalf("wake %v, paused %v", r.NextWake(), r.Paused(end-1))
	}
	if got := r.Counters(end - 1).Paused[3]; got != 12799 {
		t.Errorf("paused %v so far", got)
	}
	if got := r.Wake(end); got != SetOf(3) || r.Paused(end) != 0 || r.NextWake() != unit.Never {
		t.Fatalf("resumed %v, paused %v, wake %v", got, r.Paused(end), r.NextWake())
	}
	want := ReceiverCounters{Frames: [8]uint64{3: 1}, Paused: [8]time.Duration{3: 12800},
		Transitions: [8]uint64{3: 1}, Recent: [8]time.Duration{3: 12800},
		RecentAt: [8]unit.Time{3: end}}
	if got := r.Counters(end + us); got != want {
		t.Errorf("counters %+v", got)
	}
}

// TestLateWake: neither the scheduler nor the counters see a pause longer than it was.
func TestLateWake(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3)})
	r.Receive(0, told(map[Priority]uint16{3: 1000}))
	if r.Paused(5000*us) != 0 {
		t.Error("still paused")
	}
	if got := r.Counters(5000 * us).Paused[3]; got != 12800 {
		t.Errorf("paused %v", got)
	}
	if got := r.Wake(5000 * us); got != SetOf(3) {
		t.Errorf("asking took the news away: resumed %v", got)
	}
}

func TestXONEndsAPause(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3, 4)})
	r.Receive(0, told(map[Priority]uint16{3: 65535, 4: 65535}))
	if got := r.Receive(7*us, told(map[Priority]uint16{3: 0})); got != SetOf(3) {
		t.Errorf("resumed %v", got)
	}
	if r.Paused(7*us) != SetOf(4) || r.NextWake() != 838848 {
		t.Errorf("paused %v, wake %v", r.Paused(7*us), r.NextWake())
	}
	c := r.Counters(7 * us)
	if c.Paused[3] != 7*time.Microsecond || c.Transitions != [8]uint64{3: 1} {
		t.Errorf("counters %+v", c)
	}
}

// TestNewTimeCounts: a frame replaces the time of the one before, shorter or longer.
func TestNewTimeCounts(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3)})
	r.Receive(0, told(map[Priority]uint16{3: 65535}))
	r.Receive(us, told(map[Priority]uint16{3: 1000}))
	if r.NextWake() != us+12800 {
		t.Errorf("shorter: wake %v", r.NextWake())
	}
	r.Receive(2*us, told(map[Priority]uint16{3: 65535}))
	if r.NextWake() != 2*us+838848 || r.Counters(2 * us).Transitions[3] != 0 {
		t.Errorf("longer: wake %v", r.NextWake())
	}
}

// TestExpiryBeforeFrame: a frame that comes when a pause has just passed starts a new one.
func TestExpiryBeforeFrame(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3)})
	r.Receive(0, told(map[Priority]uint16{3: 1000}))
	if got := r.Receive(20*us, told(map[Priority]uint16{3: 1000})); got != 0 {
		t.Errorf("resumed %v, but it is paused again", got)
	}
	c := r.Counters(21 * us)
	if c.Paused[3] != 13800 || c.Transitions[3] != 1 || c.Frames[3] != 2 {
		t.Errorf("counters %+v", c)
	}
}

func TestNotObeyed(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3)})
	r.Receive(0, told(map[Priority]uint16{5: 65535}))
	if r.Paused(us) != 0 || r.NextWake() != unit.Never || r.Counters(us).Frames[5] != 1 {
		t.Errorf("paused %v, counters %+v", r.Paused(us), r.Counters(us))
	}
}

func TestReceiverReset(t *testing.T) {
	r := NewReceiver(ReceiverConfig{Rate: 40 * unit.GbPerSecond, Obeyed: SetOf(3, 4)})
	r.Receive(0, told(map[Priority]uint16{3: 65535, 4: 65535}))
	got := r.Reset(5 * us)
	if got != SetOf(3, 4) || r.Paused(5*us) != 0 || r.NextWake() != unit.Never {
		t.Errorf("resumed %v", got)
	}
	if got := r.Counters(9 * us).Paused[4]; got != 5*time.Microsecond {
		t.Errorf("paused %v", got)
	}
}

func TestSet(t *testing.T) {
	s := SetOf(3, 4)
	if s.String() != "3,4" || Set(0).String() != "" || !s.Has(3) || s.Has(5) ||
		s.Without(3) != SetOf(4) {
		t.Errorf("set %v", s)
	}
}
