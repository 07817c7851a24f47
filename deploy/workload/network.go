package workload

import (
	"errors"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
)

// Fabric is a network by its kind: one of the fields is given. Package fabric says what they are.
type Fabric struct {
	Links Links  `yaml:"links"`
	Core  *Links `yaml:"core"` // of a dumbbell; the links if it is missing

	Star       *hosts     `yaml:"star"`
	Dumbbell   *dumbbell  `yaml:"dumbbell"`
	ParkingLot *struct{}  `yaml:"parking_lot"`
	Testbed    *hostsEach `yaml:"testbed"`
	TwoTier    *twoTier   `yaml:"two_tier"`
	Podsets    *podsets   `yaml:"podsets"`
	FatTree    *fatTree   `yaml:"fat_tree"`
}

type (
	hosts struct {
		Hosts int `yaml:"hosts"`
	}
	dumbbell struct {
		Pairs int `yaml:"pairs"`
	}
	hostsEach struct {
		Hosts int `yaml:"hosts_per_tor"`
	}
	twoTier struct {
		ToRs   int `yaml:"tors"`
		Leaves int `yaml:"leaves"`
		Hosts  int `yaml:"hosts_per_tor"`
	}
	podsets struct {
		Podsets int `yaml:"podsets"`
		Leaves  int `yaml:"leaves"`
		ToRs    int `yaml:"tors"`
		Hosts   int `yaml:"hosts_per_tor"`
		Spines  int `yaml:"spines"`
	}
	fatTree struct {
		K int `yaml:"k"`
	}
)

// Links are how all links of a network are.
type Links struct {
	Rate  unit.Rate     `yaml:"rate"`
	Delay time.Duration `yaml:"delay"`
}

// builder makes the network of one kind.
type builder struct {
	kind  string
	given bool
	build func(name string, l fabric.Links) lab.Topology
}

func (f *Fabric) builders() []builder {
	return []builder{
		{"star", f.Star != nil, func(name string, l fabric.Links) lab.Topology {
			return fabric.Star(name, f.Star.Hosts, l)
		}},
		{"dumbbell", f.Dumbbell != nil, func(name string, l fabric.Links) lab.Topology {
			core := l
			if f.Core != nil {
				core = fabric.Links(*f.Core)
			}
			return fabric.Dumbbell(name, f.Dumbbell.Pairs, l, core)
		}},
		{"parking_lot", f.ParkingLot != nil, fabric.ParkingLot},
		{"testbed", f.Testbed != nil, func(name string, l fabric.Links) lab.Topology {
			return fabric.Testbed(name, f.Testbed.Hosts, l)
		}},
		{"two_tier", f.TwoTier != nil, func(name string, l fabric.Links) lab.Topology {
			return fabric.TwoTier(name, f.TwoTier.ToRs, f.TwoTier.Leaves, f.TwoTier.Hosts, l)
		}},
		{"podsets", f.Podsets != nil, func(name string, l fabric.Links) lab.Topology {
			p := f.Podsets
			return fabric.Podsets(name, fabric.PodsetShape{Podsets: p.Podsets, Leaves: p.Leaves,
				ToRs: p.ToRs, Hosts: p.Hosts, Spines: p.Spines}, l)
		}},
		{"fat_tree", f.FatTree != nil, func(name string, l fabric.Links) lab.Topology {
			return fabric.FatTree(name, f.FatTree.K, l)
		}},
	}
}

// kind is the name of the kind that is given; empty if none is.
func (f *Fabric) kind() (kind string) {
	for _, b := range f.builders() {
		if b.given {
			return b.kind
		}
	}
	return ""
}

// build makes the network. What a builder finds impossible is an error here.
func (f *Fabric) build(name string) (t lab.Topology, err error) {
	var chosen []builder
	for _, b := range f.builders() {
		if b.given {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) != 1 {
		return t, errors.New("want one of star, dumbbell, parking_lot, testbed, two_tier, " +
			"podsets and fat_tree, or a topology")
	}
	return fabric.Try(func() lab.Topology { return chosen[0].build(name, fabric.Links(f.Links)) })
}
