package nicd

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
)

// Config is nicd's configuration file. Start from DefaultConfig; Sample shows it with comments.
type Config struct {
	daemon.Common `yaml:",inline"`

	Port daemon.PortConfig `yaml:"port"`
	MAC  wire.MAC          `yaml:"mac"`
	IPv4 netip.Addr        `yaml:"ipv4,omitempty"`
	IPv6 netip.Addr        `yaml:"ipv6,omitempty"`
	MTU  int               `yaml:"mtu"` // path MTU

	PFCEnable   PriorityList    `yaml:"pfc_enable"`
	DSCPToTCMap map[uint8]uint8 `yaml:"dscp_to_tc_map"`
	DSCP        DSCPConfig      `yaml:"dscp"`

	CC          CCConfig      `yaml:"cc"`
	CNPInterval time.Duration `yaml:"cnp_interval"`
	Burst       unit.Bytes    `yaml:"burst"`

	QP         QPConfig `yaml:"qp"`
	MaxQPs     int      `yaml:"max_qps"`
	MaxRegions int      `yaml:"max_regions"`
	Seed       uint64   `yaml:"seed"`

	// MetricsPerQP is how many QPs at most get metrics of their own.
	MetricsPerQP int `yaml:"metrics_per_qp"`
}

// DSCPConfig is the codepoint of each kind of packet.
type DSCPConfig struct {
	Data uint8 `yaml:"data"`
	Ack  uint8 `yaml:"ack"`
	CNP  uint8 `yaml:"cnp"`
}

// QPConfig is what queue pairs have.
type QPConfig struct {
	SendQueue      int   `yaml:"send_queue"`
	ReceiveQueue   int   `yaml:"receive_queue"`
	MaxOutstanding int   `yaml:"max_outstanding"`
	AckEvery       int   `yaml:"ack_every"`
	Timeout        uint8 `yaml:"timeout"`
	RetryCount     uint8 `yaml:"retry_count"`
	RNRRetry       uint8 `yaml:"rnr_retry"`
	MinRNRTimer    uint8 `yaml:"min_rnr_timer"`
}

// DefaultConfig has every value that need not be given.
func DefaultConfig() *Config {
	n := nic.DefaultConfig()
	c := &Config{
		MTU: n.QP.MTU, PFCEnable: PriorityList(n.PFC), DSCP: DSCPConfig(n.DSCP),
		DSCPToTCMap: map[uint8]uint8{}, CC: CCConfig{"dcqcn", "sigcomm15", n.CC},
		CNPInterval: n.CNPInterval, Burst: n.Burst, MaxQPs: n.MaxQPs, MaxRegions: n.MaxRegions,
		QP: QPConfig{n.QP.SendQueue, n.QP.ReceiveQueue, n.QP.MaxOutstanding, n.QP.AckEvery,
			n.QP.Timeout, n.QP.RetryCount, n.QP.RNRRetry, uint8(n.QP.MinRNRTimer)},
	}
	for dscp, tc := range n.Classify.DSCP {
		if tc != 0 {
			c.DSCPToTCMap[uint8(dscp)] = tc
		}
	}
	return c
}

// NIC is the machine's part of the configuration.
func (c *Config) NIC() nic.Config {
	n := nic.DefaultConfig()
	n.MAC, n.IPv4, n.IPv6, n.Rate = c.MAC, c.IPv4, c.IPv6, c.Port.Rate
	n.DSCP, n.PFC = nic.DSCP(c.DSCP), c.PFCEnable.Set()
	n.Classify.DSCP = [64]uint8{}
	for dscp, tc := range c.DSCPToTCMap {
		if int(dscp) < len(n.Classify.DSCP) {
			n.Classify.DSCP[dscp] = tc
		}
	}
	n.CC, n.CNPInterval, n.Burst = c.CC.Params, c.CNPInterval, c.Burst
	q := &n.QP
	q.MTU, q.SendQueue, q.ReceiveQueue = c.MTU, c.QP.SendQueue, c.QP.ReceiveQueue
	q.MaxOutstanding, q.AckEvery = c.QP.MaxOutstanding, c.QP.AckEvery
	q.Timeout, q.RetryCount, q.RNRRetry = c.QP.Timeout, c.QP.RetryCount, c.QP.RNRRetry
	q.MinRNRTimer = ib.RNRTimer(c.QP.MinRNRTimer)
	n.MaxQPs, n.MaxRegions, n.Seed = c.MaxQPs, c.MaxRegions, c.Seed
	return n
}

// elsewhere are the fields that stand in another place of the file than of nic.Config.
var elsewhere = map[string]string{"rate": "port.rate", "qp.mtu": "mtu", "cc": "cc.algorithm"}

// Validate returns every fault with the path of its field.
func (c *Config) Validate() []daemon.Fault {
	faults := append(c.Common.Validate(), c.Port.Validate("port")...)
	dscps := make([]uint8, 0, len(c.DSCPToTCMap))
	for dscp := range c.DSCPToTCMap {
		dscps = append(dscps, dscp)
	}
	slices.Sort(dscps)
	mapped := false
	for _, dscp := range dscps {
		path := fmt.Sprintf("dscp_to_tc_map.%d", dscp)
		switch tc := c.DSCPToTCMap[dscp]; {
		case dscp >= 64:
			faults = append(faults, daemon.Fault{Path: path, Problem: "a DSCP is 0 to 63"})
		case tc >= 8:
			mapped = true
			faults = append(faults, daemon.Fault{Path: path,
				Problem: fmt.Sprintf("traffic class %d is not in 0..7", tc)})
		}
	}
	if c.MetricsPerQP < 0 {
		faults = append(faults, daemon.Fault{Path: "metrics_per_qp", Problem: "is negative"})
	}
	n := c.NIC()
	for _, err := range n.Validate() {
		path, problem, _ := strings.Cut(err.Error(), ": ")
		if to, ok := elsewhere[path]; ok {
			path = to
		}
		if path == "dscp_to_tc_map" && mapped || path == "port.rate" {
			continue // said above, closer to the line
		}
		faults = append(faults, daemon.Fault{Path: path, Problem: problem})
	}
	return faults
}

// Parameters are the effective settings of congestion control, for results to carry.
func (c *Config) Parameters() []daemon.Parameter {
	list := []daemon.Parameter{{Name: "cc.algorithm", Value: c.CC.Algorithm},
		{Name: "cc.preset", Value: c.CC.Preset},
		{Name: "cnp_interval", Value: c.CNPInterval.String()}}
	var node yaml.Node
	if err := node.Encode(c.CC.Params); err != nil || node.Kind != yaml.MappingNode {
		return list
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		list = append(list, daemon.Parameter{Name: "cc.params." + node.Content[i].Value,
			Value: node.Content[i+1].Value})
	}
	return list
}
