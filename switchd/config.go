package switchd

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Config is switchd's configuration. Keys are SONiC's, in lower case; values that SONiC writes as
// texts are numbers here. Default returns the switch of [DCQCN].
type Config struct {
	daemon.Common `yaml:",inline"`

	Ports []daemon.PortConfig `yaml:"ports"`

	// Classification: DSCP or PCP to traffic class, which is also the PFC priority.
	Trust       string          `yaml:"trust"` // dscp or pcp
	DSCPToTC    map[uint8]uint8 `yaml:"dscp_to_tc_map"`
	Dot1pToTC   map[uint8]uint8 `yaml:"dot1p_to_tc_map"`
	DefaultTC   uint8           `yaml:"default_tc"` // without the trusted field, or not in the map
	TCToPG      map[uint8]uint8 `yaml:"tc_to_priority_group_map"`
	TCToQueue   map[uint8]uint8 `yaml:"tc_to_queue_map"`
	FloodTC     uint8           `yaml:"flood_tc"`     // of flooded frames whose class is lossless
	PFCEnable   []uint8         `yaml:"pfc_enable"`   // lossless priorities
	PauseQuanta uint16          `yaml:"pause_quanta"` // time in an XOFF, in 512 bit times

	Pool      BufferPool    `yaml:"buffer_pool"`
	Lossless  BufferProfile `yaml:"lossless_profile"`
	Lossy     BufferProfile `yaml:"lossy_profile"`
	WRED      WREDProfile   `yaml:"wred_profile"` // of the lossless queues
	Scheduler Scheduler     `yaml:"scheduler"`

	MACAgeing time.Duration `yaml:"mac_ageing"`
	MACLimit  int           `yaml:"mac_limit"` // entries
	Frames    int           `yaml:"frames"`    // of the frame pool; must cover the buffer's use
	Seed      uint64        `yaml:"seed"`      // of the marking decisions
}

// BufferPool is the shared buffer.
type BufferPool struct {
	Size unit.Bytes `yaml:"size"`
}

// BufferProfile is what a priority group may store.
type BufferProfile struct {
	Size      unit.Bytes `yaml:"size"`                // reserved
	DynamicTh *int       `yaml:"dynamic_th"`          // n: limit = 2^n x free
	StaticTh  unit.Bytes `yaml:"static_th,omitempty"` // instead of dynamic_th
	XOFF      unit.Bytes `yaml:"xoff,omitempty"`      // headroom; lossless only
	XON       unit.Bytes `yaml:"xon,omitempty"`       // resume at or below this use
	XONOffset unit.Bytes `yaml:"xon_offset,omitempty"`
}

// WREDProfile marks (ECN) on the instantaneous queue. The names stand for Kmin, Kmax and Pmax.
type WREDProfile struct {
	MinThreshold    unit.Bytes `yaml:"green_min_threshold"`
	MaxThreshold    unit.Bytes `yaml:"green_max_threshold"`
	DropProbability float64    `yaml:"green_drop_probability"` // percent
	ECN             string     `yaml:"ecn"`                    // ecn_all or ecn_none
	At              string     `yaml:"mark_at"`                // enqueue or dequeue
}

// Scheduler says how the queues share the port.
type Scheduler struct {
	Strict []uint8       `yaml:"strict"` // queues served before all others, highest first
	Weight map[uint8]int `yaml:"weight"` // DWRR weight of the others, 1 to 100; 1 if absent
}

// Default is the switch of [DCQCN] section 4 with the parameters of figure 14: 12 MB shared,
// 22.4 KB of headroom, beta = 8 (which is alpha = 1), Kmin 5 KB, Kmax 200 KB, Pmax 1 %.
func Default() Config {
	alpha := [2]int{} // Two, because decoding a profile writes through its pointer.
	return Config{
		Trust:       "dscp",
		DSCPToTC:    map[uint8]uint8{3: 3, 4: 4, 26: 3, 48: 6},
		Dot1pToTC:   map[uint8]uint8{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7},
		TCToPG:      identity(),
		TCToQueue:   identity(),
		PFCEnable:   []uint8{3, 4},
		PauseQuanta: 0xffff,
		Pool:        BufferPool{Size: 12 * unit.MB},
		Lossless: BufferProfile{DynamicTh: &alpha[0], XOFF: 22_400,
			XONOffset: 3000}, // [DCQCN] section 4: two MTU
		Lossy: BufferProfile{DynamicTh: &alpha[1]},
		WRED: WREDProfile{MinThreshold: 5 * unit.KB, MaxThreshold: 200 * unit.KB,
			DropProbability: 1, ECN: "ecn_all", At: "enqueue"},
		// CNPs travel in class 6: [DCQCN] section 3.3, "we send CNPs with high priority".
		Scheduler: Scheduler{Strict: []uint8{6}},
		MACAgeing: 300 * time.Second,
		MACLimit:  16384,
		Frames:    16384,
		Seed:      1,
	}
}

func identity() map[uint8]uint8 {
	m := make(map[uint8]uint8)
	for i := range uint8(classify.Classes) {
		m[i] = i
	}
	return m
}

// Load reads a configuration file over the defaults.
func Load(path string) (*Config, error) {
	c := Default()
	if err := daemon.Load(path, &c); err != nil {
		return nil, err
	}
	return &c, nil
}

// faults collects what is wrong, each with its field path.
type faults []daemon.Fault

func (f *faults) unless(ok bool, path, format string, args ...any) {
	if !ok {
		*f = append(*f, daemon.Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

// Validate returns every fault.
func (c *Config) Validate() []daemon.Fault {
	f := faults(c.Common.Validate())
	f.unless(len(c.Ports) > 0, "ports", "a switch needs at least one")
	names := make(map[string]bool)
	for i := range c.Ports {
		path := fmt.Sprintf("ports[%d]", i)
		f = append(f, c.Ports[i].Validate(path)...)
		f.unless(!names[c.Ports[i].Name], path+".name", "%q is there already", c.Ports[i].Name)
		names[c.Ports[i].Name] = true
	}
	f.unless(c.Trust == "dscp" || c.Trust == "pcp", "trust", "%q: want dscp or pcp", c.Trust)
	f.class("default_tc", c.DefaultTC)
	f.class("flood_tc", c.FloodTC)
	f.classes("dscp_to_tc_map", c.DSCPToTC, 64)
	f.classes("dot1p_to_tc_map", c.Dot1pToTC, 8)
	f.classes("tc_to_priority_group_map", c.TCToPG, classify.Classes)
	f.classes("tc_to_queue_map", c.TCToQueue, classify.Classes)
	for i, p := range c.PFCEnable {
		f.class(fmt.Sprintf("pfc_enable[%d]", i), p)
	}
	f.unless(!slices.Contains(c.PFCEnable, c.FloodTC), "flood_tc", "%d is lossless", c.FloodTC)
	c.validateGroups(&f)
	f.unless(c.PauseQuanta > 0, "pause_quanta", "must be 1 to 65535")
	c.validateBuffer(&f)
	c.validateQueues(&f)
	f.unless(c.MACAgeing > 0, "mac_ageing", "must be positive, as 300s")
	f.unless(c.MACLimit > 0, "mac_limit", "must be positive")
	f.unless(c.Frames > 0, "frames", "must be positive")
	return f
}

// validateGroups refuses a priority group that lossless and lossy classes share: a lossy sender
// would fill the headroom, and no PFC frame would stop it.
func (c *Config) validateGroups(f *faults) {
	lossless := make(map[uint8]bool)
	for _, tc := range c.PFCEnable {
		if pg, mapped := c.TCToPG[tc]; mapped {
			lossless[pg] = true
		}
	}
	for _, tc := range sortedKeys(c.TCToPG) {
		f.unless(slices.Contains(c.PFCEnable, tc) || !lossless[c.TCToPG[tc]],
			fmt.Sprintf("tc_to_priority_group_map.%d", tc),
			"group %d is lossless, class %d is not in pfc_enable", c.TCToPG[tc], tc)
	}
}

func (f *faults) class(path string, tc uint8) {
	f.unless(tc < classify.Classes, path, "%d: want 0 to %d", tc, classify.Classes-1)
}

func (f *faults) classes(path string, m map[uint8]uint8, keys uint8) {
	for _, k := range sortedKeys(m) {
		at := fmt.Sprintf("%s.%d", path, k)
		f.unless(k < keys, at, "%d: want 0 to %d", k, keys-1)
		f.class(at, m[k])
	}
}

func (c *Config) validateBuffer(f *faults) {
	f.unless(c.Pool.Size > 0, "buffer_pool.size", "must be positive, as 12MB")
	for _, p := range []struct {
		path string
		*BufferProfile
		lossless bool
	}{{"lossless_profile", &c.Lossless, true}, {"lossy_profile", &c.Lossy, false}} {
		f.unless((p.DynamicTh == nil) != (p.StaticTh == 0), p.path,
			"give either dynamic_th or static_th (dynamic_th: null ends the default)")
		f.unless(p.DynamicTh == nil || (*p.DynamicTh >= -10 && *p.DynamicTh <= 10),
			p.path+".dynamic_th", "want -10 to 10 (alpha = 2^n)")
		f.unless(p.Size >= 0 && p.StaticTh >= 0 && p.XON >= 0 && p.XONOffset >= 0, p.path,
			"sizes must not be negative")
		f.unless(p.lossless == (p.XOFF > 0), p.path+".xoff",
			"a lossless profile needs headroom, a lossy one has none")
	}
}

func (c *Config) validateQueues(f *faults) {
	w := &c.WRED
	f.unless(w.MinThreshold >= 0 && w.MinThreshold <= w.MaxThreshold, "wred_profile",
		"want 0 <= green_min_threshold <= green_max_threshold")
	f.unless(w.DropProbability >= 0 && w.DropProbability <= 100,
		"wred_profile.green_drop_probability", "%v: want 0 to 100 percent", w.DropProbability)
	f.unless(w.ECN == "ecn_all" || w.ECN == "ecn_none", "wred_profile.ecn",
		"%q: want ecn_all or ecn_none", w.ECN)
	f.unless(w.At == "enqueue" || w.At == "dequeue", "wred_profile.mark_at",
		"%q: want enqueue or dequeue", w.At)
	for i, q := range c.Scheduler.Strict {
		f.class(fmt.Sprintf("scheduler.strict[%d]", i), q)
	}
	for _, q := range sortedKeys(c.Scheduler.Weight) {
		at := fmt.Sprintf("scheduler.weight.%d", q)
		f.class(at, q)
		weight := c.Scheduler.Weight[q]
		f.unless(weight >= 1 && weight <= 100, at, "%d: want 1 to 100", weight)
	}
}

func sortedKeys[V any](m map[uint8]V) (keys []uint8) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
