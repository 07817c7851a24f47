package nicd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
)

// elsewhere are the fields that stand in another place of the file than of nic.Config.
var elsewhere = map[string]string{"rate": "port.rate", "qp.mtu": "mtu", "cc": "cc.algorithm"}

// ofPersonality are the fields that a personality sets and no key of their own.
var ofPersonality = map[string]bool{"cnp_scope": true, "cnp_delay": true, "cnp_spacing": true,
	"qp.ack_coalesce.packets": true, "qp.ack_coalesce.delay": true, "qp.nak_delay": true,
	"qp.retransmit_delay": true, "qp.out_of_order": true, "qp.recovery": true}

// Validate returns every fault with the path of its field.
func (c *Config) Validate() []daemon.Fault {
	faults := append(c.Common.Validate(), c.Port.Validate("port")...)
	unless := func(ok bool, path, format string, args ...any) {
		if !ok {
			faults = append(faults, daemon.Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
		}
	}
	for i, p := range c.PFCEnable {
		unless(p < wire.Priorities, fmt.Sprintf("pfc_enable[%d]", i), "%d is not in 0..7", p)
	}
	for _, dscp := range slices.Sorted(maps.Keys(c.DSCPToTCMap)) {
		path, tc := fmt.Sprintf("dscp_to_tc_map.%d", dscp), c.DSCPToTCMap[dscp]
		unless(dscp < 64, path, "a DSCP is 0 to 63")
		unless(tc < wire.Priorities, path, "traffic class %d is not in 0..7", tc)
	}
	for _, tc := range slices.Sorted(maps.Keys(c.TCToDot1pMap)) {
		unless(tc < wire.Priorities, fmt.Sprintf("tc_to_dot1p_map.%d", tc),
			"a traffic class is 0 to 7")
	}
	unless(c.VLAN == 0 || !c.followsAddresses(), "vlan", "%d is for ipv4 and ipv6, and neither is "+
		"given; VLAN devices of %s are followed by themselves", c.VLAN, c.Port.Name)
	unless(c.Gateway == nil || !c.followsAddresses(), "gateway",
		"without ipv4 and ipv6 the kernel's addresses and routes hold; leave it out")
	if g := c.Gateway; g != nil {
		unless(g.Subnet.IsValid(), "gateway.subnet", "is missing, as 10.0.1.0/24")
		unless(g.MAC != (wire.MAC{}) && !g.MAC.IsMulticast(), "gateway.mac",
			"%v: want the address of one station", g.MAC)
	}
	faults = append(faults, c.Programs.validate()...)
	unless(c.MetricsPerQP >= 0, "metrics_per_qp", "%d is negative", c.MetricsPerQP)
	n := c.machine()
	faults = append(faults, c.congestionControl(&n)...)
	faults = append(faults, c.Pingmesh.validate()...)
	_, wrong := c.Personality.resolve()
	faults = append(faults, wrong...)
	if c.MTU == 0 { // the device will tell
		n.QP.MTU = nic.DefaultConfig().QP.MTU
	}
	if n.Rate <= 0 { // told above; what is compared with it is not at fault
		n.Rate = 1000 * unit.GbPerSecond
	}
	for _, err := range n.Validate() {
		path, problem, _ := strings.Cut(err.Error(), ": ")
		if to, ok := elsewhere[path]; ok {
			path = to
		}
		if path == "cnp_interval" && c.CNPInterval == nil || ofPersonality[path] {
			path = "personality.params." +
				strings.ReplaceAll(strings.TrimPrefix(path, "qp."), "coalesce.", "coalesce_")
		}
		// Told above, closer to the line.
		if path != "dscp_to_tc_map" && path != "port.rate" {
			faults = append(faults, daemon.Fault{Path: path, Problem: problem})
		}
	}
	return faults
}

// appendParameters lists the fields of a struct by their keys.
func appendParameters(list []daemon.Parameter, prefix string, of any) []daemon.Parameter {
	var node yaml.Node
	if err := node.Encode(of); err != nil || node.Kind != yaml.MappingNode {
		return list
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		list = append(list, daemon.Parameter{Name: prefix + node.Content[i].Value,
			Value: node.Content[i+1].Value})
	}
	return list
}
