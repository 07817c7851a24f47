package nic

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/qp"
)

// Config is a NIC's configuration. Start from DefaultConfig.
type Config struct {
	MAC  wire.MAC
	IPv4 netip.Addr // addresses to begin with, see SetAddresses; either may be none
	IPv6 netip.Addr
	VLAN uint16   // that they are on; 0 is none
	PCP  [8]uint8 // priority of tagged frames, by traffic class
	// KernelPaths makes all paths the kernel\'s, whoever gave them: as if all were Resolved.
	KernelPaths bool
	Rate        unit.Rate // of the port

	DSCP     DSCP
	Classify classify.Map // DSCP to priority, for what arrives and what is sent
	PFC      pfc.Set      // priorities whose pause is obeyed, and that Receive pauses
	Receive  ReceiveConfig

	CC      cc.Params
	ClassCC [8]cc.Params // in place of it, by the traffic class of a QP's data; nil: CC
	CNP     CNPConfig
	// Burst is what a paced QP may send back to back after a pause of its own, if its congestion
	// control has no bucket of its own.
	Burst unit.Bytes

	QP         qp.Config // what a QP has if its creator does not say otherwise
	MaxQPs     int
	MaxRegions int
	CM         cm.Config // timing and bounds; GUID, MTU and generator are the NIC's
	Seed       uint64    // of memory keys and first PSNs; who knows it knows the keys
}

// asking is what PFC frames of the NIC are made by.
func (c *Config) asking() pfc.GeneratorConfig {
	return pfc.GeneratorConfig{Source: c.MAC, Rate: c.Rate, Quanta: c.Receive.Quanta}
}

// DSCP is the codepoint of each kind of packet.
type DSCP struct {
	Data uint8
	Ack  uint8
	CNP  uint8
}

// DefaultConfig is a NIC as users of RoCE set it up: DSCP 26 and 48, which make priorities 3 and
// 6, PFC on 3, DCQCN. Addresses and the rate are left to set.
func DefaultConfig() Config {
	params, err := cc.NewParams("dcqcn", "")
	if err != nil {
		panic(err) // the registry is part of the program
	}
	c := Config{
		DSCP: DSCP{Data: 26, Ack: 26, CNP: 48},
		PFC:  pfc.SetOf(3),
		CC:   params, CNP: CNPConfig{Interval: cc.DefaultCNPInterval}, Burst: 1500,
		Receive: ReceiveConfig{MTT: MTTConfig{PageSize: SmallPage}},
		QP:      qp.DefaultConfig(), MaxQPs: 1024, MaxRegions: 4096,
		CM: cm.DefaultConfig(),
	}
	for tc := range c.PCP {
		c.PCP[tc] = uint8(tc)
	}
	c.Classify.DSCP[26], c.Classify.DSCP[48] = 3, 6
	c.Classify.DSCP[3], c.Classify.DSCP[4] = 3, 4
	return c
}

// maxQPs bounds MaxQPs: owners of timers and slots are small integers.
const maxQPs = 1 << 20

// maxVLAN is the largest VLAN ID that a network may use: IEEE 802.1Q-2022 table 9-2.
const maxVLAN = 4094

// Validate returns every fault, each starting with the field's name in configuration.
func (c *Config) Validate() (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(!c.MAC.IsMulticast(), "mac: %v is not a unicast address", c.MAC)
	must(!c.IPv4.IsValid() || c.IPv4.Is4(), "ipv4: %v is not an IPv4 address", c.IPv4)
	must(!c.IPv6.IsValid() || c.IPv6.Is6(), "ipv6: %v is not an IPv6 address", c.IPv6)
	must(c.VLAN <= maxVLAN, "vlan: %d is not in 0..%d", c.VLAN, maxVLAN)
	for tc, pcp := range c.PCP {
		must(pcp < wire.Priorities, "tc_to_dot1p_map.%d: %d is not in 0..7", tc, pcp)
	}
	must(c.Rate > 0, "rate: %v is not positive", c.Rate)
	for _, d := range []struct {
		name  string
		value uint8
	}{{"dscp.data", c.DSCP.Data}, {"dscp.ack", c.DSCP.Ack}, {"dscp.cnp", c.DSCP.CNP}} {
		must(d.value < 64, "%s: %d is not in 0..63", d.name, d.value)
	}
	if err := c.Classify.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("dscp_to_tc_map: %w", err))
	}
	faults = append(faults, c.CNP.validate()...)
	must(c.Burst >= 0, "burst: %d is negative", c.Burst)
	must(c.MaxQPs > 0 && c.MaxQPs <= maxQPs, "max_qps: %d is not in 1..%d", c.MaxQPs, maxQPs)
	must(c.MaxRegions > 0, "max_regions: %d is not positive", c.MaxRegions)
	for _, f := range c.QP.Validate() {
		faults = append(faults, fmt.Errorf("qp.%w", f))
	}
	faults = append(faults, c.Receive.validate()...)
	if c.CC == nil {
		return append(faults, errors.New("cc: no algorithm"))
	}
	faults = append(faults, c.judge("cc", c.CC)...)
	for tc, p := range c.ClassCC {
		if p != nil {
			faults = append(faults, c.judge(fmt.Sprintf("tc_to_cc_map.%d", tc), p)...)
		}
	}
	return faults
}
