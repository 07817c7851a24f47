package fib

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func router(t testing.TB) *Router {
	t.Helper()
	c := torConfig()
	if err := c.Validate(6); err != nil {
		t.Fatal(err)
	}
	return NewRouter(c, 6)
}

func TestRoutesOfAToR(t *testing.T) {
	r := router(t)
	for _, c := range []struct {
		dst  string
		want Kind
		on   int
	}{
		{"10.0.1.1", Local, -1}, {"10.0.1.77", Connected, 0}, {"10.0.1.255", Null, -1},
		{"10.0.1.0", Null, -1}, {"10.1.0.0", Local, -1}, {"10.1.0.1", Connected, 1},
		{"10.1.0.3", Connected, 2}, {"192.0.2.1", Via, 1}, {"224.0.0.5", Null, -1},
		{"255.255.255.255", Null, -1}, {"127.0.0.1", Null, -1}, {"0.0.0.0", Null, -1},
		{"fd00:1::1", Local, -1}, {"fd00:1::", Connected, 0}, {"fd01::1", Connected, 1},
		{"2001:db8::1", Via, 1}, {"fe80::1", Null, -1}, {"ff02::1", Null, -1}, {"::1", Null, -1},
	} {
		g := r.Lookup(netip.MustParseAddr(c.dst))
		if g == nil || g.Kind != c.want || (c.on >= 0 && g.Hops[0].Interface != c.on) {
			t.Errorf("%s: %+v, want %v on interface %d", c.dst, g, c.want, c.on)
		}
	}
	if r.Interface(0) != 0 || r.Routed(0) || r.Interface(5) != 2 || !r.Routed(5) {
		t.Error("ports and interfaces do not belong together")
	}
	c := torConfig()
	c.Interfaces = c.Interfaces[1:] // no bridge
	if r := NewRouter(c, 6); r.Interface(0) != -1 || r.Routed(0) {
		t.Error("a port without an interface has one")
	}
}

// TestGroupsAreShared: routes with the same next hops, in whatever order, have one group.
func TestGroupsAreShared(t *testing.T) {
	r := router(t)
	add := func(p string, via ...string) {
		t.Helper()
		if err := r.AddRoute(Route{prefix(p), hops(via...)}); err != nil {
			t.Fatal(err)
		}
	}
	add("192.0.2.0/24", "10.1.0.3", "10.1.0.1")
	if r.Groups() != 2 || r.Lookup(hops("192.0.2.1")[0]) != r.Lookup(hops("198.51.100.1")[0]) {
		t.Errorf("%d groups", r.Groups())
	}
	add("192.0.2.0/24", "10.1.0.3")
	if r.Groups() != 3 || len(r.Lookup(hops("192.0.2.1")[0]).Hops) != 1 {
		t.Errorf("%d groups after a change", r.Groups())
	}
	if err := r.RemoveRoute(prefix("192.0.2.0/24")); err != nil || r.Groups() != 2 {
		t.Errorf("%v, %d groups after removal", err, r.Groups())
	}
	for _, p := range []string{"192.0.2.0/24", "10.0.1.0/24", "10.0.1.1/32", "224.0.0.0/4"} {
		if r.RemoveRoute(prefix(p)) == nil {
			t.Errorf("%s was removed", p)
		}
		if p != "192.0.2.0/24" && r.AddRoute(Route{prefix(p), hops("10.1.0.1")}) == nil {
			t.Errorf("%s was replaced", p)
		}
	}
}

// linear is the dumb oracle: every prefix is looked at.
type linear map[netip.Prefix]*Group

func (l linear) lookup(dst netip.Addr) (best *Group) {
	length := -1
	for p, g := range l {
		if p.Contains(dst) && p.Bits() > length {
			best, length = g, p.Bits()
		}
	}
	return best
}

// TestLongestPrefixAgainstLinearScan adds, changes, removes and looks up in any order, with
// prefixes of few bits so that they nest.
func TestLongestPrefixAgainstLinearScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRouter(torConfig(), 6)
		model := linear{}
		r.Routes(func(p netip.Prefix, g *Group) bool { model[p] = g; return true })
		drawn := rapid.Custom(func(t *rapid.T) netip.Prefix {
			var a [16]byte
			for i := range a {
				a[i] = rapid.SampledFrom([]byte{0, 10, 0xfd, 1}).Draw(t, "byte")
			}
			if rapid.Bool().Draw(t, "v4") {
				bits := rapid.IntRange(0, 32).Draw(t, "bits")
				return netip.PrefixFrom(netip.AddrFrom4([4]byte(a[:4])), bits).Masked()
			}
			return netip.PrefixFrom(netip.AddrFrom16(a), rapid.IntRange(0, 128).Draw(t, "bits")).
				Masked()
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				p := drawn.Draw(t, "prefix")
				via := hops("10.1.0.1", "10.1.0.3")
				if p.Addr().Is6() {
					via = hops("fd01::1", "fd01::3")
				}
				route := Route{p, via[rapid.IntRange(0, 1).Draw(t, "from"):]}
				old, there := model[p]
				refused := p.Addr().Is4In6() || (there && old.Kind != Via)
				if err := r.AddRoute(route); (err != nil) != refused {
					t.Fatalf("%v: %v", p, err)
				}
				if !refused {
					g, _ := r.table.Get(p)
					model[p] = g
				}
			},
			"remove": func(t *rapid.T) {
				p := drawn.Draw(t, "prefix")
				old, there := model[p]
				if err := r.RemoveRoute(p); (err == nil) != (there && old.Kind == Via) {
					t.Fatalf("%v: %v", p, err)
				} else if err == nil {
					delete(model, p)
				}
			},
			"": func(t *rapid.T) {
				dst := drawn.Draw(t, "destination").Addr()
				if got, want := r.Lookup(dst), model.lookup(dst); got != want && !dst.Is4In6() {
					t.Fatalf("%v: %+v, want %+v", dst, got, want)
				}
				if r.Len() != len(model) {
					t.Fatalf("%d routes, want %d", r.Len(), len(model))
				}
			},
		})
	})
}

// Roughly the Internet's tables: the shares of prefix lengths (six of ten IPv4 prefixes are a /24,
// IPv6 has twice the lengths), and 25 prefixes in each /16 (IPv6: /32) that has any.
var lengths = []int{24, 24, 24, 24, 24, 24, 22, 23, 20, 19, 16, 21}

const perBlock = 25

// internet fills a router with so many routes, and returns an address in each.
func internet(r *Router, routes int, v6 bool) (addrs []netip.Addr) {
	rng := rand.New(rand.NewPCG(1, 2))
	blocks := make([]uint32, routes/perBlock)
	for i := range blocks {
		blocks[i] = (0x0100 + rng.Uint32N(0xde00)) << 16 // 1.0.0.0/16 to 222.255.0.0/16
	}
	via := hops("10.1.0.1", "10.1.0.3")
	if v6 {
		via = hops("fd01::1", "fd01::3")
	}
	for r.Len() < routes {
		n := blocks[rng.IntN(len(blocks))] | rng.Uint32()&0xffff
		length := lengths[rng.IntN(len(lengths))]
		var addr netip.Addr
		if v6 {
			a := [16]byte{0x20, 0x01}
			binary.BigEndian.PutUint32(a[2:], n)
			addr, length = netip.AddrFrom16(a), 2*length
		} else {
			var a [4]byte
			binary.BigEndian.PutUint32(a[:], n)
			addr = netip.AddrFrom4(a)
		}
		p := netip.PrefixFrom(addr, length).Masked()
		if r.AddRoute(Route{p, via}) == nil {
			addrs = append(addrs, addr)
		}
	}
	rng.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	return addrs
}

// BenchmarkRoute looks 100,000 routes up, for so many destinations that are in use at a time.
func BenchmarkRoute(b *testing.B) {
	const routes = 100_000
	for _, v6 := range []bool{false, true} {
		r := router(b)
		addrs := internet(r, routes, v6)
		for _, used := range []int{100, 1000, len(addrs)} {
			b.Run(fmt.Sprintf("v6=%v/destinations=%d", v6, used), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					if r.Lookup(addrs[n]) == nil {
						b.Fatal("no route")
					}
					if n++; n == used {
						n = 0
					}
				}
			})
		}
	}
}

// TestRoutesInOrder: what Routes shows is sorted, and ends when told to.
func TestRoutesInOrder(t *testing.T) {
	var all []netip.Prefix
	router(t).Routes(func(p netip.Prefix, _ *Group) bool {
		all = append(all, p)
		return len(all) < 5
	})
	if len(all) != 5 || !slices.IsSortedFunc(all, netip.Prefix.Compare) {
		t.Errorf("%v", all)
	}
}
