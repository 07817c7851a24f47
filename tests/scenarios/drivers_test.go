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

// crossing runs two senders into one receiver and returns what its link saw.
//
// Frames of both senders come in turns, and queue up, since the receiver's link is slower than
// the sum. A frame takes 8.8 us on a sender's link and the second sender starts half of that
// later, so two frames arrive at the switch 4.4 us apart; the two drivers differ by at most the
// delay of a link, 1 us, in when they handle an arrival. So every decision about order has a
// margin of four times what the drivers may differ by, and the sequence must be the same to the
// byte: QPNs, PSNs, IP identifications, ICRCs. No mark is drawn and nobody is paused, because
// both hang on the exact length of a queue.
func crossing(t *testing.T, on func(testing.TB, *star) bed) (seen sequence) {
	const slow = unit.GbPerSecond
	s := newStar(t, setup{senders: 2, rates: []unit.Rate{slow, slow, slow * 3 / 2},
		delay: time.Microsecond, algorithm: "none", message: 16 << 10, seed: 1})
	b := on(t, s)
	b.tap(s.receiver(), func(dir loop.Direction, f *frame.Frame) {
		seen[dir] = append(seen[dir], bytes.Clone(f.Bytes()))
	})
	s.start(t, b, func(i int, f *app.Flow) {
		f.Messages, f.Start = 10, 10*us+unit.Time(i)*4400
	})
	b.run(3000 * us)
	b.stop()
	s.check(t)
	for i := range s.senders {
		if _, st := s.hosts[i].Flow(0); !st.Done || st.Completed != 10 || st.Failed != 0 {
			t.Errorf("sender %d: %d of 10 messages", i, st.Completed)
		}
	}
	return seen
}

// One scenario run through both drivers gives the same frames in the same order.
func TestBothDriversGiveTheSameFrames(t *testing.T) {
	want := crossing(t, newVirtual)
	got := crossing(t, func(t testing.TB, s *star) bed { return newLoops(t, s, 300) })
	for dir, name := range []string{"to the receiver", "from the receiver"} {
		if len(want[dir]) < 6 || len(got[dir]) != len(want[dir]) {
			t.Fatalf("%s: %d frames in virtual time, %d on loops", name, len(want[dir]),
				len(got[dir]))
		}
		for i := range want[dir] {
			if !bytes.Equal(got[dir][i], want[dir][i]) {
				t.Fatalf("%s, frame %d:\n% x on loops\n% x in virtual time", name, i,
					got[dir][i][:60], want[dir][i][:60])
			}
		}
	}
	if turns := changes(want[loop.In]); turns < len(want[loop.In])*9/10 {
		t.Errorf("the senders took turns %d times in %d frames: the scenario shows little", turns,
			len(want[loop.In]))
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
