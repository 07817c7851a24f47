package scenarios

import (
	"bytes"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
)

const us = unit.Time(time.Microsecond)

// sequence is the frames at a host's link, by direction. The order between the two directions is
// left out: it is a matter of nanoseconds.
type sequence [2][][]byte

// crossing is two senders into one receiver.
//
// Frames of both senders come in turns, and queue up, since the receiver's link is slower than
// the sum. A frame takes 8.8 us on a sender's link and the second sender starts half of that
// later, so two frames arrive at the switch 4.4 us apart; two drivers differ by at most the
// delay of a link, 1 us, in when they handle an arrival. So every decision about order has a
// margin of four times what the drivers may differ by, and the sequence must be the same to the
// byte: QPNs, PSNs, IP identifications, ICRCs. No mark is drawn and nobody is paused, because
// both hang on the exact length of a queue.
func crossing() setup {
	const slow = unit.GbPerSecond
	return setup{senders: 2, rates: []unit.Rate{slow, slow, slow * 3 / 2},
		delay: time.Microsecond, algorithm: "none", message: 16 << 10, seed: 1}
}

const crossingMessages = 10

func crossingStart(sender int) unit.Time { return 10*us + unit.Time(sender)*4400 }

// cross runs the crossing on a bed and returns what the receiver's link saw.
func cross(t *testing.T, on func(testing.TB, *star) bed) (seen sequence) {
	t.Helper()
	s := newStar(t, crossing())
	b := on(t, s)
	b.tap(s.receiver(), func(dir loop.Direction, f *frame.Frame) {
		seen[dir] = append(seen[dir], bytes.Clone(f.Bytes()))
	})
	s.start(t, b, func(i int, f *app.Flow) {
		f.Messages, f.Start = crossingMessages, crossingStart(i)
	})
	b.run(3000 * us)
	b.stop()
	s.check(t)
	for i := range s.senders {
		if _, st := s.hosts[i].Flow(0); !st.Done || st.Completed != crossingMessages {
			t.Errorf("sender %d: %d of %d messages", i, st.Completed, crossingMessages)
		}
	}
	return seen
}

// One scenario run through both drivers gives the same frames in the same order.
func TestBothDriversGiveTheSameFrames(t *testing.T) {
	want := cross(t, newVirtual)
	got := cross(t, func(t testing.TB, s *star) bed { return newLoops(t, s, 300) })
	same(t, got, want)
	if turns := changes(want[loop.In]); turns < len(want[loop.In])*9/10 {
		t.Errorf("the senders took turns %d times in %d frames: the scenario shows little", turns,
			len(want[loop.In]))
	}
}

// same compares two sequences to the byte.
func same(t *testing.T, got, want sequence) {
	t.Helper()
	for dir, name := range []string{"to the receiver", "from the receiver"} {
		if len(want[dir]) < 6 || len(got[dir]) != len(want[dir]) {
			t.Fatalf("%s: %d frames, in virtual time %d", name, len(got[dir]), len(want[dir]))
		}
		for i := range want[dir] {
			if !bytes.Equal(got[dir][i], want[dir][i]) {
				t.Fatalf("%s, frame %d:\n% x, in virtual time\n% x", name, i,
					got[dir][i], want[dir][i])
			}
		}
	}
}

// changes counts how often a frame comes from another source than the one before it.
func changes(list [][]byte) (n int) {
	for i := 1; i < len(list); i++ {
		if !bytes.Equal(list[i][6:12], list[i-1][6:12]) {
			n++
		}
	}
	return n
}
