package nicd

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
)

// Config is nicd's configuration. Keys are SONiC's and mlx5's where they have one. Start from
// Default; Sample shows it with comments.
type Config struct {
	daemon.Common `yaml:",inline"`

	Port daemon.PortConfig `yaml:"port"`
	MAC  wire.MAC          `yaml:"mac"`
	IPv4 netip.Addr        `yaml:"ipv4"` // empty is none
	IPv6 netip.Addr        `yaml:"ipv6"`
	// Gateway is the router to peers in other subnets; nil: all are on the link.
	Gateway *Gateway `yaml:"gateway,omitempty"`
	MTU     int      `yaml:"mtu"` // path MTU

	PFCEnable   []uint8         `yaml:"pfc_enable"` // of both directions
	DSCPToTCMap map[uint8]uint8 `yaml:"dscp_to_tc_map"`
	Receive     ReceiveConfig   `yaml:"receive"`
	DSCP        DSCPConfig      `yaml:"dscp"`

	CC          CCConfig      `yaml:"cc"`
	CNPInterval time.Duration `yaml:"cnp_interval"`
	Burst       unit.Bytes    `yaml:"burst"`

	QP         QPConfig `yaml:"qp"`
	MaxQPs     int      `yaml:"max_qps"`
	MaxRegions int      `yaml:"max_regions"`
	Seed       uint64   `yaml:"seed"` // 0 draws one, so that memory keys cannot be guessed

	// MetricsPerQP is how many QPs at most get metrics of their own.
	MetricsPerQP int `yaml:"metrics_per_qp"`
}

// Gateway is a router: what is not for an address in Subnet goes to its MAC address.
type Gateway struct {
	Subnet netip.Prefix `yaml:"subnet"`
	MAC    wire.MAC     `yaml:"mac"`
}

// toward is the MAC address to which packets for a peer go.
func (g *Gateway) toward(peer netip.Addr, mac wire.MAC) wire.MAC {
	if g == nil || g.Subnet.Contains(peer) {
		return mac
	}
	return g.MAC
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

// CCConfig chooses an algorithm, a preset of its parameters, and values that differ from those.
type CCConfig struct {
	Algorithm string         `yaml:"algorithm"`
	Preset    string         `yaml:"preset,omitempty"` // the algorithm's default if empty
	Params    map[string]any `yaml:"params,omitempty"`
}

// Default has every value that need not be given.
func Default() Config {
	n := nic.DefaultConfig()
	c := Config{
		MTU: n.QP.MTU, PFCEnable: []uint8{3}, DSCP: DSCPConfig(n.DSCP),
		DSCPToTCMap: map[uint8]uint8{}, CC: CCConfig{Algorithm: "dcqcn"},
		CNPInterval: n.CNPInterval, Burst: n.Burst, MaxQPs: n.MaxQPs, MaxRegions: n.MaxRegions,
		QP: QPConfig{n.QP.SendQueue, n.QP.ReceiveQueue, n.QP.MaxOutstanding, n.QP.AckEvery,
			n.QP.Timeout, n.QP.RetryCount, n.QP.RNRRetry, uint8(n.QP.MinRNRTimer)},
	}
	c.Receive.MTT = MTTConfig(n.Receive.MTT)
	for dscp, tc := range n.Classify.DSCP {
		if tc != 0 {
			c.DSCPToTCMap[uint8(dscp)] = tc
		}
	}
	return c
}

// Load reads a configuration file over the defaults.
func Load(path string) (*Config, error) {
	c := Default()
	if err := daemon.Load(path, &c); err != nil {
		return nil, err
	}
	return &c, nil
}

// Machine converts a valid configuration into the machine's. Without a seed in it, each call draws
// another one.
func (c *Config) Machine() (nic.Config, error) {
	params, faults := c.CC.resolve()
	if len(faults) != 0 {
		return nic.Config{}, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
	}
	n := c.machine()
	n.CC = params
	if n.Seed == 0 {
		n.Seed = drawSeed()
	}
	return n, nil
}

// drawSeed takes a seed from the operating system. The machine draws no randomness of its own, so
// this is where keys become unguessable; zero is left out because it means "draw one".
func drawSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, it says
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

// machine is everything but congestion control.
func (c *Config) machine() nic.Config {
	n := nic.DefaultConfig()
	n.MAC, n.IPv4, n.IPv6, n.Rate = c.MAC, c.IPv4, c.IPv6, c.Port.Rate
	n.DSCP, n.PFC = nic.DSCP(c.DSCP), 0
	for _, p := range c.PFCEnable {
		n.PFC = n.PFC.With(pfc.Priority(p))
	}
	n.Classify.DSCP = [64]uint8{}
	for dscp, tc := range c.DSCPToTCMap {
		if int(dscp) < len(n.Classify.DSCP) {
			n.Classify.DSCP[dscp] = tc
		}
	}
	n.Receive = c.Receive.machine()
	n.CNPInterval, n.Burst = c.CNPInterval, c.Burst
	q := &n.QP
	q.MTU, q.SendQueue, q.ReceiveQueue = c.MTU, c.QP.SendQueue, c.QP.ReceiveQueue
	q.MaxOutstanding, q.AckEvery = c.QP.MaxOutstanding, c.QP.AckEvery
	q.Timeout, q.RetryCount, q.RNRRetry = c.QP.Timeout, c.QP.RetryCount, c.QP.RNRRetry
	q.MinRNRTimer = ib.RNRTimer(c.QP.MinRNRTimer)
	n.MaxQPs, n.MaxRegions, n.Seed = c.MaxQPs, c.MaxRegions, c.Seed
	return n
}
