package lab

import (
	"errors"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/deadlock"
)

// TestFindDeadlock: what the switches tell is joined along the topology's links.
func TestFindDeadlock(t *testing.T) {
	topo := Topology{Nodes: []Node{{Name: "h1", Kind: Host}, {Name: "a", Kind: Switch},
		{Name: "b", Kind: Switch}},
		Links: []Link{{Endpoints: [2]Endpoint{{"h1", "eth0"}, {"a", "swp1"}}},
			{Endpoints: [2]Endpoint{{"a", "swp2"}, {"b", "swp1"}}}}}
	waits := map[string][]deadlock.Wait{
		"a": {{In: "swp2", Pauses: []int{3}, Out: "swp2", PausedBy: []int{3}, Queue: 3},
			{In: "swp1", Pauses: []int{3}, Out: "swp2", PausedBy: []int{3}, Queue: 3}},
		"b": {{In: "swp1", Pauses: []int{3}, Out: "swp1", PausedBy: []int{3}, Queue: 3}},
	}
	info := topo.Info()
	r, err := info.FindDeadlock(func(node string) (switchd.Waits, error) {
		return switchd.Waits{Waits: waits[node]}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.String(); !strings.Contains(got, "a:swp2 prio 3 -> b:swp1 prio 3 -> a:swp2") ||
		!strings.Contains(got, "victims: h1:eth0 prio 3") {
		t.Errorf("got %s", got)
	}
	_, err = info.FindDeadlock(func(string) (w switchd.Waits, err error) {
		return w, errors.New("gone")
	})
	if err == nil || !strings.HasPrefix(err.Error(), "a: ") {
		t.Errorf("error %v does not name the switch", err)
	}
}

// TestDeadlockThatPassed: a cycle whose pauses have ended and begun again between two rounds was
// none.
func TestDeadlockThatPassed(t *testing.T) {
	info := Info{Nodes: []NodeInfo{{"a", Switch}, {"b", Switch}},
		Links: []LinkInfo{{[2]Endpoint{{"a", "swp1"}, {"b", "swp1"}}}}}
	for step, cycles := range map[int64]int{0: 1, 1: 0} {
		at, asked := int64(0), 0
		r, err := info.FindDeadlock(func(string) (switchd.Waits, error) {
			asked++
			at += step
			return switchd.Waits{Waits: []deadlock.Wait{{In: "swp1", Pauses: []int{3}, SinceNs: at,
				Out: "swp1", PausedBy: []int{3}, OutSinceNs: at}}}, nil
		})
		if err != nil || len(r.Cycles) != cycles || asked != 4 {
			t.Errorf("step %d: %v %v, asked %d times", step, r, err, asked)
		}
	}
}
