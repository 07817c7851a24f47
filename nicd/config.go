package nicd

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Config is nicd's configuration. Keys are SONiC's and mlx5's where they have one. Start from
// Default; Sample shows it with comments.
type Config struct {
	daemon.Common `yaml:",inline"`

	Port daemon.PortConfig `yaml:"port"`
	// What is not given of these is the kernel's: the device's MAC address, and all addresses of it
	// and of its VLAN devices if neither is given.
	MAC  wire.MAC   `yaml:"mac,omitempty"`
	IPv4 netip.Addr `yaml:"ipv4"` // written as "" if invalid: yaml sees no zero in it
	IPv6 netip.Addr `yaml:"ipv6"`
	VLAN uint16     `yaml:"vlan,omitempty"` // that the given addresses are on; 0 is none
	// Gateway is the router to peers in other subnets; nil: all are on the link.
	Gateway *Gateway `yaml:"gateway,omitempty"`
	MTU     int      `yaml:"mtu"` // path MTU; 0 is the largest that fits the device

	PFCEnable []uint8 `yaml:"pfc_enable"` // of both directions
	// A map that is given is all there is: what is not in it is class 0, priority 0.
	DSCPToTCMap  daemon.Table[uint8, uint8] `yaml:"dscp_to_tc_map"`
	TCToDot1pMap daemon.Table[uint8, uint8] `yaml:"tc_to_dot1p_map"` // priority of tagged frames
	Receive      ReceiveConfig              `yaml:"receive"`
	DSCP         DSCPConfig                 `yaml:"dscp"`

	CC CCConfig `yaml:"cc"`
	// TCToCCMap is in place of CC for queue pairs whose data is of a traffic class.
	TCToCCMap   map[uint8]CCConfig `yaml:"tc_to_cc_map"`
	Personality PersonalityConfig  `yaml:"personality"`
	// CNPInterval is in place of the personality's, if it is there.
	CNPInterval *time.Duration `yaml:"cnp_interval,omitempty"`
	Burst       unit.Bytes     `yaml:"burst"`

	QP         QPConfig `yaml:"qp"`
	MaxQPs     int      `yaml:"max_qps"`
	MaxRegions int      `yaml:"max_regions"`
	Seed       uint64   `yaml:"seed"` // 0 draws one, so that memory keys cannot be guessed

	// Verbs is the socket for programs; empty: beside Control, "none": there is none.
	Verbs    string         `yaml:"verbs,omitempty"`
	Programs ProgramsConfig `yaml:"programs"`

	Pingmesh PingmeshConfig `yaml:"pingmesh"`

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

	ReadDepth int    `yaml:"read_depth"`
	Resources int    `yaml:"resources"`
	MaxInline int    `yaml:"max_inline"`
	Credits   bool   `yaml:"credits"`
	PKey      uint16 `yaml:"pkey"`
	// Recovery is in place of the personality's, if it is there.
	Recovery *qp.Recovery `yaml:"recovery,omitempty"`
}

// Default has every value that need not be given.
func Default() Config {
	n := nic.DefaultConfig()
	c := Config{
		MTU: n.QP.MTU, PFCEnable: []uint8{3}, DSCP: DSCPConfig(n.DSCP),
		DSCPToTCMap: map[uint8]uint8{}, TCToDot1pMap: map[uint8]uint8{},
		CC: CCConfig{Algorithm: "dcqcn"}, TCToCCMap: map[uint8]CCConfig{},
		Personality: PersonalityConfig{Name: BookPersonality}, Burst: n.Burst,
		MaxQPs: n.MaxQPs, MaxRegions: n.MaxRegions,
		QP: QPConfig{n.QP.SendQueue, n.QP.ReceiveQueue, n.QP.MaxOutstanding, n.QP.AckEvery,
			n.QP.Timeout, n.QP.RetryCount, n.QP.RNRRetry, uint8(n.QP.MinRNRTimer),
			n.QP.ReadDepth, n.QP.Resources, n.QP.MaxInline, n.QP.Credits, n.QP.PKey, nil},
	}
	c.Receive.MTT = MTTConfig(n.Receive.MTT)
	for tc, pcp := range n.PCP {
		c.TCToDot1pMap[uint8(tc)] = pcp
	}
	for dscp, tc := range n.Classify.DSCP {
		if tc != 0 {
			c.DSCPToTCMap[uint8(dscp)] = tc
		}
	}
	c.Programs = defaultPrograms()
	return c
}

// Clone is a copy that shares nothing.
func (c *Config) Clone() (Config, error) {
	out := Default()
	text, err := yaml.Marshal(c)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	return out, err
}

// Merge reads settings of some NICs over c, which are those of all; name stands for them in errors.
//
// Params are settings, not a table: each stands for itself. But nothing stays of what belongs to
// another algorithm: who names one has its first preset and no params, unless they are given too.
func (c *Config) Merge(name string, part *yaml.Node) error {
	all := c.CC
	c.CC = CCConfig{Algorithm: all.Algorithm}
	if err := daemon.Merge(name, part, c); err != nil {
		return err
	}
	if c.CC.Algorithm != all.Algorithm {
		return nil
	}
	if c.CC.Preset == "" {
		c.CC.Preset = all.Preset
	}
	c.CC.Params = over(c.CC.Params, all.Params)
	return nil
}

// over is own values over those of all.
func over(own, all map[string]any) map[string]any {
	if len(all) == 0 {
		return own
	}
	both := maps.Clone(all)
	maps.Copy(both, own)
	return both
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
	n := c.machine()
	if faults := c.congestionControl(&n); len(faults) != 0 {
		return nic.Config{}, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Problem)
	}
	if n.Seed == 0 {
		n.Seed = drawSeed()
	}
	return n, nil
}

// behaviour is the personality with what the configuration has of its own.
func (c *Config) behaviour() PersonalityParams {
	v, _ := c.Personality.resolve() // Validate tells what is wrong with it
	if c.CNPInterval != nil {
		v.CNPInterval = *c.CNPInterval
	}
	if c.QP.Recovery != nil {
		v.Recovery = *c.QP.Recovery
	}
	return v
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
	n.VLAN, n.PCP = c.VLAN, [wire.Priorities]uint8{}
	for tc, pcp := range c.TCToDot1pMap {
		if int(tc) < len(n.PCP) {
			n.PCP[tc] = pcp
		}
	}
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
	n.Burst = c.Burst
	values := c.behaviour()
	like := values.machine()
	like.Apply(&n)
	q := &n.QP
	q.MTU, q.SendQueue, q.ReceiveQueue = c.MTU, c.QP.SendQueue, c.QP.ReceiveQueue
	q.MaxOutstanding, q.AckEvery = c.QP.MaxOutstanding, c.QP.AckEvery
	q.Timeout, q.RetryCount, q.RNRRetry = c.QP.Timeout, c.QP.RetryCount, c.QP.RNRRetry
	q.MinRNRTimer = ib.RNRTimer(c.QP.MinRNRTimer)
	q.ReadDepth, q.Resources, q.MaxInline = c.QP.ReadDepth, c.QP.Resources, c.QP.MaxInline
	q.Credits, q.PKey = c.QP.Credits, c.QP.PKey
	n.MaxQPs, n.MaxRegions, n.Seed = c.MaxQPs, c.MaxRegions, c.Seed
	return n
}
