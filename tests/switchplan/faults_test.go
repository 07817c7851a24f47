package switchplan

import (
	"math"
	"testing"
	"time"
)

// faulty sends count frames through a fault at port 2, and returns the numbers of those that came
// and of those that came damaged.
func faulty(b *bench, text string, count int) (came, damaged []int) {
	const in, out = 0, 2
	b.fault(out, text)
	s := stream{port: in, at: b.now().Add(start), every: time.Microsecond, count: count,
		frame: &packet{from: in, to: out, dscp: dscpLossless, payload: 256}}
	b.send(s)
	b.run(s.end().Add(start))
	data, _ := b.arrivals(out)
	for i := range data {
		if n, whole := data[i].number(); whole {
			came = append(came, n)
		} else {
			damaged = append(damaged, n)
		}
	}
	return came, damaged
}

// missing is which of count numbers are not in a list.
func missing(came []int, count int) (list []int) {
	has := make(map[int]bool)
	for _, n := range came {
		has[n] = true
	}
	for n := range count {
		if !has[n] {
			list = append(list, n)
		}
	}
	return list
}

// Faults by rule hit the packets that the rule names, and no others: [RDMA at scale] section 4.1
// drops every packet whose IP ID ends in 0xff.
func TestFaultsByRule(t *testing.T) {
	for _, c := range []struct {
		text, checks string
		hits         func(n int) bool // n is the packet's IP ID and PSN
	}{
		{"drop ipid 0xff", "[RDMA at scale] 4.1: IP ID ends in 0xff",
			func(n int) bool { return n&0xff == 0xff }},
		{"drop qp 0x11 psn 100", "one packet of a queue pair",
			func(n int) bool { return n == 100 }},
		{"drop every 50", "every 50th packet", func(n int) bool { return (n+1)%50 == 0 }},
	} {
		conform(t, card{plan: &ourOwn, name: "fault: " + c.text, checks: c.checks},
			func(b *bench) {
				const count = 600
				came, damaged := faulty(b, c.text, count)
				var want []int
				for n := range count {
					if c.hits(n) {
						want = append(want, n)
					}
				}
				b.equal("lost", missing(came, count), want)
				b.equal("damaged", len(damaged), 0)
			})
	}
}

// Faults by chance hit as many as the chance says, within five standard deviations.
func TestFaultsByChance(t *testing.T) {
	const count, chance = 3000, 0.02
	limit := 5 * math.Sqrt(chance*(1-chance)*count) / (chance * count)
	conform(t, card{plan: &ourOwn, name: "fault: loss 0.02",
		checks: "frames are lost with the probability, within 5 sigma"}, func(b *bench) {
		came, _ := faulty(b, "loss 0.02", count)
		b.near("lost", float64(count-len(came)), chance*count, limit)
	})
	conform(t, card{plan: &ourOwn, name: "fault: corrupt 0.02",
		checks: "one bit is flipped with the probability: every frame comes, the ICRC tells"},
		func(b *bench) {
			b.spoilt = true
			came, damaged := faulty(b, "corrupt 0.02", count)
			b.near("damaged", float64(len(damaged)), chance*count, limit)
			b.equal("arrived", len(came)+len(damaged), count)
		})
}
