package switchd

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// TestSampleExamples: what the sample has commented out is accepted too.
func TestSampleExamples(t *testing.T) {
	comment := regexp.MustCompile(`(?m)^( *)# (pfc_wd: |  restoration|qos:|  buffer_|    |` +
		`min_rate|max_rate|port_rate|netns)`)
	text := comment.ReplaceAllString(Sample, "$1$2")
	c, err := decode(t, text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if c.Netns != "sw0" || c.Watchdog.Preset != "sonic" || c.QoS["buffer_pg"] == nil ||
		c.Scheduler.PortRate != 25*unit.GbPerSecond || c.Scheduler.MinRate[3] == 0 {
		t.Errorf("examples are not in %+v", c)
	}
	m := machine(t, c)
	deep := mmu.Profile{Limit: mmu.Alpha(1, 16), Lossless: true, Headroom: 30_000, XONOffset: 3000}
	if m.Ports[0].Groups[4] != deep || m.Ports[1].Groups[4] == deep {
		t.Errorf("group 4 of swp1 %+v", m.Ports[0].Groups[4])
	}
	want := pfc.SONiCWatchdog()
	if m.Ports[0].Watchdog != want {
		t.Errorf("watchdog %+v, want %+v", m.Ports[0].Watchdog, want)
	}
}

func machine(t *testing.T, c Config) pipeline.Config {
	t.Helper()
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFormsOfALimit: the same alpha in SONiC's and in the papers' terms.
func TestFormsOfALimit(t *testing.T) {
	for text, want := range map[string]mmu.Limit{
		"dynamic_th: -4": mmu.Alpha(1, 16), "dynamic_th: 1/16": mmu.Alpha(1, 16),
		"alpha: 1/16": mmu.Alpha(1, 16), "alpha: 0.0625": mmu.Alpha(1, 16),
		"beta: 8": mmu.Alpha(1, 1), "beta: 1/2": mmu.Alpha(1, 16), "beta: 3": mmu.Alpha(3, 8),
		"dynamic_th: null, static_th: 9KB": {Static: 9000},
	} {
		c, err := decode(t, minimal+"lossless_profile: {"+text+"}\n")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := machine(t, c).Ports[0].Groups[3].Limit; got != want {
			t.Errorf("%s: limit %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"alpha: 1, beta: 8", "alpha: 1, static_th: 1KB", "alpha: 0",
		"dynamic_th: 3, alpha: 1/16", "beta: x", "alpha: 1/0"} {
		if _, err := decode(t, minimal+"lossless_profile: {"+text+"}\n"); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestShippedMaps: 26 is lossless in ours and lossy in SONiC's.
func TestShippedMaps(t *testing.T) {
	for name, want := range map[string][]uint8{"roce": {3, 4, 3, 6, 0}, "sonic": {3, 4, 1, 6, 1}} {
		c, err := decode(t, minimal+"dscp_to_tc_map: "+name+"\n")
		if err != nil {
			t.Fatal(err)
		}
		classes := machine(t, c).Ports[0].Classify.DSCP
		for i, dscp := range []int{3, 4, 26, 48, 63} {
			if classes[dscp] != want[i] {
				t.Errorf("%s: DSCP %d is class %d, want %d", name, dscp, classes[dscp], want[i])
			}
		}
	}
	if _, err := decode(t, minimal+"dscp_to_tc_map: cisco\n"); err == nil ||
		!strings.Contains(err.Error(), `sw.yaml:4: dscp_to_tc_map: map "cisco"`) {
		t.Errorf("an unknown map: %v", err)
	}
}

// TestEveryTableReachesTheMachine: what only the tables can say, through the overlay.
func TestEveryTableReachesTheMachine(t *testing.T) {
	c, err := decode(t, minimal+`
pause_delay: standard
cell_size: 208
buffer_pool: {size: 12MB, xoff: 1MB}
qcn: {queues: [5]}
telemetry: {queues: [3], switch_id: 7}
scheduler: {strict: [6], weight: {0: 14}, type: WRR, max_rate: {0: 1Gb/s}, port_rate: 20Gb/s}
pfc_wd: {preset: sigcomm16, action: alert}
qos:
  port: {swp1: {pfc_asym: on}}
  port_qos_map: {swp1: {pfc_to_queue_map: M, pfc_to_pg_map: M, pfcwd_sw_enable: [4]}}
  map_pfc_priority_to_queue: {M: {3: 4}}
  pfc_priority_to_priority_group_map: {M: {3: 4, 4: 3}}
  buffer_pool: {out: {type: egress, size: 12MB}}
  buffer_profile:
    queue: {pool: out, size: 2KB, static_th: 12MB, max_size: 500KB}
  buffer_queue: {swp1|0-7: {profile: queue}}
  wred_profile: {AZURE_LOSSLESS: {wred_green_enable: "true", ecn_green_min_threshold: 1KB,
    ecn_green_max_threshold: 2KB, ecn_green_mark_probability: 7, mark_at: dequeue}}
`)
	if err != nil {
		t.Fatal(err)
	}
	m := machine(t, c)
	p := m.Ports[0]
	if m.Cell != 208 || m.Pools[0].SharedHeadroom != unit.MB || len(m.EgressPools) != 1 {
		t.Errorf("buffer: cell %v, pools %+v %+v", m.Cell, m.Pools, m.EgressPools)
	}
	queue := mmu.QueueProfile{Reserved: 2000, Limit: mmu.Limit{Static: 12 * unit.MB}, Max: 500_000}
	if p.Queues[7].Buffer != queue {
		t.Errorf("queue %+v", p.Queues[7].Buffer)
	}
	if p.PFCSend != pfc.SetOf(3, 4) || p.PFCObey != 0xff ||
		p.PauseDelay != pfc.MaxResponse(p.Rate) {
		t.Errorf("sends %v, obeys %v after %v", p.PFCSend, p.PFCObey, p.PauseDelay)
	}
	if p.PFCToQueue[3] != 4 || p.PFCToQueue[4] != 4 || p.PFCToGroup[3] != 4 ||
		p.PFCToGroup[5] != 5 {
		t.Errorf("PFC to queue %v, to group %v", p.PFCToQueue, p.PFCToGroup)
	}
	want := pfc.SwitchWatchdog()
	want.Action, want.Priorities = pfc.Alert, pfc.SetOf(4)
	if p.Watchdog != want {
		t.Errorf("watchdog %+v, want %+v", p.Watchdog, want)
	}
	wred := qos.WREDConfig{Mark: qos.Curve{Kmin: 1000, Kmax: 2000, Pmax: 0.07},
		Drop: qos.Curve{Kmin: 5000, Kmax: 200_000, Pmax: 0.01}, At: qos.AtDequeue}
	if p.Queues[3].WRED != wred {
		t.Errorf("WRED %+v", p.Queues[3].WRED)
	}
	if p.Scheduler.Unit != qos.Packets || p.Scheduler.Weight[0] != 14 ||
		p.Shaper.Queues[0].Max != unit.GbPerSecond || p.Shaper.Port.Max != 20*unit.GbPerSecond {
		t.Errorf("scheduler %+v, shaper %+v", p.Scheduler, p.Shaper)
	}
	qcn := qos.NetFPGA()
	qcn.Headers = 64
	if p.Queues[5].QCN != qcn || p.Queues[3].QCN.On() || m.Telemetry.Switch != 7 {
		t.Errorf("QCN %+v, telemetry %+v", p.Queues[5].QCN, m.Telemetry)
	}
}

// sonicFile is the config_db.json of package sonic's tests: four ports.
func sonicFile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("sonic/testdata/config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const fourPorts = "name: sw0\nports:\n  - {name: %1, rate: 100Gb/s}\n" +
	"  - {name: %2, rate: 100Gb/s}\n  - {name: %3, rate: 100Gb/s}\n  - {name: %4, rate: 100Gb/s}\n"

func ports(names ...string) string {
	text := fourPorts
	for i, n := range names {
		text = strings.Replace(text, "%"+string(rune('1'+i)), n, 1)
	}
	return text
}

// TestConfigDB: a switch from a config_db.json, its ports by name, by alias and in order.
func TestConfigDB(t *testing.T) {
	for _, names := range [][]string{{"Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"},
		{"etp1", "etp2", "etp3", "etp4"}, {"swp1", "swp2", "swp3", "swp4"}} {
		c, err := decode(t, ports(names...)+"config_db: "+sonicFile(t)+"\n")
		if err != nil {
			t.Fatal(err)
		}
		m := machine(t, c)
		p := m.Ports[3]
		if p.Name != names[3] || p.PFCSend != pfc.SetOf(3, 4) || p.Classify.DSCP[26] != 1 ||
			p.Classify.Trust != classify.TrustDSCP || p.Map.Group[5] != 0 || p.Map.Queue[5] != 5 {
			t.Errorf("port %+v", p)
		}
		lossless := mmu.Profile{Limit: mmu.Alpha(1, 8), Lossless: true, Headroom: 35840, XON: 2288,
			XONOffset: 2288}
		if p.Groups[3] != lossless || p.Groups[0].Limit != mmu.Alpha(8, 1) {
			t.Errorf("groups %+v", p.Groups)
		}
		if p.Queues[4].Buffer.Limit.Static != 12766208 || p.Scheduler.Weight[3] != 15 ||
			p.Queues[3].WRED.Mark != (qos.Curve{Kmin: 1 << 20, Kmax: 2 << 20, Pmax: 0.05}) {
			t.Errorf("queues %+v, scheduler %+v", p.Queues[4], p.Scheduler)
		}
		if p.Watchdog.Detection != 200*time.Millisecond ||
			p.Watchdog.Priorities != pfc.SetOf(3, 4) {
			t.Errorf("watchdog %+v", p.Watchdog)
		}
		tables, _ := c.Tables()
		if got := tables.PortNames(); !slices.Equal(got, names) {
			t.Errorf("the tables are for %v", got)
		}
	}
}

// TestConfigDBFaults: what goes wrong with a config_db is told where it was named.
func TestConfigDBFaults(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	text := `{"SCHEDULER": {"s": {"weight": "0"}}, "QUEUE": {"a|3": {"scheduler": "x"}}}`
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file := "config_db: " + sonicFile(t) + "\n"
	all := ports("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12")
	for _, c := range []struct{ text, want string }{
		{all + file + "pfc_enable: [3]\n", "sw.yaml:8: pfc_enable: config_db says it already"},
		{all + "config_db: nowhere.json\n", "sw.yaml:7: config_db: "},
		{all + "config_db: " + bad + "\n", `SCHEDULER|s|weight: "0": want 1 to 100`},
		{all + "config_db: " + bad + "\n", `QUEUE|a|3|scheduler: SCHEDULER has no row "x"`},
		{ports("Ethernet0", "Ethernet4", "Ethernet8", "other") + file,
			"sw.yaml:2: ports: config_db has no port other"},
		{ports("a", "b", "c", "d") + "  - {name: e, rate: 1Gb/s}\n" + file, "5 ports, config_"},
		{all + file + "qos: {queue: {Ethernet0|3: {colour: red}}}\n",
			"sw.yaml:8: qos.queue.Ethernet0|3.colour: not known here"},
		{all + file + "trust: vlan\n", `trust: "vlan"`},
		{all + file + "colour: red\n", "unknown key colour"},
	} {
		_, err := decode(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n%v\nwant %q", c.text, err, c.want)
		}
	}
}

// TestConfigDBIsRelativeToTheFile, and what a lab writes for its daemons is read again.
func TestConfigDBIsRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(sonicFile(t))
	if err != nil {
		t.Fatal(err)
	}
	yamlFile := filepath.Join(dir, "sw.yaml")
	for path, text := range map[string]string{filepath.Join(dir, "db.json"): string(text),
		yamlFile: ports("a", "b", "c", "d") + "config_db: db.json\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(yamlFile)
	if err != nil {
		t.Fatal(err)
	}
	again, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	other, err := decode(t, string(again))
	if err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	if !reflect.DeepEqual(machine(t, *c), machine(t, other)) {
		t.Errorf("written as\n%s", again)
	}
}

// TestExportedTablesAreTheSameSwitch: YAML to tables to config_db.json to tables to machine.
func TestExportedTablesAreTheSameSwitch(t *testing.T) {
	for _, text := range []string{minimal, minimal + `
trust: pcp
cell_size: 256
flood_tc: 1
pfc_wd: {preset: sonic}
lossless_profile: {beta: 3}
wred_profile: {mark_at: dequeue, wred_green_enable: true}
scheduler: {weight: {1: 9}, min_rate: {1: 1Gb/s}, port_rate: 11Gb/s}
`} {
		c, err := decode(t, text)
		if err != nil {
			t.Fatal(err)
		}
		tables, faults := c.Tables()
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		file := filepath.Join(t.TempDir(), "exported.json")
		if err := os.WriteFile(file, tables.Export(), 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := decode(t, minimal+"config_db: "+file+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if a, b := machine(t, c), machine(t, other); !reflect.DeepEqual(a, b) {
			t.Errorf("machine\n%+v\nafter the export\n%+v", a, b)
		}
		back, _ := other.Tables()
		if d := sonic.Diff(tables, back); len(d) > 0 {
			t.Errorf("tables differ: %v", d)
		}
	}
}

// TestRemarks: what a config_db says without effect, and what of it is not ours.
func TestRemarks(t *testing.T) {
	c, err := decode(t, "name: sw0\nports: [{name: Ethernet4, rate: 40Gb/s}]\nconfig_db: "+
		sonicFile(t)+"\n")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range c.Remarks() {
		texts = append(texts, r.String())
	}
	for _, want := range []string{"PORT|Ethernet0,Ethernet8,Ethernet12: not a port of this switch",
		"PORT|Ethernet4|speed: the link's rate counts: 40Gb/s"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
}

// TestMoreFaults: the faults of what is new, with line and field.
func TestMoreFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"pfc_wd: {preset: ibm}\n", `sw.yaml:4: pfc_wd.preset: "ibm"`},
		{"pfc_wd: {action: shoot}\n", `pfc_wd.action: "shoot"`},
		{"pfc_wd: {action: drop, rule: x}\n", `pfc_wd.rule: "x"`},
		{"pfc_wd: {detection_time: 1s}\n", "pfc_wd: give a preset or an action"},
		{"pfc_wd: {preset: sonic, detection_time: 1ms}\n", "shorter than the poll interval"},
		{"buffer_pool: {size: 1MB, xoff: 1MB}\n", "buffer_pool.xoff: 1MB: shared headroom is part"},
		{"cell_size: 99999\n", "cell_size: 99999"},
		{"pause_delay: soon\n", `sw.yaml:4: pause_delay: "soon"`},
		{"qcn: {queues: [8]}\n", "qcn.queues[0]: 8"},
		{"qcn: {queues: [3], jitter: 2}\n", "qcn: QCN: jitter 2"},
		{"telemetry: {queues: [3], hops: 99}\n", "telemetry: telemetry: 99 hops"},
		{"scheduler: {type: FIFO}\n", `scheduler.type: "FIFO"`},
		{"scheduler: {min_rate: {3: 2Gb/s}, max_rate: {3: 1Gb/s}}\n", "scheduler.max_rate.3: 1G"},
		{"scheduler: {min_rate: {9: 2Gb/s}}\n", "scheduler.min_rate.9: 9"},
		{"qos: {buffer_pg: {swp1|3: {profile: none}}}\n", `qos.buffer_pg.swp1|3.profile: BUFFER`},
		{"qos: {vlan: {Vlan1: {vlanid: 1}}}\n", "qos.vlan.Vlan1: no such table or key"},
	} {
		_, err := decode(t, minimal+c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n%v\nwant %q", c.text, err, c.want)
		}
	}
}

var _ daemon.Resolver = (*Config)(nil)
