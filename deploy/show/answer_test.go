package show

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/switchd"
)

func TestCommas(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000",
		1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := commas(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := commas[int64](-1234); got != "-1,234" {
		t.Error(got)
	}
}

func TestNaturalOrder(t *testing.T) {
	names := []string{"swp10", "swp2", "eth0", "swp1", "swp", "swp2s1", "Ethernet4", "swp2s0"}
	slices.SortFunc(names, natural)
	want := []string{"Ethernet4", "eth0", "swp", "swp1", "swp2", "swp2s0", "swp2s1", "swp10"}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestLeftTable(t *testing.T) {
	tab := left("A", "Name")
	tab.row("some text", "")
	tab.row("x", "y")
	want(t, tab.String(), "A          Name\n---------  ------\nsome text\nx          y\n")
	want(t, tab.bare(), "---------  -\nsome text\nx          y\n---------  -\n")
}

func TestFilter(t *testing.T) {
	st := ethernets("swp10", "swp2", "swp1")
	if err := (&Filter{Ports: []string{"swp10", "swp1"}}).Apply(st); err != nil {
		t.Fatal(err)
	}
	if len(st.Ports) != 2 || st.Ports[0].Name != "swp1" || st.Ports[1].Name != "swp10" {
		t.Errorf("ports %+v", st.Ports)
	}
	err := (&Filter{Ports: []string{"swp3"}}).Apply(st)
	if err == nil || !strings.Contains(err.Error(), `switch sw0 has no port "swp3"`) {
		t.Error(err)
	}
}

func TestTextOfSeveralSwitches(t *testing.T) {
	a, b := ethernets("p1"), ethernets("p1")
	b.Name = "sw1"
	answer := Answer{Lab: "l", Command: "show pfc priority",
		Blocks: []Block{NewGroupDrops(a), NewGroupDrops(b)}}
	var out strings.Builder
	if err := answer.Text(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "Switch sw0\nIngress PG") ||
		!strings.Contains(text, "\n\nSwitch sw1\nIngress PG") {
		t.Error(text)
	}
	answer.Blocks = answer.Blocks[:1]
	out.Reset()
	if err := answer.Text(&out); err != nil || strings.Contains(out.String(), "Switch") {
		t.Errorf("%v %s", err, out.String())
	}
}

// everyBlock is each block of a switch without traffic.
func everyBlock(st *switchd.State) []Block {
	f := &Filter{}
	return []Block{NewPFCCounters(st), NewPFCHistory(st), NewPFCPriority(st), NewPFCAsymmetric(st),
		NewGroupShared(st, User), NewGroupHeadroom(st, User), NewGroupDrops(st),
		NewQueueCounters(st, f), NewWREDCounters(st, f), NewQueueUnicast(st, User),
		NewPoolWatermarks(st, User), NewHeadroomWatermarks(st, User), NewPFCWDStats(st, true),
		NewPFCWDConfig(st), NewInterfaceCounters(st, nil, 0, f), NewInterfaceStatus(st)}
}

var snakeCase = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// Every answer is one object with a version; keys are in snake case, nothing is null, and numbers
// are numbers.
func TestJSON(t *testing.T) {
	for _, st := range []*switchd.State{{Name: "sw0"}, ethernets("swp1")} {
		for _, block := range everyBlock(st) {
			var buf bytes.Buffer
			a := Answer{Lab: "star", Command: "show", Blocks: []Block{block}}
			if err := a.JSON(&buf); err != nil {
				t.Fatal(err)
			}
			var object map[string]any
			if err := json.Unmarshal(buf.Bytes(), &object); err != nil {
				t.Fatal(err)
			}
			if object["schema_version"] != 1.0 || object["lab"] != "star" {
				t.Errorf("%T: %v", block, object)
			}
			if st.Ports != nil {
				checkJSON(t, reflect.TypeOf(block).Elem().Name(), object)
			}
		}
	}
}

func checkJSON(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if !snakeCase.MatchString(key) {
				t.Errorf("%s.%s: not in snake case", path, key)
			}
			checkJSON(t, path+"."+key, value)
		}
	case []any:
		for _, value := range v {
			checkJSON(t, path+"[]", value)
		}
	case nil:
		if !strings.HasSuffix(path, "_priorities") {
			t.Errorf("%s: null", path)
		}
	}
}

func TestSince(t *testing.T) {
	old, now := ethernets("swp1", "gone"), ethernets("swp1", "new")
	old.VirtualNs, now.VirtualNs = 10, 20
	for i, st := range []*switchd.State{old, now} {
		p, n := &st.Ports[0], uint64(i*100+7)
		p.PFCReceived.Frames[3], p.PFCSent.PausedNs[4] = n, int64(n)
		p.Received[1] = dataplane.Count{Frames: n, Bytes: 10 * n}
		p.DroppedPackets = []map[string]uint64{{"buffer": n, "ttl": 5}}
		p.Groups[2].DroppedPackets = n
		p.Queues[3].Sent.Frames, p.Queues[3].Marked.Frames = n, n
		p.Queues[3].DroppedPackets = map[string]uint64{"wred": n}
		p.Queues[3].Watermark = 77
	}
	now.Ports[1].Groups[2].DroppedPackets = 9
	base := &Baseline{At: time.Unix(1, 0), State: *old}
	all := []Counters{PortCounters, PFCCounterSet, QueueCounterSet, WREDCounterSet,
		GroupDropCounters}
	for _, which := range all {
		if _, known := subtract[which]; !known || !Since(now, which, base) {
			t.Fatalf("%s is not cleared", which)
		}
	}
	p := &now.Ports[0]
	// The queue's drops are in three commands here, and saturate at 0 when subtracted thrice.
	if p.PFCReceived.Frames[3] != 100 || p.PFCSent.PausedNs[4] != 100 ||
		p.Received[1] != (dataplane.Count{Frames: 100, Bytes: 1000}) ||
		!reflect.DeepEqual(p.DroppedPackets[0], map[string]uint64{"buffer": 100}) ||
		p.Groups[2].DroppedPackets != 100 || p.Queues[3].Sent.Frames != 100 ||
		p.Queues[3].Marked.Frames != 100 || p.Queues[3].Watermark != 77 {
		t.Errorf("%+v", p)
	}
	if now.Ports[1].Groups[2].DroppedPackets != 9 {
		t.Error("a port that is new since the clear does not count from its start")
	}
	if now.VirtualNs = 9; Since(now, PFCCounterSet, base) || p.PFCReceived.Frames[3] != 100 {
		t.Error("counters of another life are subtracted")
	}
}
