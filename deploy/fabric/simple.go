package fabric

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/deploy/lab"
)

// Star is one switch sw0 with 1 to 256 hosts h1..hn on ports swp1..swpn.
func Star(name string, hosts int, l Links) lab.Topology {
	within("hosts", hosts, 1, dataplane.MaxPorts)
	return lab.Star(name, hosts, l.Rate, l.Delay)
}

// Dumbbell is two switches with one link between them, and as many hosts on the left as on the
// right: host li is on port swpi of swl, host ri on port swpi of swr, and the link is on the port
// behind those. There are 1 to 253 pairs.
//
//	l1 --.                  .-- r1
//	l2 -- swl ----core---- swr -- r2
//	l3 --'                  '-- r3
func Dumbbell(name string, pairs int, edge, core Links) lab.Topology {
	within("pairs", pairs, 1, maxHosts)
	p := &plan{name: name}
	left, right := p.addToR("swl"), p.addToR("swr")
	for _, side := range []*node{left, right} {
		for i := 1; i <= pairs; i++ {
			p.host(fmt.Sprintf("%s%d", side.name[2:], i), side, edge)
		}
	}
	toRight, toLeft := p.route(left, right, core)
	left.via(right.subnet(), toRight)
	right.via(left.subnet(), toLeft)
	return p.topology()
}

// ParkingLot is the multi-bottleneck scenario of [DCQCN] figure 20 (section 7). Of its flows
// h1->r1, h2->r2 and h3->r2, the one of h2 has two bottlenecks: the uplink of t1, which it shares
// with h1, and the port of t4 to r2, which it shares with h3. By max-min fairness each has half a
// link.
//
//	h1 --.                 .-- t2 -- r1
//	h2 -- t1 ----- l1 ----<
//	                       '-- t4 -- r2
//	                           |
//	                           h3
//
// The paper takes the case that ECMP maps both flows of t1 to the same uplink, so here t1 has but
// this one, and all that is between the ToRs is one switch: no queue can build there that the
// uplink does not let through. The text does not tell the ToRs of R1 and H3. We put H3 on T4, as H4
// in figure 3, because from a ToR behind the same leaf it would meet the flow of h2 before the
// bottleneck that the text names.
func ParkingLot(name string, l Links) lab.Topology {
	p := &plan{name: name}
	t1, t2, t4 := p.addToR("t1"), p.addToR("t2"), p.addToR("t4")
	leaf := p.addSwitch("l1")
	p.host("h1", t1, l)
	p.host("h2", t1, l)
	p.host("h3", t4, l)
	p.host("r1", t2, l)
	p.host("r2", t4, l)
	for _, t := range []*node{t1, t2, t4} {
		p.uplink(t, leaf, []*node{t}, l)
	}
	return p.topology()
}
