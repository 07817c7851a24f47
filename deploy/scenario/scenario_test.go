package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
)

// two is an incast of two with PFC alone, after which nothing is slower than it was.
func two(name string) *Scenario {
	t := lab.Star(name, 3, 40*unit.GbPerSecond, time.Microsecond)
	t.NIC.CC.Algorithm = "none"
	t.Switch.WRED.ECN = "ecn_none"
	return &Scenario{Topology: t, Flows: Many("h3", nicd.FlowRequest{}, "h1", "h2"),
		Queues:   []Queue{{"sw0", "swp3", DataQueue}},
		Duration: 2 * time.Millisecond, Warmup: time.Millisecond, Interval: 50 * time.Microsecond}
}

// payload is the share of a link that is payload: 1024 of a frame's 1024 + 14 + 20 + 8 + 12 + 16
// (RETH, in the first packet of 977 only) + 4 + 4 (FCS) + 20 bytes (preamble and gap).
const payload = 1024.0 / (1024 + 14 + 20 + 8 + 12 + 4 + 4 + 20)

func TestTwoSendersShareALink(t *testing.T) {
	var heard time.Duration
	looked := false
	s := two("two")
	prepared := false
	s.Setup = func(ctx context.Context, node func(string) daemon.Caller) error {
		prepared = true
		return node("h2").Call(ctx, "GET", "/v1/addresses", nil, nil)
	}
	s.Probes = []Probe{{1500 * time.Microsecond, func(ctx context.Context,
		node func(string) daemon.Caller) error {
		looked = true
		return node("h1").Call(ctx, "GET", "/v1/addresses", nil, nil)
	}}}
	r, err := s.Virtual(t.Context(), func(passed, of time.Duration) { heard = passed })
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range r.Goodputs() {
		if want := 20e9 * payload; math.Abs(g-want) > 0.002*want {
			t.Errorf("flow %d: %.3f Gb/s, want %.3f", i, g/1e9, want/1e9)
		}
	}
	first, all := r.GoodputIn(0, 0, time.Millisecond), r.GoodputIn(0, 0, s.Duration)
	if second := r.GoodputIn(0, time.Millisecond, s.Duration); second != r.Goodput(0) ||
		math.Abs(first+second-2*all) > 1 {
		t.Errorf("goodput %v, then %v, together %v", first, second, all)
	}
	sent := r.SentLineBytes(0, s.Warmup, s.Duration)
	if u := sent * 8 / 40e9 / (s.Duration - s.Warmup).Seconds(); u != r.Utilisation(0) {
		t.Errorf("%v bytes left the queue, which is %v of the link", sent, u)
	}
	if u := r.Utilisation(0); u < 0.999 || u > 1.001 { // by a frame at either end
		t.Errorf("utilisation %v", u)
	}
	if sent, _ := r.PFC("sw0"); sent != 0 {
		t.Errorf("%d PFC frames: 2 ms at 40 Gb/s are 10 MB, which the buffer holds", sent)
	}
	if heard != s.Duration || !looked || !prepared {
		t.Errorf("heard of %v; looked: %v; set up: %v", heard, looked, prepared)
	}
	times, queue := r.Times(), r.QueueBytes(0)
	if len(times) != 40 || times[39] != 0.002 || len(queue) != 40 || !slices.IsSorted(queue[:20]) {
		t.Errorf("times %v, queue %v", times, queue)
	}
	if r.QueueLength(0).MaxBytes < queue[39] || r.Port("sw0", "swp3").Queues[3].SentBytes == 0 {
		t.Errorf("%+v", r.QueueLength(0))
	}
	if len(r.Dropped()) != 0 || r.Flow(1).Messages == 0 || len(s.Parameters()) == 0 {
		t.Errorf("dropped %v, %+v", r.Dropped(), r.Flow(1))
	}
}

// The parameters begin with the network, the time and what goes wrong.
func TestParameters(t *testing.T) {
	s := two("parameters")
	f, err := lab.ParseFault("sw0:swp1 loss 0.001 at 1ms for 500us")
	if err != nil {
		t.Fatal(err)
	}
	s.Topology.Faults = append(s.Topology.Faults, f)
	s.Topology.Links[0].Delay = 3 * time.Microsecond
	var text strings.Builder
	for _, p := range s.Parameters() {
		fmt.Fprintf(&text, "%s=%s\n", p.Name, p.Value)
	}
	const want = "hosts=3\nswitches=1\nlinks=40Gb/s 3µs; 40Gb/s 1µs\nflows=2\nduration=2ms\n" +
		"warm-up=1ms\nfault=sw0:swp1 loss 0.001 at 1ms for 500µs\npersonality=book\n"
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("%s\nwant it to begin with\n%s", text.String(), want)
	}
}

// The hash tells runs apart: the same scenario has the same, another seed another.
func TestHash(t *testing.T) {
	hash := func(change func(*Scenario)) string {
		s := two("hash")
		change(s)
		r, err := s.Virtual(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Hash
	}
	same := func(*Scenario) {}
	a, b := hash(same), hash(same)
	other := hash(func(s *Scenario) { s.Flows[1].StartNs = 2 })
	if a != b || a == other || len(a) != 64 {
		t.Errorf("%s, %s; changed: %s", a, b, other)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := two("stop").Virtual(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestMistakes(t *testing.T) {
	for want, spoil := range map[string]func(*Scenario){
		`no host "h9"`:               func(s *Scenario) { s.Flows[0].To = "h9" },
		`no host "sw0"`:              func(s *Scenario) { s.Flows[0].To = "sw0" },
		`no switch "h1"`:             func(s *Scenario) { s.Queues[0].Switch = "h1" },
		`is there twice`:             func(s *Scenario) { s.Flows[1].From = "h1" },
		`does not send to itself`:    func(s *Scenario) { s.Flows[0].To = "h1" },
		`want 0 <= warm-up`:          func(s *Scenario) { s.Warmup = s.Duration },
		`links[0].rate`:              func(s *Scenario) { s.Topology.Links[0].Rate = 0 },
		`no queue 9 on port "swp3"`:  func(s *Scenario) { s.Queues[0].Queue = 9 },
		`no queue 3 on port "swp99"`: func(s *Scenario) { s.Queues[0].Port = "swp99" },
	} {
		s := two("mistake")
		spoil(s)
		_, err := s.Virtual(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A NIC may have more in the network than the frames it holds itself: a switch of 40 MB stores some
// 9,500 packets of each sender.
func TestTheNetworkStoresWhatItHasRoomFor(t *testing.T) {
	s := two("deep")
	s.Topology.Switch.Pool.Size = 40 * unit.MB
	s.Topology.NIC.QP.MaxOutstanding = 1 << 20
	for i := range s.Flows {
		s.Flows[i].Depth = 16 // of 1 MB
	}
	s.Duration, s.Warmup = 4200*time.Microsecond, 0
	r, err := s.Virtual(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// Twice 40 Gb/s came and 40 left.
	want := 40e9 / 8 * s.Duration.Seconds() * (1082.0 / 1106) // the buffer knows no preamble
	if got := r.QueueLength(0).MaxBytes; got < 0.99*want {
		t.Errorf("%.2f MB in the queue, want %.2f", got/1e6, want/1e6)
	}
}
