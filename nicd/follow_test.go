package nicd

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
)

const bare = "name: h\nport: {name: eth0, rate: 100G}\n"

// A device is enough: the rest is the kernel's. What contradicts that is named.
func TestWhatTheKernelSays(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"mtu: 0":                                 "",
		"mac: 02:00:00:00:00:01":                 "",
		"ipv6: fd00::1\nvlan: 7":                 "",
		"tc_to_dot1p_map: {3: 4}":                "",
		"mac: 01:00:00:00:00:01":                 "f:3: mac: 01:00:00:00:00:01 is not a unicast",
		"vlan: 7":                                "f:3: vlan: 7 is for ipv4 and ipv6, and neither",
		"ipv4: 10.0.0.1\nvlan: 4095":             "f:4: vlan: 4095 is not in 0..4094",
		"tc_to_dot1p_map: {3: 8}":                "f:3: tc_to_dot1p_map.3: 8 is not in 0..7",
		"tc_to_dot1p_map: {8: 3}":                "f:3: tc_to_dot1p_map.8: a traffic class is 0",
		"gateway: {subnet: 10.0.0.0/24, mac: 2}": "f:3: ",
		"gateway: {subnet: 10.0.0.0/24, mac: \"02:00:00:00:00:09\"}": "f:3: gateway: without " +
			"ipv4 and ipv6 the kernel's",
	} {
		c := Default()
		err := daemon.Decode("f", []byte(bare+text), &c)
		switch {
		case want == "" && (err != nil || !c.follows() && !strings.Contains(text, "mac")):
			t.Errorf("%q: %v, follows %v", text, err, c.follows())
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		// There is no kernel in virtual time.
		if _, err := c.Virtual(); want == "" && err == nil {
			t.Errorf("%q: in virtual time", text)
		}
	}
}
