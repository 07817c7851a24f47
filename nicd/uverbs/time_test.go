package uverbs

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/qp"
)

// A program reads beside the clock what it has lost, and a completion has what had been lost when
// the work ended.
func TestLostTimeIsPublished(t *testing.T) {
	v := newVictim(t)
	v.driver.lost = 5 * time.Millisecond
	v.Poll(v.driver.turn(7))
	at, ok := v.other.ring.Time()
	if want := v.driver.lost.Nanoseconds(); !ok || at.Virtual != 7 || at.Lost != want {
		t.Errorf("the clock says %+v, %v; want %d lost", at, ok, want)
	}
	const rc, cq = 5, 2 // handles of enter
	v.driver.lost = 8 * time.Millisecond
	v.other.queues[rc].Completed(9, &qp.Completion{Op: qp.Receive, At: 9})
	ring := v.other.cqs[cq].ring
	seen := abi.NewRing(ring.Segment(), ring.Len(), abi.CompletionSize)
	if n, ok := seen.Ready(); n != 1 || !ok {
		t.Fatalf("%d completions, %v", n, ok)
	}
	var b [abi.CompletionSize]byte
	seen.Take(0, b[:])
	var c abi.Completion
	c.Decode(b[:])
	if c.At != 9 || c.Lost != v.driver.lost.Nanoseconds() {
		t.Errorf("completion %+v", c)
	}
}
