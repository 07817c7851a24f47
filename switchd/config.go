package switchd

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// Config is switchd's configuration. Keys are SONiC's, in lower case. Default returns the switch of
// [DCQCN].
//
// What a port does with traffic class, buffer, queue and PFC comes from Simple, which says it once
// for all ports, or from the tables of a config_db.json; QoS then changes single fields of either.
// Tables puts the three together.
type Config struct {
	daemon.Common `yaml:",inline"`

	Ports []daemon.PortConfig `yaml:"ports"`

	ConfigDB string `yaml:"config_db,omitempty"` // file; replaces Simple
	Simple   `yaml:",inline"`
	QoS      Overlay `yaml:"qos,omitempty"`
	Options  `yaml:",inline"`

	Forwarding `yaml:",inline"`

	file     string        // that it was read from, if any
	database *sonic.Tables // of ConfigDB, once resolved
	remarks  []sonic.Remark
}

// Simple is the QoS of a switch whose ports are all alike.
type Simple struct {
	// A map that is given is all there is: what is not in it is class Options.DefaultTC, group 0,
	// queue 0.
	DSCPToTC  CodePoints `yaml:"dscp_to_tc_map"`
	Dot1pToTC classMap   `yaml:"dot1p_to_tc_map"`
	TCToPG    classMap   `yaml:"tc_to_priority_group_map"`
	TCToQueue classMap   `yaml:"tc_to_queue_map"`
	PFCEnable []uint8    `yaml:"pfc_enable"` // lossless priorities
	PFCAsym   bool       `yaml:"pfc_asym"`   // obey every priority, pause those of pfc_enable

	Pool      BufferPool    `yaml:"buffer_pool"`
	Lossless  BufferProfile `yaml:"lossless_profile"`
	Lossy     BufferProfile `yaml:"lossy_profile"`
	WRED      WREDProfile   `yaml:"wred_profile"` // of the lossless queues
	Scheduler Scheduler     `yaml:"scheduler"`
	Watchdog  Watchdog      `yaml:"pfc_wd,omitempty"`
}

// classMap is to or from classes.
type classMap = daemon.Table[uint8, uint8]

// Options are what SONiC has no words for, or says in tables that are not about QoS.
type Options struct {
	Trust       string     `yaml:"trust"`        // dscp or pcp; empty: by the maps of a config_db
	DefaultTC   uint8      `yaml:"default_tc"`   // without the trusted field, or not in the map
	FloodTC     uint8      `yaml:"flood_tc"`     // of flooded frames whose class is lossless
	PauseQuanta uint16     `yaml:"pause_quanta"` // time in an XOFF, in 512 bit times
	PauseDelay  PauseDelay `yaml:"pause_delay"`  // until an XOFF that came takes effect
	Cell        unit.Bytes `yaml:"cell_size"`    // what is stored takes whole cells; 0: bytes

	QCN       QCN       `yaml:"qcn,omitempty"`
	Telemetry Telemetry `yaml:"telemetry,omitempty"`

	MACAgeing time.Duration `yaml:"mac_ageing"`
	MACLimit  int           `yaml:"mac_limit"` // entries
	Frames    int           `yaml:"frames"`    // of the frame pool; 0: what the buffer can hold
	Seed      uint64        `yaml:"seed"`      // of the marking decisions
}

// BufferPool is the shared buffer.
type BufferPool struct {
	Size unit.Bytes `yaml:"size"`
	XOFF unit.Bytes `yaml:"xoff,omitempty"` // headroom that all groups share; 0: each has its own
}

// BufferProfile is what a priority group may store.
type BufferProfile struct {
	Size unit.Bytes `yaml:"size"` // reserved
	// The limit is alpha times what is free, or fixed. Alpha is written in one of three ways.
	DynamicTh *sonic.Alpha `yaml:"dynamic_th"`          // n: alpha = 2^n; or a fraction as 1/16
	Alpha     Fraction     `yaml:"alpha,omitempty"`     // as in [RDMA at scale] 6.2
	Beta      Fraction     `yaml:"beta,omitempty"`      // as in [DCQCN] section 4: alpha = beta/8
	StaticTh  unit.Bytes   `yaml:"static_th,omitempty"` // instead
	XOFF      unit.Bytes   `yaml:"xoff,omitempty"`      // headroom; lossless only
	XON       unit.Bytes   `yaml:"xon,omitempty"`       // resume at or below this use
	XONOffset unit.Bytes   `yaml:"xon_offset,omitempty"`
}

// WREDProfile marks (ECN) on the instantaneous queue. The names stand for Kmin, Kmax and Pmax.
type WREDProfile struct {
	MinThreshold    unit.Bytes `yaml:"green_min_threshold"`
	MaxThreshold    unit.Bytes `yaml:"green_max_threshold"`
	DropProbability float64    `yaml:"green_drop_probability"` // percent
	Drop            bool       `yaml:"wred_green_enable"`      // drop what is not ECN-capable
	ECN             string     `yaml:"ecn"`                    // ecn_all or ecn_none
	At              string     `yaml:"mark_at"`                // enqueue or dequeue
}

// Scheduler says how the queues share the port.
type Scheduler struct {
	Strict []uint8                  `yaml:"strict"` // served before all others, highest first
	Weight daemon.Table[uint8, int] `yaml:"weight"` // of the others, 1 to 100; 1 if absent
	Type   string                   `yaml:"type"`   // of weights: DWRR shares bytes, WRR frames
	// Guaranteed and greatest rate, by queue, and the greatest of a port; 0 or absent is none.
	MinRate  daemon.Table[uint8, unit.Rate] `yaml:"min_rate,omitempty"`
	MaxRate  daemon.Table[uint8, unit.Rate] `yaml:"max_rate,omitempty"`
	PortRate unit.Rate                      `yaml:"port_rate,omitempty"`
}

// Watchdog is the PFC storm watchdog of every port.
type Watchdog struct {
	// Preset gives what the other fields leave out: sonic (`pfcwd start_default`) or sigcomm16
	// ([RDMA at scale] 4.3). Without a preset and an action there is no watchdog.
	Preset      string        `yaml:"preset,omitempty"`
	Action      string        `yaml:"action,omitempty"` // drop, forward, alert
	Rule        string        `yaml:"rule,omitempty"`   // paused or undrained
	Detection   time.Duration `yaml:"detection_time,omitempty"`
	Restoration time.Duration `yaml:"restoration_time,omitempty"`
	Poll        time.Duration `yaml:"poll_interval,omitempty"`
}

// QCN is the QCN congestion point of some queues. [QCN] section 2.
type QCN struct {
	Queues  []uint8    `yaml:"queues"` // none: off
	Qeq     unit.Bytes `yaml:"q_eq"`
	W       float64    `yaml:"w"`
	Base    unit.Bytes `yaml:"sample_base"`
	Jitter  float64    `yaml:"jitter"`      // 0 to below 1
	Headers int        `yaml:"cnm_headers"` // bytes of the sampled frame in a CNM
}

// Telemetry stamps frames at dequeue with what they met.
type Telemetry struct {
	Queues   []uint8    `yaml:"queues"` // none: off
	Switch   uint32     `yaml:"switch_id"`
	Hops     int        `yaml:"hops"`
	MaxFrame unit.Bytes `yaml:"max_frame"` // a stamp that would make a frame longer is left out
}

// Default is the switch of [DCQCN] section 4 with the parameters of figure 14: 12 MB shared,
// 22.4 KB of headroom, beta = 8 (which is alpha = 1), Kmin 5 KB, Kmax 200 KB, Pmax 1 %.
func Default() Config {
	// One for each profile, because decoding writes through the pointer.
	lossless, lossy := sonic.Alpha{Num: 1, Den: 1}, sonic.Alpha{Num: 1, Den: 1}
	qcn := qos.NetFPGA()
	return Config{
		Simple: Simple{
			DSCPToTC:  roceDSCP(),
			Dot1pToTC: identity(),
			TCToPG:    identity(),
			TCToQueue: identity(),
			PFCEnable: []uint8{3, 4},
			Pool:      BufferPool{Size: 12 * unit.MB},
			Lossless: BufferProfile{DynamicTh: &lossless, XOFF: 22_400,
				XONOffset: 3000}, // [DCQCN] section 4: two MTU
			Lossy: BufferProfile{DynamicTh: &lossy},
			WRED: WREDProfile{MinThreshold: 5 * unit.KB, MaxThreshold: 200 * unit.KB,
				DropProbability: 1, ECN: "ecn_all", At: "enqueue"},
			// CNPs travel in class 6: [DCQCN] section 3.3, "we send CNPs with high priority".
			Scheduler: Scheduler{Strict: []uint8{6}, Type: "DWRR"},
		},
		Options: Options{
			Trust:       "dscp",
			PauseQuanta: 0xffff,
			QCN: QCN{Queues: []uint8{}, Qeq: qcn.Qeq, W: qcn.W, Base: qcn.Base,
				Jitter:  qcn.Jitter,
				Headers: 64}, // all there may be: by it a NIC finds the queue pair
			Telemetry: Telemetry{Queues: []uint8{}, Hops: 8, MaxFrame: 1514},
			MACAgeing: 300 * time.Second,
			MACLimit:  16384,
			Seed:      1,
		},
		Forwarding: defaultForwarding(),
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
	c.file = path
	return &c, nil
}

// MarshalYAML leaves out what a config_db replaces, so that what is written is read again.
func (c Config) MarshalYAML() (any, error) {
	if c.ConfigDB == "" {
		type plain Config
		return plain(c), nil
	}
	return struct {
		daemon.Common `yaml:",inline"`
		Ports         []daemon.PortConfig `yaml:"ports"`
		ConfigDB      string              `yaml:"config_db"`
		QoS           Overlay             `yaml:"qos,omitempty"`
		Options       `yaml:",inline"`
		Forwarding    `yaml:",inline"`
	}{c.Common, c.Ports, c.ConfigDB, c.QoS, c.Options, c.Forwarding}, nil
}
