package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/qp"
)

// Config is a NIC's configuration. Start from DefaultConfig.
type Config struct {
	MAC  wire.MAC
	IPv4 netip.Addr // at least one of the two
	IPv6 netip.Addr
	Rate unit.Rate // of the port

	DSCP     DSCP
	Classify classify.Map // DSCP to priority, for what arrives and what is sent
	PFC      pfc.Set      // priorities whose pause is obeyed, and that Receive pauses
	Receive  ReceiveConfig

	CC          cc.Params
	CNPInterval time.Duration // N of [DCQCN] 3.1
	Burst       unit.Bytes    // what a paced QP may send back to back after a pause of its own

	QP         qp.Config // what a QP has if its creator does not say otherwise
	MaxQPs     int
	MaxRegions int
	Seed       uint64 // of memory keys and first PSNs; who knows it knows the keys
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
		CC:   params, CNPInterval: cc.DefaultCNPInterval, Burst: 1500,
		Receive: ReceiveConfig{MTT: MTTConfig{PageSize: SmallPage}},
		QP:      qp.DefaultConfig(), MaxQPs: 1024, MaxRegions: 4096,
	}
	c.Classify.DSCP[26], c.Classify.DSCP[48] = 3, 6
	c.Classify.DSCP[3], c.Classify.DSCP[4] = 3, 4
	return c
}

// maxQPs bounds MaxQPs: owners of timers and slots are small integers.
const maxQPs = 1 << 20

// Validate returns every fault, each starting with the field's name in configuration.
func (c *Config) Validate() (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(c.MAC != wire.MAC{} && !c.MAC.IsMulticast(), "mac: %v is not a unicast address", c.MAC)
	must(c.IPv4.IsValid() || c.IPv6.IsValid(), "ipv4: neither ipv4 nor ipv6 is set")
	must(!c.IPv4.IsValid() || c.IPv4.Is4(), "ipv4: %v is not an IPv4 address", c.IPv4)
	must(!c.IPv6.IsValid() || c.IPv6.Is6(), "ipv6: %v is not an IPv6 address", c.IPv6)
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
	must(c.CNPInterval >= 0, "cnp_interval: %v is negative", c.CNPInterval)
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
	for _, f := range c.CC.Validate(c.Rate) {
		faults = append(faults, fmt.Errorf("cc.params.%w", f))
	}
	return faults
}
