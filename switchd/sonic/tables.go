package sonic

import (
	"strconv"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Tables are the QoS tables. Keys of tables by port are port names, or Global in PORT_QOS_MAP; keys
// of tables by port and index are as Slot makes them, one for each index. The zero value is empty.
type Tables struct {
	Ports        map[string]Port      // PORT
	Cables       map[string]Cables    // CABLE_LENGTH
	DSCPToTC     map[string]Map       // DSCP_TO_TC_MAP: 0..63 to 0..7
	Dot1pToTC    map[string]Map       // DOT1P_TO_TC_MAP: 0..7 to 0..7, as all that follow
	TCToPG       map[string]Map       // TC_TO_PRIORITY_GROUP_MAP
	TCToQueue    map[string]Map       // TC_TO_QUEUE_MAP
	PFCToQueue   map[string]Map       // MAP_PFC_PRIORITY_TO_QUEUE
	PFCToPG      map[string]Map       // PFC_PRIORITY_TO_PRIORITY_GROUP_MAP
	PortQoS      map[string]PortQoS   // PORT_QOS_MAP
	Pools        map[string]Pool      // BUFFER_POOL
	Profiles     map[string]Profile   // BUFFER_PROFILE
	PGs          map[string]BufferUse // BUFFER_PG, by Slot
	BufferQueues map[string]BufferUse // BUFFER_QUEUE, by Slot
	IngressLists map[string]List      // BUFFER_PORT_INGRESS_PROFILE_LIST
	EgressLists  map[string]List      // BUFFER_PORT_EGRESS_PROFILE_LIST
	WRED         map[string]WRED      // WRED_PROFILE
	Schedulers   map[string]Scheduler // SCHEDULER
	Queues       map[string]Queue     // QUEUE, by Slot
	Watchdogs    map[string]Watchdog  // PFC_WD of ports
	WatchdogAll  map[string]Polling   // PFC_WD|GLOBAL
	Switch       map[string]Switch    // ROCELAB|global: what SONiC has no words for
}

// Keys that stand for the whole switch.
const (
	Global         = "global" // in PORT_QOS_MAP and ROCELAB
	WatchdogGlobal = "GLOBAL" // in PFC_WD
)

// Slot is the key of one priority group or queue of a port.
func Slot(port string, index int) string { return port + "|" + strconv.Itoa(index) }

// SplitSlot is the inverse of Slot.
func SplitSlot(key string) (port string, index int, ok bool) {
	port, text, ok := strings.Cut(key, "|")
	index, err := strconv.Atoi(text)
	return port, index, ok && err == nil && index >= 0 && index < Indices
}

// Indices is how many groups and queues a port has.
const Indices = 8

// Map is a row of a map table, from one code point to another.
type Map map[uint8]uint8

// Port is a row of PORT.
type Port struct {
	Alias string
	Speed unit.Rate // written in Mb/s; 0 if not given
	MTU   int       // of the payload, in bytes; 0 if not given
	// Asymmetric PFC obeys every priority but sends for those of pfc_enable only:
	// SAI_PORT_PRIORITY_FLOW_CONTROL_MODE_SEPARATE.
	Asymmetric bool
}

// Cables is a row of CABLE_LENGTH: metres by port.
type Cables map[string]int

// PortQoS is a row of PORT_QOS_MAP; the maps are named.
type PortQoS struct {
	DSCPToTC, Dot1pToTC string
	TCToPG, TCToQueue   string
	PFCToQueue, PFCToPG string
	PFCEnable           Priorities
	WatchdogEnable      Priorities // pfcwd_sw_enable
	Scheduler           string     // of the port as a whole: its pir shapes the port
}

// Priorities is a sorted list of priorities, "3,4". Nil is none.
type Priorities []uint8

// Direction is the type of a pool.
type Direction string

// The directions.
const (
	Ingress Direction = "ingress"
	Egress  Direction = "egress"
)

// Pool is a row of BUFFER_POOL.
type Pool struct {
	Type Direction
	Mode string     // dynamic or static: how its profiles' limits are meant
	Size unit.Bytes // of all, the shared headroom included
	XOFF unit.Bytes // shared headroom; 0: every PG's headroom is set aside
}

// Profile is a row of BUFFER_PROFILE.
type Profile struct {
	Pool      string
	Size      unit.Bytes // reserved
	Limit     Limit      // dynamic_th or static_th
	XOFF      unit.Bytes // headroom; more than 0 makes a lossless profile
	XON       unit.Bytes // PFC ends at or below this use
	XONOffset unit.Bytes // or this far below the limit, whichever is larger
	Max       unit.Bytes // max_size, ours: a queue's own maximum; 0 is none
}

// Lossless reports whether a PG with the profile pauses before it drops.
func (p *Profile) Lossless() bool { return p.XOFF > 0 }

// Limit bounds what a PG or queue uses of its pool's shared part.
type Limit struct {
	Kind   LimitKind
	Alpha  Alpha      // of a dynamic limit
	Static unit.Bytes // of a static one
}

// LimitKind says which field of a Limit counts.
type LimitKind uint8

// The kinds of limits.
const (
	NoLimit LimitKind = iota // not given
	Dynamic                  // dynamic_th: alpha times what is free
	Static                   // static_th
)

// BufferUse is a row of BUFFER_PG or BUFFER_QUEUE.
type BufferUse struct{ Profile string }

// List is a row of BUFFER_PORT_*_PROFILE_LIST.
type List struct{ Profiles []string }

// WRED is a row of WRED_PROFILE; only green exists here.
type WRED struct {
	Drop        bool       // wred_green_enable: drop what is not ECN-capable
	Min, Max    unit.Bytes // green_{min,max}_threshold
	Probability float64    // green_drop_probability, percent at Max
	ECN         string     // ecn_none, ecn_green, ... ecn_all
	// Thresholds for marking alone; nil follows the three above.
	ECNMin, ECNMax *unit.Bytes
	ECNProbability *float64
	MarkAt         string // mark_at, ours: enqueue or dequeue
}

// Marks reports whether green frames are marked.
func (w *WRED) Marks() bool { return w.ECN == "ecn_all" || strings.HasPrefix(w.ECN, "ecn_green") }

// Curve is a probability by queue length, in percent at Max.
type Curve struct {
	Min, Max unit.Bytes
	Percent  float64
}

// Marking is the curve by which ECN-capable frames are marked, if Marks.
func (w *WRED) Marking() Curve {
	c := Curve{w.Min, w.Max, w.Probability}
	if w.ECNMin != nil {
		c.Min = *w.ECNMin
	}
	if w.ECNMax != nil {
		c.Max = *w.ECNMax
	}
	if w.ECNProbability != nil {
		c.Percent = *w.ECNProbability
	}
	return c
}

// Scheduler is a row of SCHEDULER. Rates are written in bytes per second.
type Scheduler struct {
	Type     string    // STRICT, DWRR (bytes) or WRR (packets)
	Weight   int       // 1 to 100
	Meter    string    // meter_type: bytes or packets, for the rates and bursts that follow
	CIR, PIR unit.Rate // guaranteed and most
	CBS, PBS unit.Bytes
}

// Queue is a row of QUEUE.
type Queue struct{ Scheduler, WRED string }

// Watchdog is a row of PFC_WD. Times are written in milliseconds.
type Watchdog struct {
	Action                 string // drop, forward, alert
	Detection, Restoration time.Duration
	Rule                   string // rule, ours: how a storm is told, paused or undrained
}

// Polling is the row PFC_WD|GLOBAL.
type Polling struct{ Interval time.Duration }

// Switch is the row ROCELAB|global.
type Switch struct {
	Trust       string     // dscp, pcp, or empty: by the maps a port has
	DefaultTC   uint8      // of frames without the trusted field, or not in the map
	FloodTC     uint8      // of flooded frames whose class is lossless
	PauseQuanta uint16     // time in an XOFF, in 512 bit times; 0 is the longest
	Cell        unit.Bytes // what is stored takes whole cells; 0: bytes
}

// Fault is what is wrong with a row.
type Fault struct{ Table, Key, Field, Problem string }

func (f Fault) Error() string { return place(f.Table, f.Key, f.Field) + ": " + f.Problem }

// Remark names what was read and has no meaning here.
type Remark struct {
	Table, Key, Field, Text string
	// Unknown: neither SONiC's models, as far as they are known here, nor we have such a field.
	Unknown bool
}

func (r Remark) String() string { return place(r.Table, r.Key, r.Field) + ": " + r.Text }

func place(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "|")
}
