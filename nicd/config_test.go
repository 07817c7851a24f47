package nicd

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/cc"
)

// The sample is the defaults: reading it changes nothing but what has no default.
func TestSampleIsTheDefaults(t *testing.T) {
	c := Default()
	if err := daemon.Decode("sample", []byte(Sample), &c); err != nil {
		t.Fatal(err)
	}
	got, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	want := nic.DefaultConfig()
	want.MAC, want.IPv4, want.Rate = got.MAC, got.IPv4, 40*unit.GbPerSecond
	want.Seed = got.Seed // drawn
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sample %+v\ndefaults %+v", got, want)
	}
	if _, err := nic.New(got, frame.NewPool(4, 1792)); err != nil {
		t.Error(err)
	}
	d := Default()
	d.Common, d.Port, d.MAC, d.IPv4, d.CC = c.Common, c.Port, c.MAC, c.IPv4, c.CC
	if !reflect.DeepEqual(c, d) {
		t.Errorf("sample %+v\ndefaults %+v", c, d)
	}
}

// Without a seed two NICs have different keys; with one they are as configured.
func TestSeed(t *testing.T) {
	seed := func(text string) uint64 {
		c, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		n, err := c.Machine()
		if err != nil {
			t.Fatal(err)
		}
		return n.Seed
	}
	if a, b := seed(""), seed("seed: 0\n"); a == b || a == 0 || b == 0 {
		t.Errorf("drew %d, then %d", a, b)
	}
	if got := seed("seed: 7\n"); got != 7 {
		t.Errorf("configured 7, have %d", got)
	}
}

const minimal = `
name: h
mac: 02:00:00:00:00:01
ipv4: 10.0.0.1
port: {name: eth0, rate: 100G}
`

func decode(text string) (*Config, error) {
	c := Default()
	return &c, daemon.Decode("f", []byte(minimal+text), &c)
}

// What is written out reads back as it was: a lab hands configurations to its daemons so.
func TestRoundTrip(t *testing.T) {
	c, err := decode("cc: {preset: mlx5, params: {g: 0.5, timer: 99us}}\nipv6: fd00::1\n")
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again := Default()
	if err := daemon.Decode("again", text, &again); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !reflect.DeepEqual(*c, again) {
		t.Errorf("%+v\nread back %+v from\n%s", *c, again, text)
	}
}

func TestCongestionControlSettings(t *testing.T) {
	c, err := decode("cc: {preset: mlx5, params: {timer: 99us, rate_ai: 7Mb/s}}")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if m.ClassCC != [8]cc.Params{} {
		t.Errorf("classes %v", m.ClassCC)
	}
	p := m.CC.(*cc.DCQCNParams)
	if p.Timer != 99*time.Microsecond || p.RateAI != 7*unit.MbPerSecond || p.FastRecovery != 1 {
		t.Errorf("%+v", p)
	}
	found := map[string]string{}
	for _, v := range c.Parameters() {
		found[v.Name] = v.Value
	}
	if found["cc.preset"] != "mlx5" || found["cc.params.timer"] != "99µs" {
		t.Errorf("parameters %v", found)
	}
	c.CC = CCConfig{Algorithm: "none"} // as a lab does to compare
	if m, err = c.Machine(); err != nil || m.CC.HandlesCNP() || len(c.Validate()) != 0 {
		t.Errorf("%v, %v", err, c.Validate())
	}
	if c, err = decode("pfc_enable: [3, 4]"); err != nil {
		t.Fatal(err)
	}
	if m, err = c.Machine(); err != nil || m.PFC != pfc.SetOf(3, 4) {
		t.Errorf("PFC %v, %v", m.PFC, err)
	}
	c.CC.Algorithm = "tcp"
	if _, err = c.Machine(); err == nil {
		t.Error("a machine with an unknown algorithm")
	}
}

// A map that is given is all there is, as a switch's is: what is not in it is class 0, priority 0.
// And what is taken out of the default stays out when a lab hands the configuration on.
func TestMapsAreWhole(t *testing.T) {
	c, err := decode("dscp_to_tc_map: {10: 5}\ntc_to_dot1p_map: {5: 4}")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if err != nil || m.Classify.DSCP != [64]uint8{10: 5} || m.PCP != [8]uint8{5: 4} {
		t.Errorf("classes %v, priorities %v, %v", m.Classify.DSCP, m.PCP, err)
	}
	all := Default()
	delete(all.DSCPToTCMap, 48)
	back, err := all.Clone()
	if _, ok := back.DSCPToTCMap[48]; err != nil || ok || back.DSCPToTCMap[26] != 3 {
		t.Errorf("a clone without 48 has %v, %v", back.DSCPToTCMap, err)
	}
}

// Every fault is found and told with file, line and field; several at once.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"mtu: 1000":                 "f:6: mtu: 1000 is not",
		"mtus: 1024":                "f:6: unknown key mtus",
		"cc: {algorithm: tcp}":      `f:6: cc.algorithm: no algorithm "tcp"`,
		"cc: {preset: cx9}":         `f:6: cc.preset: dcqcn has no preset "cx9"`,
		"cc:\n  params:\n    gg: 1": "f:8: cc.params.gg: unknown parameter of dcqcn",
		"cc:\n  speed: 1":           "f:7: unknown key speed",
		"cc: 3":                     "f:6: cannot unmarshal",
		"cc:\n  params:\n    g: 2":  "f:8: cc.params.g: 2 is not in (0, 1]",
		"cc:\n  params:\n    rate_ai: 40": "f:8: cc.params.rate_ai: 40 is no value for it: rate " +
			`"40": want a unit, as 40Gb/s`,
		"cc:\n  params:\n    timer: soon":      "f:8: cc.params.timer: soon is no value",
		"dscp_to_tc_map:\n  26: 9":             "f:7: dscp_to_tc_map.26: traffic class 9",
		"dscp_to_tc_map: {99: 1}":              "f:6: dscp_to_tc_map.99: a DSCP is",
		"dscp:\n  cnp: 64":                     "f:7: dscp.cnp: 64 is not in 0..63",
		"pfc_enable: [3, 8]":                   "f:6: pfc_enable[1]: 8 is not in 0..7",
		"qp:\n  retry_count: 9":                "f:7: qp.retry_count: 9 is not",
		"receive:\n  buffer: 4KB\n  xoff: 5KB": "f:8: receive.xoff: 5KB is not between",
		"receive: {rate: 1G}":                  "f:6: receive.buffer: is not set",
		"metrics_per_qp: -1":                   "f:6: metrics_per_qp: -1 is negative",
		"max_qps: 0":                           "f:6: max_qps: 0 is not in",
		"cnp_interval: -1us":                   "f:6: cnp_interval: -1µs is negative",
		"ipv6: 10.0.0.2\nburst: 1KB\nmtu: 1":   "f:6: ipv6: 10.0.0.2 is not an IPv6 address",
	} {
		_, err := decode(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c := Default()
	err := daemon.Decode("f", []byte("mtu: 5\nmax_qps: 0\n"), &c)
	if err == nil {
		t.Fatal("an empty configuration is accepted")
	}
	for _, field := range []string{"name", "port.name", "port.rate", "mtu",
		"max_qps"} {
		if !strings.Contains(err.Error(), ": "+field+": ") {
			t.Errorf("nothing about %s in:\n%v", field, err)
		}
	}
	if strings.Contains(err.Error(), "cc.params") {
		t.Errorf("a missing rate is no fault of what depends on it:\n%v", err)
	}
}
