package dataplane

import (
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"pgregory.net/rapid"
)

func TestPortSetAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set PortSet
		want := map[PortID]bool{}
		for range rapid.IntRange(0, 100).Draw(t, "operations") {
			p := PortID(rapid.IntRange(0, MaxPorts-1).Draw(t, "port"))
			if rapid.Bool().Draw(t, "add") {
				set.Add(p)
				want[p] = true
			} else {
				set.Remove(p)
				delete(want, p)
			}
		}
		var got, sorted []PortID
		for p, ok := set.Next(0); ok; p, ok = set.Next(p + 1) {
			got = append(got, p)
		}
		for p := range want {
			sorted = append(sorted, p)
		}
		slices.Sort(sorted)
		if !slices.Equal(got, sorted) {
			t.Fatalf("set holds %v, want %v", got, sorted)
		}
	})
}

func TestLedger(t *testing.T) {
	pool := frame.NewPool(4, 100)
	one := func() *frame.Frame { f := pool.Get(); f.Resize(60); return f }
	var l Ledger
	l.Received.Add(60)
	l.Received.Add(60)
	l.Generated.Add(60)
	l.Drop(one(), frame.DropICRC)
	l.Consume(one())
	l.Buffered.Add(60)
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	l.Buffered.Sub(60)
	err := l.Check()
	const want = "ledger: received 2 + generated 1 != sent 0 + consumed 1 + buffered 0 + " +
		"dropped icrc 1 (bytes 180 != 120)"
	if err == nil || err.Error() != want {
		t.Errorf("a lost frame is reported as\n%v, want\n%v", err, want)
	}
	if pool.InUse() != 0 {
		t.Errorf("%d frames not released", pool.InUse())
	}
}
