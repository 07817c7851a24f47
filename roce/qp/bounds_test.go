package qp

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/roce/ib"
)

// Every bound says no, in words, and nothing is lost by it.
func TestBounds(t *testing.T) {
	a, b := pair(t, nil)
	for range 8 {
		a.post(t, WR{Op: Write, Local: a.local(0, 1), Remote: b.remote(0)})
	}
	if err := a.Post(0, WR{Op: Write, Local: a.local(0, 1)}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("ninth of eight: %v", err)
	}
	settle(t, 0, a, b)
	for range 8 { // completions not polled keep their place
		a.post(t, WR{Op: Write, Local: a.local(0, 1), Remote: b.remote(0)})
	}
	settle(t, 0, a, b)
	if err := a.Post(0, WR{Op: Write, Local: a.local(0, 1)}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("with a full completion queue: %v", err)
	}
	if got := len(a.polled()); got != 16 {
		t.Errorf("%d completions", got)
	}
	if err := a.Post(0, WR{Local: a.local(regionSize-1, 2)}); !errors.Is(err, ErrLocal) {
		t.Errorf("beyond the own region: %v", err)
	}
	if err := a.Post(0, WR{Local: Local{Length: -1}}); !errors.Is(err, ErrLength) {
		t.Errorf("negative length: %v", err)
	}
}

func TestWindow(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.MaxOutstanding = 4 })
	a.post(t, WR{Op: Write, Local: a.local(0, 256*20), Remote: b.remote(0)})
	var o ib.Outgoing
	n := 0
	for a.Next(0, 0, &o) {
		n++
	}
	if n != 4 || !o.AckReq || a.Pending(0) {
		t.Errorf("%d in flight, AckReq %v on the last", n, o.AckReq)
	}
	c, d := pair(t, nil)
	c.post(t, WR{Op: Write, Local: c.local(0, 256*20), Remote: d.remote(0)})
	for n = 0; c.Next(0, 512, &o); n++ {
	}
	if n != 2 {
		t.Errorf("%d packets in a window of 512 bytes", n)
	}
	a.Wake(a.Deadline()) // the four were lost
	settle(t, 0, a, b)
	wantStatus(t, a.polled(), Success)
}

func TestMemoryBounds(t *testing.T) {
	m := newSide(t, 0, nil).mem
	for range 3 {
		if _, err := m.Register(1, 100, Access{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Register(1, 100, Access{}); !errors.Is(err, ErrMemory) {
		t.Errorf("fifth of four regions: %v", err)
	}
	if _, err := m.Register(1, 0, Access{}); !errors.Is(err, ErrMemory) {
		t.Errorf("empty region: %v", err)
	}
}
