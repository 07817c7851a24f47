package fabric_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// network is a network in virtual time.
type network struct {
	*twin.Twin
	t       *testing.T
	top     lab.Topology
	senders map[string]bool
}

func run(t *testing.T, top lab.Topology) *network {
	t.Helper()
	top.Switch.Frames = 1 << 12 // what these few packets need, not what the buffer could hold
	tw, err := twin.New(&top)
	if err != nil {
		t.Fatal(err)
	}
	return &network{tw, t, top, map[string]bool{}}
}

func (n *network) call(method, node, path string, req, resp any) {
	n.t.Helper()
	if err := n.Client(node).Call(n.t.Context(), method, path, req, resp); err != nil {
		n.t.Fatal(err)
	}
}

// messageBytes is one message of every flow: a few packets.
const messageBytes = 4 << 10

// write lets one host write a message into another.
func (n *network) write(from, to string) {
	n.t.Helper()
	var a, b nicd.Endpoint
	open := nicd.OpenRequest{Bytes: messageBytes}
	n.call(http.MethodPost, from, "/v1/open", open, &a)
	n.call(http.MethodPost, to, "/v1/open", open, &b)
	n.call(http.MethodPost, from, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	n.call(http.MethodPost, to, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
	n.call(http.MethodPost, from, "/v1/flow", nicd.FlowRequest{Name: fmt.Sprint(to, a.QPN),
		QPN: a.QPN, Verb: "write", Depth: 1, MessageBytes: messageBytes, Messages: 1}, nil)
	n.senders[from] = true
}

// finish lets the flows end, and fails unless every message arrived at the first attempt, no switch
// dropped anything, and every frame is accounted for.
func (n *network) finish() {
	n.t.Helper()
	const end = 5 * time.Millisecond
	once := daemon.SampleRequest{IntervalNs: end.Nanoseconds(), Count: 1}
	for name := range n.senders {
		n.call(http.MethodPost, name, "/v1/sample", once, nil)
	}
	n.Run(unit.Time(end))
	for name := range n.senders {
		var st nicd.State
		n.call(http.MethodGet, name, "/v1/sampled", nil, &st)
		if len(st.Flows) == 0 {
			n.t.Errorf("%s has no flow", name)
		}
		for _, f := range st.Flows {
			if f.Messages != 1 || f.Failed != 0 || f.Retransmitted != 0 {
				n.t.Errorf("%s to %s: %+v", name, f.Name, f)
			}
		}
	}
	for _, v := range n.top.Nodes {
		if v.Kind != lab.Switch {
			continue
		}
		for _, p := range n.state(v.Name).Ports {
			// A host announces itself; alone on its ToR, to nobody.
			p.DroppedPackets[0]["no_route"] -= min(p.DroppedPackets[0]["no_route"], 1)
			for class, drops := range p.DroppedPackets {
				for why, packets := range drops {
					if packets != 0 {
						n.t.Errorf("%s:%s dropped %d packets of class %d: %s", v.Name, p.Name,
							packets, class, why)
					}
				}
			}
		}
	}
	if err := n.Net.Check(); err != nil {
		n.t.Error(err)
	}
}

func (n *network) state(sw string) (st switchd.State) {
	n.t.Helper()
	n.call(http.MethodGet, sw, "/v1/state", nil, &st)
	return st
}

// dataClass is where data travels by default: the one lossless class of a NIC.
const dataClass = 3

// forwarded is how many data packets left all switches.
func (n *network) forwarded() (sum uint64) {
	for _, v := range n.top.Nodes {
		if v.Kind == lab.Switch {
			for _, p := range n.state(v.Name).Ports {
				sum += p.Sent[dataClass].Frames
			}
		}
	}
	return sum
}

func (n *network) hosts() (names []string) {
	for _, v := range n.top.Nodes {
		if v.Kind == lab.Host {
			names = append(names, v.Name)
		}
	}
	return names
}

// TestEveryHostReachesEveryOther: a message between any two hosts arrives, at the first attempt and
// without a drop, from the first moment on.
func TestEveryHostReachesEveryOther(t *testing.T) {
	small := fabric.PodsetShape{Podsets: 2, Leaves: 2, ToRs: 2, Hosts: 2, Spines: 4}
	for name, top := range map[string]lab.Topology{
		"star":     fabric.Star("a", 4, links),
		"dumbbell": fabric.Dumbbell("a", 3, links, links),
		"parking":  fabric.ParkingLot("a", links),
		"testbed":  fabric.Testbed("a", 2, links),
		"two-tier": fabric.TwoTier("a", 2, 4, 3, links),
		"podsets":  fabric.Podsets("a", small, links),
		"fat tree": fabric.FatTree("a", 4, links),
	} {
		t.Run(name, func(t *testing.T) {
			n := run(t, top)
			for _, from := range n.hosts() {
				for _, to := range n.hosts() {
					if from != to {
						n.write(from, to)
					}
				}
			}
			n.finish()
		})
	}
}

// TestHops: packets cross as many switches as there are on the way, and no others.
func TestHops(t *testing.T) {
	const packets = messageBytes / 1024 // of the default path MTU
	for _, c := range []struct {
		from, to string
		switches uint64
		top      lab.Topology
	}{
		{"h1", "h4", 1, fabric.Star("a", 4, links)},
		{"l1", "l2", 1, fabric.Dumbbell("a", 2, links, links)},
		{"l1", "r2", 2, fabric.Dumbbell("a", 2, links, links)},
		{"h1", "r1", 3, fabric.ParkingLot("a", links)},
		{"h2", "r2", 3, fabric.ParkingLot("a", links)},
		{"h3", "r2", 1, fabric.ParkingLot("a", links)},
		{"h1-1", "h1-5", 1, fabric.Testbed("a", 5, links)},
		{"h1-1", "h2-5", 3, fabric.Testbed("a", 5, links)},
		{"h1-1", "h4-5", 5, fabric.Testbed("a", 5, links)},
		{"h2-24", "h1-1", 3, fabric.TwoTier("a", 2, 4, 24, links)},
		{"h1-1-1", "h2-2-1", 5, fabric.FatTree("a", 2*2, links)},
	} {
		n := run(t, c.top)
		n.write(c.from, c.to)
		n.finish()
		// The answer to a write of one message is one ACK, in the class of the data.
		if got, want := n.forwarded(), (packets+1)*c.switches; got != want {
			t.Errorf("%s to %s: switches forwarded %d packets, want %d", c.from, c.to, got, want)
		}
	}
}

// TestECMPUsesEveryLink: over many flows between two pods every link between switches carries data
// in both directions.
func TestECMPUsesEveryLink(t *testing.T) {
	shape := fabric.PodsetShape{Podsets: 2, Leaves: 4, ToRs: 1, Hosts: 4, Spines: 8}
	for name, top := range map[string]lab.Topology{
		"testbed": fabric.Testbed("a", 4, links),
		"podsets": fabric.Podsets("a", shape, links),
	} {
		n := run(t, top)
		for _, from := range n.hosts() {
			for _, to := range n.hosts() {
				for range 2 {
					if from != to {
						n.write(from, to)
					}
				}
			}
		}
		n.finish()
		for _, v := range n.top.Nodes {
			if v.Kind != lab.Switch {
				continue
			}
			for _, p := range n.state(v.Name).Ports {
				if p.Sent[dataClass].Frames == 0 {
					t.Errorf("%s: %s:%s carried nothing", name, v.Name, p.Name)
				}
			}
		}
	}
}

// choices is how many data packets each port of the leaves and spines sent, of flows that are the
// same whatever the seed.
func choices(t *testing.T, seed uint64) (sent []uint64) {
	t.Helper()
	top := fabric.Testbed("a", 2, links)
	top.Seed = seed
	n := run(t, top)
	for range 4 {
		n.write("h1-1", "h3-1")
		n.write("h2-2", "h4-2")
	}
	n.finish()
	for _, sw := range []string{"l1", "l2", "l3", "l4", "s1", "s2"} {
		for _, p := range n.state(sw).Ports {
			sent = append(sent, p.Sent[dataClass].Frames)
		}
	}
	return sent
}

// TestSeedChoosesPaths: the same seed is the same run, other seeds are other choices of ECMP.
func TestSeedChoosesPaths(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(6) {
		once := fmt.Sprint(choices(t, seed))
		if again := fmt.Sprint(choices(t, seed)); again != once {
			t.Errorf("seed %d: %s, and again %s", seed, once, again)
		}
		seen[once] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d different runs of 6 seeds: %v", len(seen), seen)
	}
}
