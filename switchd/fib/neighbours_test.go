package fib

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

var (
	ip1 = netip.MustParseAddr("10.0.1.11")
	ip2 = netip.MustParseAddr("10.0.1.12")
)

// said is an answer to the switch.
func said(n int) News { return News{MAC: mac(n), Create: true, Override: true} }

// waits lets a new frame wait and returns how many frames came back.
func waits(n *Neighbours, pool *frame.Pool, now unit.Time, addr netip.Addr) *frame.Frame {
	return n.Wait(now, 0, addr, pool.Get())
}

// solicits takes out everything that is to be done now.
func solicits(n *Neighbours, now unit.Time) (list []Solicit) {
	for s, ok := n.Next(now); ok; s, ok = n.Next(now) {
		list = append(list, s)
	}
	return list
}

// TestResolution walks RFC 4861 section 7.2.2: a packet waits, three requests a second apart, then
// the wait is over.
func TestResolution(t *testing.T) {
	n, pool := NewNeighbours(NeighbourConfig{}), frame.NewPool(9, 64)
	if _, ok := n.Lookup(0, 0, ip1); ok || n.NextWake() != unit.Never {
		t.Fatal("an empty table knows something")
	}
	if waits(n, pool, 5, ip1) != nil || n.Held() != 1 {
		t.Fatal("the frame does not wait")
	}
	for i := range Attempts {
		at := 5 + unit.Time(i)*second
		if n.NextWake() != at || len(solicits(n, at-1)) != 0 {
			t.Fatalf("attempt %d: next wake %v, want %v", i, n.NextWake(), at)
		}
		got := solicits(n, at)
		if len(got) != 1 || got[0].Addr != ip1 || got[0].MAC != (wire.MAC{}) || got[0].Failed {
			t.Fatalf("attempt %d: %+v", i, got)
		}
	}
	got := solicits(n, 5+3*second)
	if len(got) != 1 || !got[0].Failed || got[0].Waited.Len() != 1 || n.Held() != 0 {
		t.Fatalf("the end: %+v, %d held", got, n.Held())
	}
	if n.Len() != 0 || n.NextWake() != unit.Never || n.Stats.Solicited != 3 || n.Stats.Failed != 1 {
		t.Errorf("%d entries, %+v", n.Len(), n.Stats)
	}
}

// TestAnswer: all that waits is handed over, and the address is known for its time to the
// nanosecond.
func TestAnswer(t *testing.T) {
	n, pool := NewNeighbours(NeighbourConfig{}), frame.NewPool(9, 64)
	waits(n, pool, 0, ip1)
	waits(n, pool, 0, ip1)
	solicits(n, 0)
	if waited := n.Confirm(9, 0, ip1, said(1)); waited.Len() != 2 || n.Held() != 0 {
		t.Fatalf("%d frames, %d held", waited.Len(), n.Held())
	}
	if n.NextWake() != unit.Never {
		t.Errorf("it is still asked for: %v", n.NextWake())
	}
	end := 9 + 4*3600*second // [RDMA at scale] section 4.2: 4 hours
	if m, ok := n.Lookup(end, 0, ip1); !ok || m != mac(1) {
		t.Errorf("at %v: %v %v", end, m, ok)
	}
	if _, ok := n.Lookup(end+1, 0, ip1); ok {
		t.Error("known after its time")
	}
	if _, ok := n.Lookup(9, 1, ip1); ok {
		t.Error("known on another interface")
	}
}

// TestPoll: an entry in use is asked about by unicast in the last three seconds; if it answers,
// traffic does not notice, and if not, the entry goes when its time is over.
func TestPoll(t *testing.T) {
	n := NewNeighbours(NeighbourConfig{Timeout: 60 * time.Second})
	n.Confirm(0, 0, ip1, said(1))
	n.Lookup(57*second, 0, ip1)
	if len(solicits(n, 57*second)) != 0 {
		t.Error("asked before the last three seconds")
	}
	n.Lookup(58*second, 0, ip1)
	n.Lookup(58*second, 0, ip1)
	got := solicits(n, 58*second)
	if len(got) != 1 || got[0].MAC != mac(1) {
		t.Fatalf("%+v", got)
	}
	n.Confirm(58*second, 0, ip1, said(1))
	if _, ok := n.Lookup(115*second, 0, ip1); !ok || n.NextWake() != unit.Never {
		t.Error("the answer was not heard")
	}
	n.Lookup(117*second, 0, ip1)
	for now := 117 * second; now <= 120*second; now += second {
		solicits(n, now)
	}
	if n.Len() != 0 || n.Stats.Failed != 1 {
		t.Errorf("%d entries, %+v", n.Len(), n.Stats)
	}
}

// TestShortTimeout: an entry that lives shorter than three attempts take is asked about in the
// second half of its life only.
func TestShortTimeout(t *testing.T) {
	n := NewNeighbours(NeighbourConfig{Timeout: time.Millisecond})
	n.Confirm(0, 0, ip1, said(1))
	n.Lookup(500_000, 0, ip1)
	if n.NextWake() != unit.Never {
		t.Error("asked too early")
	}
	n.Lookup(500_001, 0, ip1)
	if n.NextWake() != 500_001 {
		t.Error("not asked")
	}
}

// TestWaitingIsBounded: for one address the oldest frame goes (RFC 4861 section 7.2.2), for all
// together the newest.
func TestWaitingIsBounded(t *testing.T) {
	n, pool := NewNeighbours(NeighbourConfig{Waiting: 2, Held: 3}), frame.NewPool(9, 64)
	oldest := pool.Get()
	if n.Wait(0, 0, ip1, oldest) != nil || waits(n, pool, 0, ip1) != nil {
		t.Fatal("two frames do not wait")
	}
	if waits(n, pool, 0, ip1) != oldest {
		t.Error("the oldest was not displaced")
	}
	if waits(n, pool, 0, ip2) != nil || n.Held() != 3 {
		t.Error("a third does not wait for another address")
	}
	newest := pool.Get()
	if n.Wait(0, 0, ip2, newest) != newest || n.Held() != 3 || n.Stats.Overflowed != 2 {
		t.Errorf("%d held, %+v", n.Held(), n.Stats)
	}
}

// TestFullTable: what is too old makes room, oldest first; what is not stays.
func TestFullTable(t *testing.T) {
	n, pool := NewNeighbours(NeighbourConfig{Max: 2, Timeout: time.Minute}), frame.NewPool(9, 64)
	n.Confirm(0, 0, ip1, said(1))
	n.Confirm(0, 0, ip2, said(2))
	third := netip.MustParseAddr("10.0.1.13")
	n.Confirm(60*second, 0, third, said(3))
	if _, ok := n.Lookup(60*second, 0, third); ok || n.Stats.Full != 1 {
		t.Errorf("%+v", n.Stats)
	}
	f := pool.Get()
	if n.Wait(60*second, 0, third, f) != f {
		t.Error("a frame waits for an address without an entry")
	}
	n.Confirm(60*second+1, 0, third, said(3))
	if _, ok := n.Lookup(60*second+1, 0, third); !ok || n.Stats.TimedOut != 1 || n.Len() != 2 {
		t.Errorf("%+v, %d entries", n.Stats, n.Len())
	}
}

// TestOverride walks RFC 4861 section 7.2.5: without the flag another MAC address is not taken.
func TestOverride(t *testing.T) {
	n := NewNeighbours(NeighbourConfig{})
	n.Confirm(0, 0, ip1, News{MAC: mac(1)})
	if n.Len() != 0 {
		t.Error("an entry was made for what nobody asked")
	}
	n.Confirm(0, 0, ip1, News{MAC: mac(1), Create: true})
	n.Confirm(0, 0, ip1, News{MAC: mac(2)})
	if m, _ := n.Lookup(0, 0, ip1); m != mac(1) {
		t.Errorf("%v", m)
	}
	n.Confirm(0, 0, ip1, News{MAC: mac(2), Override: true})
	if m, _ := n.Lookup(0, 0, ip1); m != mac(2) {
		t.Errorf("%v", m)
	}
}

func TestStaticNeighbour(t *testing.T) {
	n, pool := NewNeighbours(NeighbourConfig{}), frame.NewPool(9, 64)
	waits(n, pool, 0, ip2)
	if n.AddStatic(0, 0, ip1, wire.Broadcast) == nil || n.AddStatic(0, 0, ip2, mac(2)) == nil {
		t.Error("a group address, or one that is asked for, was taken")
	}
	n.Confirm(0, 0, ip1, said(9))
	if err := n.AddStatic(0, 0, ip1, mac(1)); err != nil {
		t.Fatal(err)
	}
	n.Confirm(0, 0, ip1, said(2))
	if m, ok := n.Lookup(9e6*second, 0, ip1); !ok || m != mac(1) {
		t.Errorf("%v %v", m, ok)
	}
	n.FlushInterface(0, (*frame.Frame).Release)
	if n.Len() != 1 || n.Held() != 0 || pool.InUse() != 0 {
		t.Errorf("%d entries, %d held", n.Len(), n.Held())
	}
	// What waits for a static entry is given back when its owner speaks.
	waits(n, pool, 0, ip1)
	if waited := n.Confirm(0, 0, ip1, said(1)); waited.Len() != 1 {
		t.Errorf("%d frames", waited.Len())
	}
	if _, ok := n.Remove(0, ip1); !ok || n.Len() != 0 {
		t.Error("it cannot be removed")
	}
	if _, ok := n.Remove(0, ip1); ok {
		t.Error("it can be removed twice")
	}
}

func TestWalkShowsStates(t *testing.T) {
	n, pool := NewNeighbours(NeighbourConfig{Timeout: time.Minute}), frame.NewPool(9, 64)
	states := func(now unit.Time) map[netip.Addr]string {
		m := map[netip.Addr]string{}
		n.Walk(now, func(e Neighbour) { m[e.Addr] = e.State.String() })
		return m
	}
	third := netip.MustParseAddr("10.0.1.13")
	n.Confirm(0, 0, ip1, said(1))
	n.Confirm(30*second, 0, ip2, said(2))
	waits(n, pool, 58*second, third)
	n.Lookup(58*second, 0, ip1)
	got := states(58 * second)
	if got[ip1] != "probe" || got[ip2] != "reachable" || got[third] != "incomplete" {
		t.Errorf("%v", got)
	}
	if got := states(91 * second); len(got) != 2 {
		t.Errorf("an old entry is shown: %v", got)
	}
}

// BenchmarkNeighbour finds one of 4096.
func BenchmarkNeighbour(b *testing.B) {
	n := NewNeighbours(NeighbourConfig{})
	addrs := make([]netip.Addr, DefaultNeighbours)
	for i := range addrs {
		addrs[i] = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		n.Confirm(0, 0, addrs[i], said(i))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok := n.Lookup(1, 0, addrs[i]); !ok {
			b.Fatal("lost")
		}
		if i++; i == len(addrs) {
			i = 0
		}
	}
}
