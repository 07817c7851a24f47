package sonic

import (
	"errors"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Why fields that SONiC has say nothing here.
const (
	noColours = "no colours here: every frame is green"
	noLayer   = "strict queues are served from the highest number down"
)

// schemas are all kinds of rows, in the order in which they are read. It is a function because
// the parts of a table of functions refer to each other.
func schemas() []schema {
	return append(mapSchemas(), portSchema(), cables{}, portQoSSchema(), poolSchema(),
		profileSchema(),
		useSchema("BUFFER_PG", func(t *Tables) *map[string]BufferUse { return &t.PGs }),
		useSchema("BUFFER_QUEUE", func(t *Tables) *map[string]BufferUse { return &t.BufferQueues }),
		listSchema("BUFFER_PORT_INGRESS_PROFILE_LIST",
			func(t *Tables) *map[string]List { return &t.IngressLists }),
		listSchema("BUFFER_PORT_EGRESS_PROFILE_LIST",
			func(t *Tables) *map[string]List { return &t.EgressLists }),
		wredSchema(), schedulerSchema(), queueSchema(), pollingSchema(), watchdogSchema(),
		switchSchema())
}

func mapSchemas() []schema {
	const codePoints, classes = 64, 8
	return []schema{
		&pairs{"DSCP_TO_TC_MAP", func(t *Tables) *map[string]Map { return &t.DSCPToTC },
			codePoints, classes},
		&pairs{"DOT1P_TO_TC_MAP", func(t *Tables) *map[string]Map { return &t.Dot1pToTC },
			classes, classes},
		&pairs{"TC_TO_PRIORITY_GROUP_MAP", func(t *Tables) *map[string]Map { return &t.TCToPG },
			classes, Indices},
		&pairs{"TC_TO_QUEUE_MAP", func(t *Tables) *map[string]Map { return &t.TCToQueue },
			classes, Indices},
		&pairs{"MAP_PFC_PRIORITY_TO_QUEUE",
			func(t *Tables) *map[string]Map { return &t.PFCToQueue }, classes, Indices},
		&pairs{"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
			func(t *Tables) *map[string]Map { return &t.PFCToPG }, classes, Indices},
	}
}

func portSchema() schema {
	return &records[Port]{table: "PORT", keys: byPort,
		rows: func(t *Tables) *map[string]Port { return &t.Ports },
		fields: []field[Port]{
			textField("alias", func(p *Port) *string { return &p.Alias }),
			{"speed", func(p *Port) string { return formatSize(unit.Bytes(p.Speed / 1e6)) },
				func(p *Port, s string) error {
					n, err := parseNumber(s, 0, 10_000_000)
					p.Speed = unit.Rate(n) * unit.MbPerSecond
					return err
				}},
			numberField("mtu", 0, 65535, func(p *Port) *int { return &p.MTU }),
			switchField("pfc_asym", "on", "off", func(p *Port) *bool { return &p.Asymmetric }),
		},
		others: set("admin_status", "lanes", "index", "description", "fec", "autoneg",
			"adv_speeds", "interface_type", "adv_interface_types", "link_training", "role",
			"tpid", "subport", "dhcp_rate_limit", "coreId", "corePortId", "numVoq",
			"core_port_id", "core_id", "num_voq", "laser_freq", "tx_power", "macsec", "mode",
			"link_event_damping_algorithm", "media_type", "xcvr_rate", "hwsku")}
}

func set(words ...string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range words {
		m[w] = true
	}
	return m
}

func portQoSSchema() schema {
	type row = PortQoS
	const dot1pToPG = "the priority group follows the traffic class"
	const remark = "frames leave with the code point they came with"
	return &records[row]{table: "PORT_QOS_MAP", keys: byPort,
		rows: func(t *Tables) *map[string]row { return &t.PortQoS },
		fields: []field[row]{
			refField("dscp_to_tc_map", "DSCP_TO_TC_MAP",
				func(r *row) *string { return &r.DSCPToTC }),
			refField("dot1p_to_tc_map", "DOT1P_TO_TC_MAP",
				func(r *row) *string { return &r.Dot1pToTC }),
			refField("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP",
				func(r *row) *string { return &r.TCToPG }),
			refField("tc_to_queue_map", "TC_TO_QUEUE_MAP",
				func(r *row) *string { return &r.TCToQueue }),
			refField("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE",
				func(r *row) *string { return &r.PFCToQueue }),
			refField("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
				func(r *row) *string { return &r.PFCToPG }),
			prioritiesField("pfc_enable", func(r *row) *Priorities { return &r.PFCEnable }),
			prioritiesField("pfcwd_sw_enable",
				func(r *row) *Priorities { return &r.WatchdogEnable }),
			refField("scheduler", "SCHEDULER", func(r *row) *string { return &r.Scheduler }),
		},
		ignored: map[string]string{"dot1p_to_pg_map": dot1pToPG, "tc_to_dscp_map": remark,
			"tc_to_dot1p_map": remark, "dscp_to_fc_map": "no MPLS here",
			"exp_to_fc_map": "no MPLS here", "mpls_tc_to_tc_map": "no MPLS here"}}
}

func poolSchema() schema {
	return &records[Pool]{table: "BUFFER_POOL", keys: byName,
		rows: func(t *Tables) *map[string]Pool { return &t.Pools },
		fields: []field[Pool]{
			{"type", func(p *Pool) string { return string(p.Type) },
				func(p *Pool, s string) error {
					word, err := oneOf(s, string(Ingress), string(Egress))
					p.Type = Direction(word)
					return err
				}},
			wordField("mode", func(p *Pool) *string { return &p.Mode }, "dynamic", "static"),
			sizeField("size", func(p *Pool) *unit.Bytes { return &p.Size }),
			sizeField("xoff", func(p *Pool) *unit.Bytes { return &p.XOFF }),
		},
		ignored: map[string]string{
			"percentage": "the dynamic buffer model is not computed: size counts"}}
}

func profileSchema() schema {
	type row = Profile
	return &records[row]{table: "BUFFER_PROFILE", keys: byName,
		rows: func(t *Tables) *map[string]row { return &t.Profiles },
		fields: []field[row]{
			refField("pool", "BUFFER_POOL", func(r *row) *string { return &r.Pool }),
			sizeField("size", func(r *row) *unit.Bytes { return &r.Size }),
			sizeField("xoff", func(r *row) *unit.Bytes { return &r.XOFF }),
			sizeField("xon", func(r *row) *unit.Bytes { return &r.XON }),
			sizeField("xon_offset", func(r *row) *unit.Bytes { return &r.XONOffset }),
			{"dynamic_th", func(r *row) string { return r.Limit.text(Dynamic) },
				func(r *row, s string) error { return r.Limit.set(Dynamic, s) }},
			{"static_th", func(r *row) string { return r.Limit.text(Static) },
				func(r *row, s string) error { return r.Limit.set(Static, s) }},
			sizeField("max_size", func(r *row) *unit.Bytes { return &r.Max }),
		},
		stated: []string{"size"}, // SAI: mandatory on create
		ignored: map[string]string{
			"headroom_type":            "the dynamic buffer model is not computed: xoff counts",
			"packet_discard_action":    "no trimming here: frames are dropped whole",
			"xoff_dynamic_th":          "shared headroom goes to who comes first",
			"stage":                    "the pool's type says it",
			"shared_headroom_pool_pct": "the pool's xoff counts",
		}}
}

func (l *Limit) text(kind LimitKind) string {
	switch {
	case l.Kind != kind:
		return ""
	case kind == Static:
		return formatSize(l.Static)
	}
	return l.Alpha.String()
}

func (l *Limit) set(kind LimitKind, s string) (err error) {
	if l.Kind != NoLimit && l.Kind != kind {
		return errors.New("dynamic_th and static_th exclude each other")
	}
	l.Kind = kind
	if kind == Static {
		l.Static, err = unit.ParseBytes(s)
		return err
	}
	l.Alpha, err = ParseAlpha(s)
	return err
}

func useSchema(table string, rows func(*Tables) *map[string]BufferUse) schema {
	return &records[BufferUse]{table: table, keys: bySlot, rows: rows,
		fields: []field[BufferUse]{refField("profile", "BUFFER_PROFILE",
			func(u *BufferUse) *string { return &u.Profile })}}
}

func listSchema(table string, rows func(*Tables) *map[string]List) schema {
	return &records[List]{table: table, keys: byPort, rows: rows,
		fields: []field[List]{{"profile_list",
			func(l *List) string { return strings.Join(l.Profiles, ",") },
			func(l *List, s string) error {
				for _, part := range split(s) {
					name, err := reference(part, "BUFFER_PROFILE")
					if err != nil {
						return err
					}
					l.Profiles = append(l.Profiles, name)
				}
				return nil
			}}}}
}

func queueSchema() schema {
	return &records[Queue]{table: "QUEUE", keys: bySlot,
		rows: func(t *Tables) *map[string]Queue { return &t.Queues },
		fields: []field[Queue]{
			refField("scheduler", "SCHEDULER", func(q *Queue) *string { return &q.Scheduler }),
			refField("wred_profile", "WRED_PROFILE", func(q *Queue) *string { return &q.WRED }),
		}}
}

func schedulerSchema() schema {
	type row = Scheduler
	return &records[row]{table: "SCHEDULER", keys: byName,
		rows:  func(t *Tables) *map[string]row { return &t.Schedulers },
		fresh: row{Type: "WRR", Weight: 1, Meter: "bytes"},
		fields: []field[row]{
			wordField("type", func(r *row) *string { return &r.Type }, "DWRR", "WRR", "STRICT"),
			numberField("weight", 1, 100, func(r *row) *int { return &r.Weight }),
			wordField("meter_type", func(r *row) *string { return &r.Meter }, "bytes", "packets"),
			rateField("cir", func(r *row) *unit.Rate { return &r.CIR }),
			rateField("pir", func(r *row) *unit.Rate { return &r.PIR }),
			sizeField("cbs", func(r *row) *unit.Bytes { return &r.CBS }),
			sizeField("pbs", func(r *row) *unit.Bytes { return &r.PBS }),
		},
		ignored: map[string]string{"priority": noLayer}}
}

func pollingSchema() schema {
	return &records[Polling]{table: "PFC_WD", keys: only(WatchdogGlobal),
		rows: func(t *Tables) *map[string]Polling { return &t.WatchdogAll },
		fields: []field[Polling]{millisField("POLL_INTERVAL",
			func(p *Polling) *time.Duration { return &p.Interval })},
		ignored: map[string]string{"BIG_RED_SWITCH": "not modelled: use the action of each port"}}
}

func watchdogSchema() schema {
	type row = Watchdog
	return &records[row]{table: "PFC_WD", keys: byPort,
		rows: func(t *Tables) *map[string]row { return &t.Watchdogs },
		// SONiC, pfcwdorch.cpp: without detection_time the row is invalid, without restoration_time
		// a storm is never over.
		fresh: row{Action: "drop", Restoration: pfc.NeverRestore, Rule: "paused"},
		fields: []field[row]{
			wordField("action", func(r *row) *string { return &r.Action }, "drop", "forward",
				"alert"),
			millisField("detection_time", func(r *row) *time.Duration { return &r.Detection }),
			millisField("restoration_time", func(r *row) *time.Duration { return &r.Restoration }),
			wordField("rule", func(r *row) *string { return &r.Rule }, "paused", "undrained"),
		},
		stated:  []string{"action", "detection_time"},
		ignored: map[string]string{"pfc_stat_history": "the event log keeps the history"}}
}

func switchSchema() schema {
	type row = Switch
	return &records[row]{table: "ROCELAB", keys: only(Global),
		rows: func(t *Tables) *map[string]row { return &t.Switch },
		fields: []field[row]{
			wordField("trust", func(r *row) *string { return &r.Trust }, "dscp", "pcp"),
			numberField("default_tc", 0, 7, func(r *row) *uint8 { return &r.DefaultTC }),
			numberField("flood_tc", 0, 7, func(r *row) *uint8 { return &r.FloodTC }),
			numberField("pause_quanta", 0, 65535, func(r *row) *uint16 { return &r.PauseQuanta }),
			sizeField("cell_size", func(r *row) *unit.Bytes { return &r.Cell }),
		}}
}

// TableNames are the names of all tables, sorted.
func TableNames() []string {
	names := make(map[string]bool)
	for _, s := range schemas() {
		names[s.name()] = true
	}
	return sorted(names)
}
