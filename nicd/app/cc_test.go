package app

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/qp"
)

// While a switch on the way marks, DCQCN slows the flow down to where marks and increases
// balance; when marking stops, the flow is back at line rate within milliseconds.
func TestDCQCNOverTheWire(t *testing.T) {
	l := newLab(t, 1<<16, link.Config{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}, nil)
	f := l.flow(qp.Write, 1<<16, 16)
	l.start(t, f)
	marking, seen := true, 0
	l.nodes[0].Tap(0, func(_ unit.Time, f *frame.Frame) {
		if b := f.Bytes(); marking && seen%100 == 0 && b[15]>>2 == 26 {
			b[15] |= byte(frame.CE) // the NIC does not judge the IP header's checksum
		}
		seen++
	})
	rate := func() unit.Rate {
		v, _ := l.hosts[0].NIC().View(l.locals[0].QPN)
		return v.Rate
	}
	bytes := func() unit.Bytes {
		_, s := l.hosts[0].Flow(0)
		return s.Bytes
	}
	l.net.Run(unit.Time(5 * time.Millisecond))
	if r := rate(); r > 20*unit.GbPerSecond || r < 100*unit.MbPerSecond {
		t.Errorf("rate %v under marking", r)
	}
	marked := bytes()
	l.net.Run(unit.Time(10 * time.Millisecond))
	slow := (bytes() - marked).Over(5 * time.Millisecond)
	marking = false
	l.net.Run(unit.Time(60 * time.Millisecond))
	before := bytes()
	l.net.Run(unit.Time(65 * time.Millisecond))
	fast := (bytes() - before).Over(5 * time.Millisecond)
	if rate() != 40*unit.GbPerSecond || fast < 36*unit.GbPerSecond || slow > 20*unit.GbPerSecond {
		t.Errorf("goodput %v while marking, %v at %v after", slow, fast, rate())
	}
	l.check(t)
	if v, _ := l.hosts[0].NIC().View(l.locals[0].QPN); v.CNPs == 0 ||
		v.Stats.PacketsRetransmitted != 0 {
		t.Errorf("%d CNPs, %d retransmitted", v.CNPs, v.Stats.PacketsRetransmitted)
	}
}
