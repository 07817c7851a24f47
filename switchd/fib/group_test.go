package fib

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
)

// ecmp is a router with one default route over so many uplinks.
func ecmp(uplinks int, seed uint64) (*Router, *Group) {
	c := RouterConfig{Seed: seed, Routes: []Route{{Prefix: prefix("0.0.0.0/0")}}}
	for i := range uplinks {
		c.Interfaces = append(c.Interfaces, Interface{Port: dataplane.PortID(i),
			Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(
				[4]byte{10, 0, byte(i), 0}), 31)}})
		c.Routes[0].NextHops = append(c.Routes[0].NextHops,
			netip.AddrFrom4([4]byte{10, 0, byte(i), 1}))
	}
	r := NewRouter(c, uplinks)
	return r, r.Lookup(netip.MustParseAddr("192.0.2.1"))
}

// flow is a flow hash: any numbers do, as classify's are mixed well.
func flow(n int) uint32 { return uint32(n) * 2654435761 }

// spread counts how many of the flows in the list take each hop.
func spread(r *Router, g *Group, flows []uint32) []int {
	count := make([]int, len(g.Hops))
	for _, h := range flows {
		if hop, ok := r.Pick(g, h); ok {
			count[hop.Interface]++
		}
	}
	return count
}

func flows(n int) (list []uint32) {
	for i := range n {
		list = append(list, flow(i))
	}
	return list
}

// even fails if a count is five standard deviations from an even share.
func even(t *testing.T, what string, counts []int) {
	t.Helper()
	var sum float64
	for _, n := range counts {
		sum += float64(n)
	}
	p := 1 / float64(len(counts))
	dev := math.Sqrt(sum * p * (1 - p))
	for i, n := range counts {
		if math.Abs(float64(n)-sum*p) > 5*dev {
			t.Errorf("%s: hop %d has %d of %.0f flows", what, i, n, sum)
		}
	}
}

func TestECMPSpreadsEvenly(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 16, 64} {
		r, g := ecmp(n, 1)
		even(t, fmt.Sprintf("%d hops", n), spread(r, g, flows(20_000)))
	}
}

// TestSeedsAgainstPolarisation: a second tier sees only the flows that the first sent to it. With
// seeds of their own both tiers spread; with one seed the second uses one hop only.
func TestSeedsAgainstPolarisation(t *testing.T) {
	first, g1 := ecmp(4, 1)
	var arriving []uint32
	for _, h := range flows(20_000) {
		if hop, _ := first.Pick(g1, h); hop.Interface == 2 {
			arriving = append(arriving, h)
		}
	}
	second, g2 := ecmp(4, 2)
	even(t, "second tier", spread(second, g2, arriving))
	same, g3 := ecmp(4, 1)
	if counts := spread(same, g3, arriving); counts[2] != len(arriving) {
		t.Errorf("with the first tier's seed: %v of %d", counts, len(arriving))
	}
}

// TestResilience: a hop that goes down moves only its own flows, evenly; when it is back they
// return. The same for a second one.
func TestResilience(t *testing.T) {
	r, g := ecmp(8, 3)
	list := flows(20_000)
	choice := func() (out []int) {
		for _, h := range list {
			hop, ok := r.Pick(g, h)
			if !ok || !r.Up(hop.Interface) {
				t.Fatal("no hop, or one that is down")
			}
			out = append(out, hop.Interface)
		}
		return out
	}
	moved := func(before, after []int, from int) {
		t.Helper()
		counts := make([]int, 0, 8)
		to := map[int]int{}
		for i := range before {
			if before[i] == from {
				to[after[i]]++
			} else if before[i] != after[i] {
				t.Fatalf("flow %d moved from %d to %d", i, before[i], after[i])
			}
		}
		for i := range 8 {
			if r.Up(i) {
				counts = append(counts, to[i])
			}
		}
		even(t, fmt.Sprintf("flows of hop %d", from), counts)
	}
	all := choice()
	r.SetUp(5, false)
	without5 := choice()
	moved(all, without5, 5)
	r.SetUp(2, false)
	without := choice()
	moved(without5, without, 2)
	r.SetUp(5, true)
	r.SetUp(2, true)
	for i, hop := range choice() {
		if hop != all[i] {
			t.Fatalf("flow %d does not return to %d", i, all[i])
		}
	}
}

// TestLastHopStanding: whichever is left is found, and when none is, none.
func TestLastHopStanding(t *testing.T) {
	r, g := ecmp(64, 3)
	for i := range 64 {
		r.SetUp(i, false)
	}
	if hop, ok := r.Pick(g, 1); ok {
		t.Errorf("all are down, and %v was picked", hop)
	}
	for i := range 64 {
		r.SetUp(i, true)
		for n := range 100 {
			if hop, ok := r.Pick(g, flow(n)); !ok || hop.Interface != i {
				t.Fatalf("only %d is up: %v %v", i, hop, ok)
			}
		}
		r.SetUp(i, false)
	}
}

// BenchmarkECMP picks a hop for each time another flow, with all up and with one of eight down.
func BenchmarkECMP(b *testing.B) {
	for _, down := range []int{0, 1} {
		b.Run(fmt.Sprintf("hops=8/down=%d", down), func(b *testing.B) {
			r, g := ecmp(8, 1)
			for i := range down {
				r.SetUp(i, false)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, ok := r.Pick(g, flow(n)); !ok {
					b.Fatal("no hop")
				}
				n++
			}
		})
	}
}
