package nic

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
)

// Numbers are given out first in, first out: one that was just destroyed comes after all that
// rest, and after the last one the first that was freed.
func TestNumbersFirstInFirstOut(t *testing.T) {
	const most = 4
	p := newPeer(t, 1, frame.NewPool(16, 1400), func(c *Config) { c.MaxQPs = most })
	create := func(want ib.QPN) {
		t.Helper()
		if local, err := p.CreateQP(p.QPConfig()); err != nil || local.QPN != want {
			t.Fatalf("created %v: %v, want %v", local.QPN, err, want)
		}
	}
	destroy := func(qpn ib.QPN) {
		t.Helper()
		if err := p.DestroyQP(qpn); err != nil {
			t.Fatal(err)
		}
	}
	if p.local.QPN != FirstQPN {
		t.Fatalf("the first number is %v", p.local.QPN)
	}
	create(FirstQPN + 1)
	destroy(FirstQPN)
	create(FirstQPN + 2)
	create(FirstQPN + 3)
	destroy(FirstQPN + 2)
	create(FirstQPN)
	create(FirstQPN + 2)
	if _, err := p.CreateQP(p.QPConfig()); !errors.Is(err, ErrTooFew) {
		t.Errorf("one more than there are: %v", err)
	}
}

// The number of a QP whose connection ends is not given out while the connection manager holds it:
// until the peer has answered the DREQ, and then for the timewait.
func TestNumberInTimewait(t *testing.T) {
	a, b, _ := greeted(t, nil)
	a.carry(3, b)
	own := a.local.QPN
	id := a.conn(own).connection
	now := a.now
	if err := a.DestroyQP(own); err != nil {
		t.Fatal(err)
	}
	exhaust := func() (got bool) {
		t.Helper()
		var made []ib.QPN
		for {
			local, err := a.CreateQP(a.QPConfig())
			if errors.Is(err, ErrTooFew) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, local.QPN)
			got = got || local.QPN == own
		}
		for _, qpn := range made {
			if err := a.DestroyQP(qpn); err != nil {
				t.Fatal(err)
			}
		}
		return got
	}
	if s := a.CM().State(id); s != cm.DREQSent || exhaust() {
		t.Fatalf("given out in state %v", s)
	}
	a.carry(now, b)
	b.event(t, cm.Established)
	b.event(t, cm.Disconnecting)
	b.Communicate(now, func(m *cm.Manager) { m.Close(now, b.conn(b.local.QPN).connection) })
	b.carry(now, a)
	if s := a.CM().State(id); s != cm.Timewait || exhaust() {
		t.Fatalf("given out in state %v", s)
	}
	a.Wake(a.CM().NextWake())
	if s := a.CM().State(id); s != cm.Idle || !exhaust() {
		t.Errorf("not given out in state %v", s)
	}
}

// Slots against a list that is searched from its front.
func TestSlots(t *testing.T) {
	m := newPeer(t, 1, frame.NewPool(16, 1400), nil).CM()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		s, taken := newSlots(n), []uint32{}
		var free []uint32
		for i := range n {
			free = append(free, uint32(i))
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if len(taken) > 0 && rapid.Bool().Draw(t, "put") {
				i := rapid.IntRange(0, len(taken)-1).Draw(t, "which")
				s.put(taken[i], 0)
				free = append(free, taken[i])
				taken = append(taken[:i], taken[i+1:]...)
				continue
			}
			slot, ok := s.take(m)
			if ok != (len(free) > 0) || ok && slot != free[0] {
				t.Fatalf("took %d (%v) of %v", slot, ok, free)
			}
			if ok {
				free, taken = free[1:], append(taken, slot)
			}
		}
	})
}
