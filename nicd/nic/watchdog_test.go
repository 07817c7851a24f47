package nic

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

const ms = 1000 * us

// stuck is a NIC whose pipeline stopped at 7 ms with six packets in it, and what it told.
type stuck struct {
	*peer
	pool   *frame.Pool
	from   *peer
	events []string
	pauses []unit.Time // PFC frames with XOFF
	resume []unit.Time // with XON
}

func newStuck(t *testing.T, detection time.Duration) *stuck {
	t.Helper()
	a, b, pool := newPeers(t, func(c *Config) { slow(c); c.Receive.Watchdog = detection })
	s := &stuck{peer: b, from: a, pool: pool}
	b.SetNotify(func(e PauseEvent) {
		s.events = append(s.events, fmt.Sprintf("%v %v %v", time.Duration(e.At), e.Kind,
			e.Priorities))
	})
	s.run(t, 0, 7*ms)
	if err := b.StopReceiving(7 * ms); err != nil {
		t.Fatal(err)
	}
	for _, f := range a.burst(t, b, 6) {
		b.give(7*ms, f)
	}
	return s
}

// run lets time pass, and collects what leaves.
func (s *stuck) run(t *testing.T, now, until unit.Time) {
	t.Helper()
	for ; now <= until; now = max(now, s.NextWake()) {
		if s.NextWake() <= now {
			s.Wake(now)
		}
		for f := s.send(now); f != nil; f = s.send(now) {
			if body, ok := wire.AsPFC(f.Bytes()[wire.EthernetLen:]); ok && body.Quanta(3) > 0 {
				s.pauses = append(s.pauses, now)
			} else if ok {
				s.resume = append(s.resume, now)
			}
			f.Release()
		}
	}
}

// [RDMA at scale] 4.3, the NIC's watchdog: when the pipeline has stood still for 100 ms while the
// NIC generated pause frames, it generates none any more, and does not begin again by itself. Looks
// are 5 ms apart: the first that sees the packets is at 10 ms.
func TestWatchdogSilencesTheNIC(t *testing.T) {
	s := newStuck(t, PaperWatchdog)
	s.run(t, 7*ms, 1000*ms)
	want := []string{"95ms pause_storm_warning 3", "110ms pause_storm 3"}
	if !slices.Equal(s.events, want) {
		t.Errorf("events %q, want %q", s.events, want)
	}
	last := s.pauses[len(s.pauses)-1]
	if last >= 110*ms || len(s.resume) != 1 || s.resume[0] != 110*ms {
		t.Errorf("last XOFF at %v, XON at %v", last, s.resume)
	}
	c := s.snapshot(1000 * ms)
	if c.Counters.TxPauseStormWarningEvents != 1 || c.Counters.TxPauseStormErrorEvents != 1 ||
		c.Receive.PauseDisabled != pfc.SetOf(3) {
		t.Errorf("%+v, %+v", c.Counters, c.Receive)
	}

	// "The packets to the NIC will [be] dropped by the NIC": the room is used up, and it must not
	// pause. They are lost to the watchdog, not to a headroom that was too small.
	for range 4 {
		s.give(1000*ms, s.from.burst(t, s.peer, 1)[0])
	}
	l := s.Ledger()
	if l.Dropped[frame.DropWatchdog].Frames != 2 || l.Dropped[frame.DropHeadroom].Frames != 0 {
		t.Errorf("dropped %v by the watchdog, %v for lack of headroom",
			l.Dropped[frame.DropWatchdog], l.Dropped[frame.DropHeadroom])
	}
	s.balanced(t)
}

// An operator gives the pauses back; the look at 305 ms sees packets and a pause again. What still
// stands brings the watchdog back as well; what has been repaired does not.
func TestRestorePause(t *testing.T) {
	s := newStuck(t, PaperWatchdog)
	s.run(t, 7*ms, 300*ms)
	s.events, s.pauses = nil, nil
	if err := s.RestorePause(302 * ms); err != nil {
		t.Fatal(err)
	}
	s.run(t, 302*ms, 500*ms)
	want := []string{"302ms pause_storm_restored 3", "385ms pause_storm_warning 3",
		"400ms pause_storm 3"}
	if !slices.Equal(s.events, want) || s.pauses[0] != 302*ms {
		t.Errorf("events %q, want %q; pauses from %v", s.events, want, s.pauses[0])
	}
	s.events = nil
	for _, err := range []error{s.StartReceiving(500 * ms), s.RestorePause(500 * ms),
		s.RestorePause(501 * ms)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.run(t, 501*ms, 2000*ms)
	if want := []string{"500ms pause_storm_restored 3"}; !slices.Equal(s.events, want) {
		t.Errorf("events %q, want %q", s.events, want)
	}
}

// A slow receiver is not a stopped one: it pauses all the time, and the watchdog lets it, because a
// packet is handled now and then ([RDMA at scale] 4.4 is no storm).
func TestWatchdogSparesTheSlowReceiver(t *testing.T) {
	s := newStuck(t, PaperWatchdog)
	for now := 7 * ms; now < 1000*ms; now += 50 * ms {
		s.run(t, now, now+20*ms)
		if err := s.StartReceiving(now + 20*ms); err != nil {
			t.Fatal(err)
		}
		s.run(t, now+20*ms, now+20*ms+us) // one packet
		if err := s.StopReceiving(now + 20*ms + us); err != nil {
			t.Fatal(err)
		}
		s.give(now+20*ms+us, s.from.burst(t, s.peer, 1)[0])
		s.run(t, now+20*ms+us, now+50*ms)
	}
	if len(s.events) != 0 || len(s.pauses) < 100 {
		t.Errorf("events %q, %d pauses", s.events, len(s.pauses))
	}
}

// Without a detection time there is no watchdog, and nothing to restore.
func TestNoWatchdog(t *testing.T) {
	s := newStuck(t, 0)
	s.run(t, 7*ms, 1000*ms)
	if len(s.events) != 0 || len(s.resume) != 0 {
		t.Errorf("events %q", s.events)
	}
	if err := s.RestorePause(1000 * ms); !errors.Is(err, ErrNoWatchdog) {
		t.Error(err)
	}
}
