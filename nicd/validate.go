package nicd

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
)

// elsewhere are the fields that stand in another place of the file than of nic.Config.
var elsewhere = map[string]string{"rate": "port.rate", "qp.mtu": "mtu", "cc": "cc.algorithm"}

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
	if g := c.Gateway; g != nil {
		unless(g.Subnet.IsValid(), "gateway.subnet", "is missing, as 10.0.1.0/24")
		unless(g.MAC != (wire.MAC{}) && !g.MAC.IsMulticast(), "gateway.mac",
			"%v: want the address of one station", g.MAC)
	}
	unless(c.MetricsPerQP >= 0, "metrics_per_qp", "%d is negative", c.MetricsPerQP)
	params, wrong := c.CC.resolve()
	faults = append(faults, wrong...)
	n := c.machine()
	if params != nil {
		n.CC = params
	}
	for _, err := range n.Validate() {
		path, problem, _ := strings.Cut(err.Error(), ": ")
		if to, ok := elsewhere[path]; ok {
			path = to
		}
		// Told above, closer to the line.
		if path != "dscp_to_tc_map" && path != "port.rate" {
			faults = append(faults, daemon.Fault{Path: path, Problem: problem})
		}
	}
	return faults
}

// resolve returns the parameters of the preset with the changes on top, nil if there is no such
// algorithm or preset.
func (c *CCConfig) resolve() (params cc.Params, faults []daemon.Fault) {
	params, err := cc.NewParams(c.Algorithm, c.Preset)
	if err != nil {
		path := "cc.algorithm"
		if slices.Contains(cc.Names(), c.Algorithm) {
			path = "cc.preset"
		}
		return nil, []daemon.Fault{{Path: path, Problem: err.Error()}}
	}
	// One at a time, so that each fault has its own path.
	for _, key := range slices.Sorted(maps.Keys(c.Params)) {
		text, err := yaml.Marshal(map[string]any{key: c.Params[key]})
		if err == nil {
			dec := yaml.NewDecoder(bytes.NewReader(text))
			dec.KnownFields(true)
			err = dec.Decode(params)
		}
		if err != nil {
			faults = append(faults, daemon.Fault{Path: "cc.params." + key,
				Problem: c.explain(key, err)})
		}
	}
	return params, faults
}

// explain says what is wrong with one parameter without the decoder's line, which is not the
// file's.
func (c *CCConfig) explain(key string, err error) string {
	if strings.Contains(err.Error(), "not found in type") {
		return "unknown parameter of " + c.Algorithm
	}
	return fmt.Sprintf("%v is no value for it", c.Params[key])
}

// Parameters are the effective settings of congestion control, for results to carry.
func (c *Config) Parameters() []daemon.Parameter {
	preset := c.CC.Preset
	if preset == "" {
		preset = cc.DefaultPreset(c.CC.Algorithm)
	}
	list := []daemon.Parameter{{Name: "cc.algorithm", Value: c.CC.Algorithm},
		{Name: "cc.preset", Value: preset},
		{Name: "cnp_interval", Value: c.CNPInterval.String()}}
	params, _ := c.CC.resolve()
	var node yaml.Node
	if err := node.Encode(params); err != nil || node.Kind != yaml.MappingNode {
		return list
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		list = append(list, daemon.Parameter{Name: "cc.params." + node.Content[i].Value,
			Value: node.Content[i+1].Value})
	}
	return list
}
