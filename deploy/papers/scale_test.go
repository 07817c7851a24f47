package papers

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/suite"
)

func TestBetweenLooks(t *testing.T) {
	before := meshLook{rtts: map[int64]uint64{1000: 50, 2000: 7}}
	after := meshLook{rtts: map[int64]uint64{1000: 60, 2000: 7, 3000: 88, 9000: 2}}
	for q, want := range map[float64]float64{0.1: 1, 0.11: 3, 0.98: 3, 0.99: 9, 1: 9} {
		if us, n := between(before, after, q); us != want || n != 100 {
			t.Errorf("quantile %v: %v us of %d probes, want %v of 100", q, us, n, want)
		}
	}
	if us, n := between(after, after, 0.99); us != 0 || n != 0 {
		t.Errorf("of nothing: %v us, %d probes", us, n)
	}
	seen := meshSeen{{at: time.Millisecond, rtts: after.rtts}}
	if len(seen.at(time.Millisecond).rtts) != 4 || len(seen.at(0).rtts) != 0 {
		t.Error("a look is not found by its time, or another one is")
	}
}

// What a node has of its own is put over what all have, beside what the fabric gave it.
func TestOwnSettings(t *testing.T) {
	top := fabric.Dumbbell("own", 1, scaleLinks, scaleLinks)
	own(&top, "swl", "mac_limit: 7")
	own(&top, "r1", "burst: 3KB")
	left, right := top.SwitchConfig(top.Node("swl")), top.SwitchConfig(top.Node("swr"))
	if left.MACLimit != 7 || right.MACLimit == 7 || len(left.StaticRoutes) == 0 {
		t.Errorf("MAC addresses: %d and %d; routes %v", left.MACLimit, right.MACLimit,
			left.StaticRoutes)
	}
	a, b := top.NICConfig(top.Node("l1")), top.NICConfig(top.Node("r1"))
	if a.Burst == 3000 || b.Burst != 3000 {
		t.Errorf("bursts %v and %v", a.Burst, b.Burst)
	}
	if faults := top.Validate(); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestByCell(t *testing.T) {
	found := []suite.Outcome{{Cell: "a"}, {Cell: "b", Hash: "h"}}
	if byCell(found, "b").Hash != "h" || byCell(found, "c").Cell != "" {
		t.Error("an outcome is not found by its name, or another one is")
	}
}

func TestFreePorts(t *testing.T) {
	if p, err := freePorts(3); err != nil || p < 20000 || p > 29997 {
		t.Errorf("%d, %v", p, err)
	}
	if _, err := freePorts(20000); err == nil {
		t.Error("more ports than there are")
	}
}
