package fib

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
)

// Kind is what a route does with a packet.
type Kind uint8

// The kinds.
const (
	Via       Kind = iota // to one of the next hops
	Connected             // to the destination itself, on the hop's interface
	Local                 // to the switch
	Null                  // nowhere
)

var kindNames = [...]string{"via", "connected", "local", "null"}

func (k Kind) String() string { return kindNames[k] }

// Group is a next-hop group. Routes with the same next hops share one.
type Group struct {
	Kind Kind
	Hops []Hop // in order of address; one without an address if connected, none if local or null
	refs int   // routes that use it
}

// Hop is a next hop: a neighbour on an interface.
type Hop struct {
	Addr      netip.Addr
	Interface int
}

// Pick chooses a next hop for a flow by the hash of its five-tuple; false if all are down. A flow
// stays with its hop while that is up, whatever happens to the others: it draws hops, each of all
// with the same probability, until one is up. So a hop that goes down moves no flow but its own,
// which spread over those that are left, and takes its own back when it returns.
func (r *Router) Pick(g *Group, hash uint32) (Hop, bool) {
	n := uint64(len(g.Hops))
	if n == 1 {
		return g.Hops[0], r.up[g.Hops[0].Interface]
	}
	x := mix(uint64(hash) ^ r.seed)
	for range 2 * n {
		// The high word of x times n is a number below n.
		i, _ := bits.Mul64(x, n)
		if h := &g.Hops[i]; r.up[h.Interface] {
			return *h, true
		}
		x = mix(x)
	}
	// Few of many are up, and bad luck: the next one from where the draws ended.
	at, _ := bits.Mul64(x, n)
	for i := range n {
		if h := &g.Hops[(at+i)%n]; r.up[h.Interface] {
			return *h, true
		}
	}
	return Hop{}, false
}

// mix is the finaliser of SplitMix64: a permutation in which every bit of the result depends on
// every bit of x, so that switches with different seeds choose independently.
// Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014, figure 16.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func sortHops(hops []Hop) {
	slices.SortFunc(hops, func(a, b Hop) int {
		return cmp.Or(a.Addr.Compare(b.Addr), cmp.Compare(a.Interface, b.Interface))
	})
}
