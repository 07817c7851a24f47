package switchd

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// minimal is what a configuration must say.
const minimal = "name: sw0\nports:\n  - {name: swp1, rate: 40Gb/s, delay: 1us}\n"

func decode(t *testing.T, text string) (Config, error) {
	t.Helper()
	c := Default()
	err := daemon.Decode("sw.yaml", []byte(text), &c)
	return c, err
}

// TestSampleIsTheDefault: what -sample prints is accepted, and says what is the default anyway.
func TestSampleIsTheDefault(t *testing.T) {
	got, err := decode(t, Sample)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Common, want.Ports = got.Common, got.Ports
	want.Scheduler.Weight = map[uint8]int{} // {} in the file
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the sample says\n%+v\nthe default is\n%+v", got, want)
	}
	if len(got.Ports) != 2 || got.Ports[0].Delay != time.Microsecond {
		t.Errorf("ports %+v", got.Ports)
	}
}

// TestDefaultIsTheSwitchOfDCQCN: [DCQCN] section 4 and figure 14, in the machine's units.
func TestDefaultIsTheSwitchOfDCQCN(t *testing.T) {
	c, err := decode(t, minimal)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	p := m.Ports[0]
	if m.Pools[0].Size != 12*unit.MB || p.PFCSend != pfc.SetOf(3, 4) ||
		p.Rate != 40*unit.GbPerSecond {
		t.Errorf("pool %v, PFC on %v, rate %v", m.Pools[0].Size, p.PFCSend, p.Rate)
	}
	lossless := mmu.Profile{Limit: mmu.Alpha(1, 1), Lossless: true, Headroom: 22400,
		XONOffset: 3000}
	if p.Groups[3] != lossless || p.Groups[4] != lossless || p.Groups[0].Lossless {
		t.Errorf("groups %+v", p.Groups)
	}
	mark := qos.Curve{Kmin: 5 * unit.KB, Kmax: 200 * unit.KB, Pmax: 0.01}
	if p.Queues[3].WRED.Mark != mark || p.Queues[0].WRED.Mark != (qos.Curve{}) {
		t.Errorf("marking %+v and %+v", p.Queues[3].WRED, p.Queues[0].WRED)
	}
	for dscp, tc := range map[int]uint8{3: 3, 4: 4, 26: 3, 48: 6, 0: 0, 63: 0} {
		if p.Classify.DSCP[dscp] != tc {
			t.Errorf("DSCP %d is class %d, want %d", dscp, p.Classify.DSCP[dscp], tc)
		}
	}
	if !p.Scheduler.Strict.Has(6) || p.Scheduler.Strict.Has(3) {
		t.Errorf("strict queues %08b", p.Scheduler.Strict)
	}
	if _, err := pipeline.New(m, frame.NewPool(16, 2048)); err != nil {
		t.Error(err)
	}
}

// TestEverythingIsConverted changes each setting from its default and looks for it.
func TestEverythingIsConverted(t *testing.T) {
	c, err := decode(t, minimal+`
trust: pcp
dscp_to_tc_map: {10: 5}
dot1p_to_tc_map: {7: 5}
default_tc: 2
tc_to_priority_group_map: {1: 1, 5: 1}
tc_to_queue_map: {5: 2}
flood_tc: 1
pfc_enable: [5]
pause_quanta: 1000
buffer_pool: {size: 1MB}
lossless_profile: {size: 1KB, dynamic_th: -2, xoff: 9KB, xon: 2KB, xon_offset: 4KB}
lossy_profile: {dynamic_th: 3}
wred_profile: {green_min_threshold: 1KB, green_max_threshold: 2KB, green_drop_probability: 50,
  ecn: ecn_all, mark_at: dequeue}
scheduler: {strict: [1], weight: {0: 14}}
mac_ageing: 10s
mac_limit: 64
seed: 7
`)
	if err == nil {
		t.Fatal("classes 1 and 5 share group 1, and only one of them is lossless")
	}
	delete(c.TCToPG, 1)
	if faults := c.Validate(); len(faults) != 0 {
		t.Fatal(faults)
	}
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	p := m.Ports[0]
	if p.Classify.Trust != classify.TrustPCP || p.Classify.PCP[7] != 5 || p.Classify.DSCP[10] != 5 {
		t.Errorf("classes %+v", p.Classify)
	}
	if p.Map.Group != [8]mmu.PG{5: 1} || p.Map.Queue != [8]mmu.Queue{5: 2} ||
		p.PFCSend != pfc.SetOf(5) || p.Quanta != 1000 {
		t.Errorf("map %+v, PFC %v, quanta %d", p.Map, p.PFCSend, p.Quanta)
	}
	want := mmu.Profile{Reserved: 1000, Limit: mmu.Alpha(1, 4), Lossless: true, Headroom: 9000,
		XON: 2000, XONOffset: 4000}
	if p.Groups[1] != want || p.Groups[0].Limit != mmu.Alpha(8, 1) {
		t.Errorf("groups %+v", p.Groups[:2])
	}
	wred := qos.WREDConfig{Mark: qos.Curve{Kmin: 1000, Kmax: 2000, Pmax: 0.5}, At: qos.AtDequeue}
	if p.Queues[2].WRED != wred {
		t.Errorf("marking %+v", p.Queues[2].WRED)
	}
	if p.Scheduler.Weight[0] != 14 || !p.Scheduler.Strict.Has(1) || m.Seed != 7 ||
		m.FloodClass != 1 || m.MACs.Max != 64 || m.MACs.Age != 10*time.Second {
		t.Errorf("machine %+v", m)
	}
}

// TestMapsAreWhole: a map that is given is all there is, as in SONiC. What is not in it is the
// default class, group 0, queue 0.
func TestMapsAreWhole(t *testing.T) {
	for text, want := range map[string]map[int]uint8{
		"dscp_to_tc_map: {26: 3, 10: 5}":                 {26: 3, 10: 5},
		"dscp_to_tc_map: {26: 3, 10: 5}\ndefault_tc: 1":  {-1: 1, 26: 3, 10: 5},
		"dscp_to_tc_map: {}":                             {},
		"dscp_to_tc_map: roce":                           {3: 3, 4: 4, 26: 3, 48: 6},
		"qos: {dscp_to_tc_map: {AZURE: {10: 5, 48: 0}}}": {3: 3, 4: 4, 26: 3, 10: 5},
	} {
		c, err := decode(t, minimal+text+"\n")
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Machine()
		if err != nil {
			t.Fatal(err)
		}
		for dscp, tc := range m.Ports[0].Classify.DSCP {
			expected, ok := want[dscp]
			if !ok {
				expected = want[-1]
			}
			if tc != expected {
				t.Errorf("%s: DSCP %d is class %d, want %d", text, dscp, tc, expected)
			}
		}
	}
	c, err := decode(t, minimal+"dot1p_to_tc_map: {5: 4}\ntc_to_queue_map: {3: 3, 4: 4}\n"+
		"tc_to_priority_group_map: {3: 3, 4: 4}\nscheduler: {weight: {3: 7}}\n")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	p := m.Ports[0]
	if p.Classify.PCP != [8]uint8{5: 4} || p.Map.Queue != [8]mmu.Queue{3: 3, 4: 4} ||
		p.Map.Group != [8]mmu.PG{3: 3, 4: 4} {
		t.Errorf("classes %v, queues %v, groups %v", p.Classify.PCP, p.Map.Queue, p.Map.Group)
	}
	back, err := c.Clone()
	if err != nil || !reflect.DeepEqual(back.Simple, c.Simple) {
		t.Errorf("%v: a clone has\n%+v, not\n%+v", err, back.Simple, c.Simple)
	}
}

// TestFaults: each mistake is named with its line and its field.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"trust: vlan\n", `sw.yaml:4: trust: "vlan"`},
		{"dscp_to_tc_map: {64: 1}\n", "sw.yaml:4: dscp_to_tc_map.64: 64: want 0 to 63"},
		{"dscp_to_tc_map: {1: 8}\n", "dscp_to_tc_map.1: 8: want 0 to 7"},
		{"dot1p_to_tc_map: {8: 1}\n", "dot1p_to_tc_map.8"},
		{"tc_to_queue_map: {1: 9}\n", "tc_to_queue_map.1: 9"},
		{"tc_to_priority_group_map: {3: 3, 4: 4, 5: 3}\n",
			"sw.yaml:4: tc_to_priority_group_map.5: group 3 is lossless"},
		{"tc_to_priority_group_map: {5: 1, 0: 2}\n", "sw.yaml:4: tc_to_priority_group_map: " +
			"classes [1 2 6 7] are not in it, so they are of group 0, which is lossless"},
		{"flood_tc: 3\n", "flood_tc: 3 is lossless"},
		{"pfc_enable: [3, 8]\n", "pfc_enable[1]: 8"},
		{"pause_quanta: 0\n", "pause_quanta: must be"},
		{"buffer_pool: {size: 0}\n", "buffer_pool.size: must be positive"},
		{"lossless_profile: {xoff: 0}\n", "lossless_profile.xoff"},
		{"lossy_profile: {xoff: 1KB}\n", "lossy_profile.xoff"},
		{"lossy_profile: {dynamic_th: 11}\n", "lossy_profile.dynamic_th"},
		{"lossy_profile: {static_th: 1KB}\n", "either dynamic_th or static_th"},
		{"wred_profile: {green_min_threshold: 1MB}\n", "want 0 <= green_min_threshold"},
		{"wred_profile: {green_drop_probability: 101}\n", "green_drop_probability: 101"},
		{"wred_profile: {ecn: some}\n", `wred_profile.ecn: "some"`},
		{"wred_profile: {mark_at: both}\n", `wred_profile.mark_at: "both"`},
		{"scheduler: {weight: {3: 0}}\n", "scheduler.weight.3: 0: want 1 to 100"},
		{"scheduler: {strict: [9]}\n", "scheduler.strict[0]: 9"},
		{"mac_ageing: 0s\n", "mac_ageing: must be positive"},
		{"colour: red\n", "sw.yaml:4: unknown key colour"},
		{"scheduler: {port_rate: 25}\n", `sw.yaml:4: scheduler.port_rate: rate "25": want a unit, ` +
			"as 25Gb/s"},
		{"scheduler: {max_rate: {3: 10}}\n", `sw.yaml:4: scheduler.max_rate.3: rate "10": want`},
	} {
		_, err := decode(t, minimal+c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestNumberOfPorts: as many as an engine can drive, told with the field.
func TestNumberOfPorts(t *testing.T) {
	for n, want := range map[int]string{0: "sw.yaml:1: ports: 0 of them", dataplane.MaxPorts: "",
		dataplane.MaxPorts + 1: "sw.yaml:2: ports: 257 of them: a switch has 1 to 256"} {
		text := "name: sw0\n"
		if n > 0 {
			text += "ports:\n"
		}
		for i := range n {
			text += fmt.Sprintf("  - {name: swp%d, rate: 40Gb/s, delay: 1us}\n", i+1)
		}
		_, err := decode(t, text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d ports: %v, want %q", n, err, want)
		}
	}
}

// TestBufferTooSmall: what only the machine can judge is told before anything runs.
func TestBufferTooSmall(t *testing.T) {
	c, err := decode(t, minimal+"buffer_pool: {size: 40KB}\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Machine(); err == nil || !strings.Contains(err.Error(), "headroom take 44800") {
		t.Errorf("two groups with 22.4 KB of headroom in 40 KB: %v", err)
	}
}

// TestStaticThreshold: [DCQCN] figure 18's misconfigured switch.
func TestStaticThreshold(t *testing.T) {
	c, err := decode(t, minimal+"lossless_profile: {dynamic_th: null, static_th: 24470}\n")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if want := (mmu.Limit{Static: 24470}); err != nil || m.Ports[0].Groups[3].Limit != want {
		t.Errorf("limit %+v, %v", m.Ports[0].Groups[3].Limit, err)
	}
}

func TestParameters(t *testing.T) {
	c := Default()
	want := daemon.Parameter{Name: "Kmax", Value: "200KB"}
	if got := c.Parameters(); !slices.Contains(got, want) {
		t.Errorf("parameters %+v", got)
	}
}
