package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// one is a switch that passes every check.
const one = `
name: sw0
ports:
  - {name: swp1, rate: 40Gb/s, delay: 1us}
  - {name: swp2, rate: 40Gb/s, delay: 1us}
`

// egress adds a pool of queues as SONiC has it.
const egress = `
qos:
  buffer_pool: {out: {type: egress, size: %size}}
  buffer_profile: {queue: {pool: out, %limit}}
  buffer_queue: {swp1|0-7: {profile: queue}, swp2|0-7: {profile: queue}}
`

func egressOf(size, limit string) string {
	return one + strings.NewReplacer("%size", size, "%limit", limit).Replace(egress)
}

// two is a lab of two switches and two hosts that passes every check.
const two = `
name: two
nodes:
  - {name: t1, kind: switch}
  - {name: t2, kind: switch}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
links:
  - {endpoints: ["h1:eth0", "t1:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["t1:swp2", "t2:swp2"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "t2:swp1"], rate: 40Gb/s, delay: 1us}
`

// uneven is two with other settings at t2's end of the link between the switches.
func uneven(field string) string {
	return strings.Replace(two, "t2:swp2", "t2:swp3", 1) + "switch: {qos: {dscp_to_tc_map: " +
		"{OTHER: {3: 3, 26: 3}}, port_qos_map: {swp3: {" + field + "}}}}\n"
}

func warned(t *testing.T, text string) *Report {
	t.Helper()
	name := "file.yaml"
	if strings.HasPrefix(text, "{\"") {
		name = "file.json"
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := File(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r
}

// TestChecks: each check has a configuration that trips it, and names its numbers; the clean ones
// pass all.
func TestChecks(t *testing.T) {
	for _, text := range []string{one, two, egressOf("12MB", "static_th: 12MB"),
		one + "pause_delay: standard\n", one + "pfc_wd: {preset: sonic}\n"} {
		if r := warned(t, text); len(r.Warnings) > 0 || len(r.Checks) != len(Checks) {
			t.Errorf("%s\nwarns %v", text, r.Warnings)
		}
	}
	tripped := make(map[string]bool)
	for _, c := range []struct{ check, text, want string }{
		{"headroom", one + "lossless_profile: {xoff: 10KB}\n",
			"sw0:swp1 group 3: headroom 10000 < 14486 bytes"},
		{"pool", one + "buffer_pool: {size: 80KB}\n",
			"sw0 pool ingress_lossless_pool: reserved 0 + headroom 89600 > size 80000"},
		{"shared-headroom", one + "buffer_pool: {size: 12MB, xoff: 50KB}\n",
			"headroom of all groups 89600 > shared headroom pool 50000"},
		{"egress-limit", egressOf("1MB", "static_th: 12MB"),
			"sw0:swp1 queue 3: egress pool out of 1000000 < 12000000"},
		{"egress-limit", egressOf("12MB", "static_th: 1MB"), "reserved 0 + static_th 1000000 <"},
		{"egress-limit", egressOf("12MB", "dynamic_th: 3"), "dynamic limit 8/1 of egress pool out"},
		{"egress-limit", egressOf("12MB", "static_th: 12MB, max_size: 100KB"), "max_size 100000 <"},
		{"shared-group", one + "qos: {tc_to_priority_group_map: {AZURE: {0: 3}}}\n",
			"sw0:swp1 group 3: lossless class 3 and lossy class 0"},
		{"shared-queue", one + "tc_to_queue_map: {0: 3, 3: 3, 4: 4, 6: 6}\n",
			"sw0:swp1 queue 3: lossless class 3 and lossy class 0"},
		{"pfc-group", one + "qos: {port_qos_map: {swp1: {pfc_enable: [3, 4, 5]}}}\n",
			"sw0:swp1 priority 5: in pfc_enable, but group 5 has no headroom"},
		{"pfc-group", one + "qos: {port_qos_map: {swp1: {pfc_enable: 3}}}\n",
			"sw0:swp1 group 4: has headroom 22400, but no priority"},
		{"watchdog", one + "qos: {pfc_wd: {swp1: {detection_time: 100, restoration_time: 150}}}\n",
			"sw0:swp1: detection_time 100ms < poll interval 200ms"},
		{"watchdog", one + "pfc_wd: {preset: sonic, poll_interval: 200us}\n",
			"sw0:swp1: poll interval 200µs < 419.424µs, after which a pause"},
		{"frames", one + "frames: 1000\n",
			"sw0: frames 1000 < 200000: buffer 12000000 in frames of 60"},
		{"ecn-before-pfc", one + "wred_profile: {green_min_threshold: 9MB, green_max_threshold: " +
			"10MB}\nlossless_profile: {beta: 1}\n", "t_ECN 9000000 (queue 3) >= beta left"},
		{"ecn-before-pfc", one + "lossless_profile: {dynamic_th: null, static_th: 24470}\n" +
			"wred_profile: {green_min_threshold: 120KB}\n", "t_PFC 24470 <= n t_ECN = 2 x 120000"},
		{"ecn", one + "wred_profile: {ecn: ecn_none}\n", "queue 3: lossless, and never marks"},
		{"roce-dscp", one + "dscp_to_tc_map: sonic\n", "sw0:swp1: DSCP 26 goes to class 1, which"},
		{"neighbour-pfc", two + "nic: {pfc_enable: [4]}\n",
			"t1:swp1 - h1:eth0: data (DSCP 26) is in lossless class 3, whose pause the NIC"},
		{"neighbour-pfc", two + "nic: {dscp: {data: 0}}\n",
			"data (DSCP 0) is in lossy class 0, the NIC has PFC on"},
		{"neighbour-pfc", uneven("pfc_enable: 4"), "t1:swp2 - t2:swp3: pauses 3,4, the other end"},
		{"neighbour-map", uneven("dscp_to_tc_map: OTHER"),
			"t1:swp2 - t2:swp3: DSCP 4 is lossless here (class 4) and lossy there (class 0)"},
		{"mtu", strings.Replace(two, "delay: 1us}\n  - {endpoints: [\"t1",
			"delay: 1us, mtu: 3000}\n  - {endpoints: [\"t1", 1),
			"t1: MTU 1500 at swp2 < 3000 at swp1"},
		{"mtu", two + "nic: {mtu: 2048}\n", "h1:eth0: RoCE MTU 2048 + headers > MTU 1500"},
		{"machine", one + "qos: {rocelab: {global: {flood_tc: 3}}}\n", "flood class 3 is lossless"},
	} {
		tripped[c.check] = true
		r := warned(t, c.text)
		if !slices.ContainsFunc(r.Warnings, func(w Warning) bool {
			return w.Check == c.check && strings.Contains(w.String(), c.want)
		}) {
			t.Errorf("%s\ngives %v\nwant %s: %s", c.text, r.Warnings, c.check, c.want)
		}
	}
	for _, c := range Checks {
		if !tripped[c.Name] {
			t.Errorf("no configuration trips %s", c.Name)
		}
	}
}

// TestConfigDB: SONiC's default map has RoCE in a lossy class, and 35 KB are too little for frames
// of 9100 bytes at 100 Gb/s: 9100 + 9100 + 631 on the cable + 25216 of the peer.
func TestConfigDB(t *testing.T) {
	r, err := File("../../switchd/sonic/testdata/config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"config_db.json:Ethernet12: DSCP 26 goes to class 1, which is lossy",
		"config_db.json:Ethernet0 group 3: headroom 35840 < 44048 bytes that still arrive at " +
			"100Gb/s over 5 m, MTU 9100"} {
		if !slices.ContainsFunc(r.Warnings, func(w Warning) bool {
			return strings.HasPrefix(w.String(), want)
		}) {
			t.Errorf("no %q in %v", want, r.Warnings)
		}
	}
	if len(r.Remarks) == 0 {
		t.Error("no remark on colours")
	}
}

// TestUnreadable: files that are no configuration are errors, not warnings.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"name: [":                                   "did not find",
		"name: sw0\ncolour: red\nports: []\n":       "unknown key colour",
		"name: x\nnodes: 3\n":                       "cannot unmarshal",
		`{"QUEUE": {"Ethernet0|3": {}}}`:            "PORT|Ethernet0|speed: is missing",
		`{"VLAN": {}}`:                              "no table names a port",
		`{"QUEUE": {"Ethernet0|3": {"x": true}}}`:   "want a text or a number",
		two + "switch: {config_db: nowhere.json}\n": "switch.config_db: ",
	} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := File(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, r, err, want)
		}
	}
	if _, err := File(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestShippedTopologiesAreClean: what we give away passes our own checks.
func TestShippedTopologiesAreClean(t *testing.T) {
	files, err := filepath.Glob("../topologies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		r, err := File(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(r.Warnings) > 0 {
			t.Errorf("%s: %v", file, r.Warnings)
		}
	}
}
