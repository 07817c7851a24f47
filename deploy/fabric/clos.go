package fabric

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/deploy/lab"
)

// clos is a Clos network of pods. In a pod every ToR has a link to every leaf. Above the pods are
// spines, if there are several pods.
type clos struct {
	pods, tors, leaves int // ToRs and leaves of one pod
	hosts              int // of one ToR
	spines             int
	// planes: leaf i of each pod has links to the i-th share of the spines, not to all of them.
	planes bool

	letters string // of the names of ToRs, leaves and spines
	flat    bool   // ToRs and leaves are counted over all pods: t3, not t2-1
}

// Testbed is the Clos of [DCQCN] figure 2: ToRs t1..t4, leaves l1..l4, spines s1 and s2. The paper
// had five hosts on each ToR for its benchmarks (section 6.2); host 2 of t1, its H12, is h1-2.
// There are 1 to 253 hosts per ToR.
//
//	       s1          s2
//	     // \\ \\  // // \\         every leaf on both spines
//	    l1   l2      l3   l4
//	    | \ / |      | \ / |
//	    | / \ |      | / \ |
//	    t1   t2      t3   t4
//	h1-1..  h2-1..  h3-1.. h4-1..
func Testbed(name string, hostsPerToR int, l Links) lab.Topology {
	return clos{pods: 2, tors: 2, leaves: 2, hosts: hostsPerToR, spines: 2, letters: "tls",
		flat: true}.build(name, l)
}

// TwoTier is one pod: ToRs t1.. and leaves l1.., every ToR with a link to every leaf. [RDMA at
// scale] figure 8 has 2 ToRs, 4 leaves and 24 hosts per ToR (section 5.4).
func TwoTier(name string, tors, leaves, hostsPerToR int, l Links) lab.Topology {
	return clos{pods: 1, tors: tors, leaves: leaves, hosts: hostsPerToR, letters: "tl",
		flat: true}.build(name, l)
}

// PodsetShape is how large a Clos of podsets is.
type PodsetShape struct {
	Podsets int
	Leaves  int // of a podset
	ToRs    int // of a podset
	Hosts   int // of a ToR
	Spines  int // in all; a multiple of Leaves
}

// Figure7 is the network of [RDMA at scale] figure 7 (section 5.4): 2 podsets, each of 4 leaves, 24
// ToRs and 576 servers, and 64 spines.
func Figure7() PodsetShape {
	return PodsetShape{Podsets: 2, Leaves: 4, ToRs: 24, Hosts: 24, Spines: 64}
}

// Podsets is the Clos of [RDMA at scale] figure 7 (section 5.4). ToR 3 of podset 1 is t1-3, leaf 2
// of podset 2 is l2-2, spines are s1... Leaf i of each podset has a link to each spine of the i-th
// share of the spines: so figure 7 has its 128 leaf-spine links, 16 from each leaf, which with 24
// ToRs below is the oversubscription of 3:2 that the paper gives.
func Podsets(name string, p PodsetShape, l Links) lab.Topology {
	return clos{pods: p.Podsets, tors: p.ToRs, leaves: p.Leaves, hosts: p.Hosts,
		spines: p.Spines, planes: true, letters: "tls"}.build(name, l)
}

// FatTree is the k-ary fat tree: k pods, in each k/2 edge switches (e1-1..) with k/2 hosts each and
// k/2 aggregation switches (a1-1..), and (k/2)^2 core switches (c1..), all of k ports. k is even.
// Al-Fares, Loukissas, Vahdat: A scalable, commodity data center network architecture, SIGCOMM
// 2008, section 2.2.
func FatTree(name string, k int, l Links) lab.Topology {
	if k%2 != 0 {
		panic(impossible(fmt.Sprintf("switches of %d ports: want an even number", k)))
	}
	return clos{pods: k, tors: k / 2, leaves: k / 2, hosts: k / 2, spines: k / 2 * k / 2,
		planes: true, letters: "eac"}.build(name, l)
}

// build makes the switches level by level, then links and routes from the hosts up.
func (c clos) build(name string, l Links) lab.Topology {
	c.judge()
	p := &plan{name: name}
	tors := c.level(c.letters[:1], c.tors, p.addToR)
	leaves := c.level(c.letters[1:2], c.leaves, p.addSwitch)
	var spines []*node
	for i := range c.spines {
		spines = append(spines, p.addSwitch(fmt.Sprint(c.letters[2:], i+1)))
	}
	for _, t := range tors {
		for i := 1; i <= c.hosts; i++ {
			p.host(fmt.Sprintf("h%s-%d", t.name[1:], i), t, l)
		}
	}
	for i, t := range tors {
		for _, leaf := range part(leaves, i/c.tors, c.leaves) {
			p.uplink(t, leaf, []*node{t}, l)
		}
	}
	for i, leaf := range leaves {
		reach := spines
		if c.planes {
			reach = part(spines, i%c.leaves, c.spines/c.leaves)
		}
		for _, s := range reach {
			p.uplink(leaf, s, part(tors, i/c.leaves, c.tors), l)
		}
	}
	return p.topology()
}

// judge panics if there cannot be such a network.
func (c clos) judge() {
	within("pods", c.pods, 1, maxToRs)
	within("ToRs of a pod", c.tors, 1, maxToRs/c.pods)
	within("leaves of a pod", c.leaves, 1, dataplane.MaxPorts)
	within("hosts of a ToR", c.hosts, 1, maxHosts)
	if c.pods > 1 {
		within("spines", c.spines, 1, maxLinks)
	}
	if c.planes && c.spines%c.leaves != 0 {
		panic(impossible(fmt.Sprintf("%d spines for %d leaves of a pod: want a multiple",
			c.spines, c.leaves)))
	}
}

// level makes the ToRs or the leaves of all pods, so many of each.
func (c clos) level(letter string, each int, add func(name string) *node) (all []*node) {
	for i := range c.pods * each {
		if c.flat {
			all = append(all, add(fmt.Sprint(letter, i+1)))
		} else {
			all = append(all, add(fmt.Sprintf("%s%d-%d", letter, i/each+1, i%each+1)))
		}
	}
	return all
}

// part is the i-th part of a level, in parts of so many.
func part(level []*node, i, each int) []*node { return level[i*each : (i+1)*each] }
