package nicd

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/cc"
)

// The sample is the defaults: reading it changes nothing but what has no default.
func TestSampleIsTheDefaults(t *testing.T) {
	c := DefaultConfig()
	if err := daemon.Decode("sample", []byte(Sample), c); err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Name, want.MAC, want.IPv4, want.Port = c.Name, c.MAC, c.IPv4, c.Port
	if !reflect.DeepEqual(c, want) {
		t.Errorf("sample %+v\ndefaults %+v", c, want)
	}
	n := c.NIC()
	want2 := nic.DefaultConfig()
	want2.MAC, want2.IPv4, want2.Rate = n.MAC, n.IPv4, 40*unit.GbPerSecond
	if !reflect.DeepEqual(n, want2) {
		t.Errorf("NIC %+v\ndefaults %+v", n, want2)
	}
	if _, err := nic.New(n, frame.NewPool(4, 1792)); err != nil {
		t.Error(err)
	}
}

const minimal = `
name: h
mac: 02:00:00:00:00:01
ipv4: 10.0.0.1
port: {name: eth0, rate: 100G}
`

func decode(text string) (*Config, error) {
	c := DefaultConfig()
	return c, daemon.Decode("f", []byte(minimal+text), c)
}

func TestCongestionControlSettings(t *testing.T) {
	c, err := decode("cc: {preset: mlx5, params: {timer: 99us, rate_ai: 7Mb/s}}")
	if err != nil {
		t.Fatal(err)
	}
	p := c.CC.Params.(*cc.DCQCNParams)
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
	if c, err = decode("cc: {algorithm: none}"); err != nil || c.CC.Params.HandlesCNP() ||
		c.CC.Preset != "line_rate" {
		t.Errorf("%+v, %v", c.CC, err)
	}
	if c, err = decode(`pfc_enable: "3, 4"`); err != nil || c.NIC().PFC != pfc.SetOf(3, 4) {
		t.Errorf("PFC %v, %v", c.PFCEnable.Set(), err)
	}
	if c, err = decode(`pfc_enable: ""`); err != nil || c.NIC().PFC != 0 {
		t.Errorf("PFC %v, %v", c.PFCEnable.Set(), err)
	}
}

// Every fault is found and told with file, line and field; several at once.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"mtu: 1000":                          "f:6: mtu: 1000 is not",
		"mtus: 1024":                         "f:6: unknown key mtus",
		"cc: {algorithm: tcp}":               `f:6: no algorithm "tcp"`,
		"cc: {preset: cx9}":                  `f:6: dcqcn has no preset "cx9"`,
		"cc:\n  params:\n    gg: 1":          "f:8: unknown key gg",
		"cc:\n  speed: 1":                    "f:7: unknown key speed",
		"cc: 3":                              "f:6: want a mapping",
		"cc:\n  params:\n    g: 2":           "f:8: cc.params.g: 2 is not in (0, 1]",
		"cc:\n  params:\n    timer: soon":    "f:8: cannot unmarshal",
		"dscp_to_tc_map:\n  26: 9":           "f:7: dscp_to_tc_map.26: traffic class 9",
		"dscp_to_tc_map: {99: 1}":            "f:6: dscp_to_tc_map.99: a DSCP is",
		"dscp:\n  cnp: 64":                   "f:7: dscp.cnp: 64 is not in 0..63",
		`pfc_enable: "8"`:                    "priorities",
		"qp:\n  retry_count: 9":              "f:7: qp.retry_count: 9 is not",
		"metrics_per_qp: -1":                 "f:6: metrics_per_qp: is negative",
		"max_qps: 0":                         "f:6: max_qps: 0 is not in",
		"cnp_interval: -1us":                 "f:6: cnp_interval: -1µs is negative",
		"ipv6: 10.0.0.2\nburst: 1KB\nmtu: 1": "f:6: ipv6: 10.0.0.2 is not an IPv6 address",
	} {
		_, err := decode(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c := DefaultConfig()
	err := daemon.Decode("f", []byte("mtu: 5\nmax_qps: 0\n"), c)
	if err == nil {
		t.Fatal("an empty configuration is accepted")
	}
	for _, field := range []string{"name", "port.name", "port.rate", "mac", "ipv4", "mtu",
		"max_qps"} {
		if !strings.Contains(err.Error(), ": "+field+": ") {
			t.Errorf("nothing about %s in:\n%v", field, err)
		}
	}
}
