package mmu

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// trident2 is the switch of [DCQCN] section 4: 12 MB, 32 ports, 8 priorities.
func trident2(limit Limit) Config {
	const tFlight = 22400
	return uniform(32, 12*unit.MB, Profile{Limit: limit, Lossless: true, Headroom: tFlight,
		XONOffset: 2 * mtu})
}

// [DCQCN] section 4: t_PFC <= (B - 8 n t_flight) / (8 n) = 24.47 KB is the largest static
// threshold at which every PG can reach it at once.
func TestDCQCNSection4StaticThreshold(t *testing.T) {
	const tPFC = 24470
	b := mustNew(t, trident2(Limit{Static: tPFC}))
	if got := b.Shared(0) / (8 * 32); got != 24475 {
		t.Fatalf("t_PFC bound %d", got)
	}
	for port := range frame.PortID(32) {
		for pg := range PG(8) {
			got, why := fill(b, at(port, pg), 1000)
			if got != 25000 || why != frame.NoReason {
				t.Fatalf("port %d group %d: XOFF after %d, %v", port, pg, got, why)
			}
		}
	}
}

// [DCQCN] section 4: t_PFC = beta (B - 8 n t_flight - s) / 8, here with beta = 8. One PG after the
// other fills to XOFF, each against the s that the others left.
func TestDCQCNSection4DynamicThreshold(t *testing.T) {
	const beta, step = 8, 100
	b := mustNew(t, trident2(Alpha(beta, 8)))
	for port := range frame.PortID(6) {
		got, why := fill(b, at(port, 3), step)
		if why != frame.NoReason {
			t.Fatalf("port %d: %v", port, why)
		}
		b.Release(at(port, 3), step) // the one in headroom, which s does not count
		s := b.Pool(0).Occupancy
		used, tPFC := got-step, beta*(12*unit.MB-8*32*22400-s)/8
		if used > tPFC+step || used < tPFC-step {
			t.Errorf("port %d: XOFF at %d, t_PFC %d (s = %d)", port, used, tPFC, s)
		}
	}
}

// [DCQCN] section 4: RESUME when the queue falls below t_PFC by two MTU.
func TestDCQCNSection4Resume(t *testing.T) {
	b := mustNew(t, trident2(Limit{Static: 20 * mtu}))
	w := at(0, 3)
	fill(b, w, mtu)
	changes(b)
	b.Release(w, mtu) // out of headroom: at the threshold
	b.Release(w, mtu) // one MTU below
	if got := changes(b); len(got) != 0 {
		t.Fatalf("resumed one MTU below: %v", got)
	}
	b.Release(w, mtu)
	if got := changes(b); len(got) != 1 || got[0].XOFF {
		t.Errorf("two MTU below: %v", got)
	}
}

// [RDMA at scale] section 6.2: alpha times unallocated buffer > allocated to the PG. A PG alone
// ends at alpha/(1+alpha) of shared; 1/64 instead of 1/16 pauses about four times as early.
func TestScaleSection62Alpha(t *testing.T) {
	for _, c := range []struct {
		den  int64
		want unit.Bytes
	}{{16, 9 * unit.MB / 17}, {64, 9 * unit.MB / 65}} {
		b := mustNew(t, uniform(1, 9*unit.MB+8*22400, Profile{Limit: Alpha(1, c.den),
			Lossless: true, Headroom: 22400}))
		fill(b, at(0, 3), 100)
		got := b.Group(0, 3).Shared
		if got > c.want || got < c.want-200 {
			t.Errorf("alpha 1/%d: XOFF at %d, want %d", c.den, got, c.want)
		}
	}
}

// [RDMA at scale] section 6.2 and [DCQCN] section 4 say the same: with UB = B - 8 n t_flight - s
// and alpha = beta/8, a PG may allocate as long as alpha x UB > B_{p,i}, which is as long as its
// queue is below t_PFC = beta (B - 8 n t_flight - s) / 8. At every step of a walk the two agree,
// the buffer's own limit is both, and the frame that takes the PG to XOFF is the first to pass it.
func TestScaleSection62IsDCQCNSection4(t *testing.T) {
	const ports, bufferSize, tFlight, step = 32, 12 * unit.MB, 22400, 1000
	for _, beta := range []unit.Bytes{1, 2, 4, 8, 16} {
		b := mustNew(t, trident2(Alpha(int64(beta), 8)))
		for port := range frame.PortID(4) {
			for {
				s, used := b.Pool(0).Occupancy, b.Group(port, 3).Shared
				unallocated := bufferSize - 8*ports*tFlight - s
				tPFC := beta * unallocated / 8
				byScale := float64(beta)/8*float64(unallocated) > float64(used)
				byDCQCN := used < tPFC || used == tPFC && beta*unallocated%8 > 0
				if limit := b.Group(port, 3).Limit; limit != tPFC || byScale != byDCQCN {
					t.Fatalf("beta %d, %d stored: limit %d, t_PFC %d, by [RDMA at scale] %v", beta,
						used, limit, tPFC, byScale)
				}
				b.Admit(at(port, 3), step)
				if xoff := b.Group(port, 3).XOFF; xoff != (used+step > tPFC) {
					t.Fatalf("beta %d: XOFF %v with %d stored, t_PFC %d", beta, xoff, used, tPFC)
				} else if xoff {
					b.Release(at(port, 3), step) // s of the paper does not count headroom
					break
				}
			}
		}
	}
}
