package sonic

import (
	"fmt"
	"time"
)

// Validate returns every fault that a single value does not show: references that lead nowhere,
// and values that contradict each other.
func (t *Tables) Validate() []Fault {
	v := &validator{t: t}
	v.ports()
	v.buffers()
	v.queues()
	v.watchdogs()
	return v.faults
}

type validator struct {
	t      *Tables
	faults []Fault
}

func (v *validator) unless(ok bool, table, key, field, format string, args ...any) {
	if !ok {
		v.faults = append(v.faults, Fault{table, key, field, fmt.Sprintf(format, args...)})
	}
}

// refers checks that a name, unless empty, is a row of the table.
func refers[R any](v *validator, table, key, field, name, to string, rows map[string]R) {
	if _, there := rows[name]; name != "" && !there {
		v.unless(false, table, key, field, "%s has no row %q", to, name)
	}
}

func (v *validator) ports() {
	const table = "PORT_QOS_MAP"
	t := v.t
	for _, key := range sorted(t.PortQoS) {
		p := t.PortQoS[key]
		refers(v, table, key, "dscp_to_tc_map", p.DSCPToTC, "DSCP_TO_TC_MAP", t.DSCPToTC)
		refers(v, table, key, "dot1p_to_tc_map", p.Dot1pToTC, "DOT1P_TO_TC_MAP", t.Dot1pToTC)
		refers(v, table, key, "tc_to_pg_map", p.TCToPG, "TC_TO_PRIORITY_GROUP_MAP", t.TCToPG)
		refers(v, table, key, "tc_to_queue_map", p.TCToQueue, "TC_TO_QUEUE_MAP", t.TCToQueue)
		refers(v, table, key, "pfc_to_queue_map", p.PFCToQueue, "MAP_PFC_PRIORITY_TO_QUEUE",
			t.PFCToQueue)
		refers(v, table, key, "pfc_to_pg_map", p.PFCToPG, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
			t.PFCToPG)
		refers(v, table, key, "scheduler", p.Scheduler, "SCHEDULER", t.Schedulers)
	}
}

func (v *validator) buffers() {
	t := v.t
	for _, key := range sorted(t.Pools) {
		p := t.Pools[key]
		v.unless(p.Type != "", "BUFFER_POOL", key, "type", "is missing")
		v.unless(p.Size > 0, "BUFFER_POOL", key, "size", "must be positive: the size that the "+
			"dynamic buffer model would compute must be given")
		v.unless(p.XOFF == 0 || p.Type == Ingress, "BUFFER_POOL", key, "xoff",
			"only an ingress pool has shared headroom")
		v.unless(p.XOFF < p.Size || p.Size <= 0, "BUFFER_POOL", key, "xoff",
			"%d: shared headroom is part of size %d", p.XOFF, p.Size)
	}
	for _, key := range sorted(t.Profiles) {
		p := t.Profiles[key]
		v.unless(p.Pool != "", "BUFFER_PROFILE", key, "pool", "is missing")
		refers(v, "BUFFER_PROFILE", key, "pool", p.Pool, "BUFFER_POOL", t.Pools)
		v.unless(p.Limit.Kind != NoLimit, "BUFFER_PROFILE", key, "",
			"give dynamic_th or static_th")
		pool, known := t.Pools[p.Pool]
		v.unless(!known || pool.Type == Ingress || !p.Lossless(), "BUFFER_PROFILE", key, "xoff",
			"headroom is for ingress, %s is an egress pool", p.Pool)
	}
	v.uses("BUFFER_PG", t.PGs, Ingress)
	v.uses("BUFFER_QUEUE", t.BufferQueues, Egress)
	for _, l := range []struct {
		table string
		rows  map[string]List
	}{{"BUFFER_PORT_INGRESS_PROFILE_LIST", t.IngressLists},
		{"BUFFER_PORT_EGRESS_PROFILE_LIST", t.EgressLists}} {
		for _, key := range sorted(l.rows) {
			for _, name := range l.rows[key].Profiles {
				refers(v, l.table, key, "profile_list", name, "BUFFER_PROFILE", t.Profiles)
			}
		}
	}
}

// uses checks that groups and queues have profiles of their side of the buffer.
func (v *validator) uses(table string, rows map[string]BufferUse, want Direction) {
	for _, key := range sorted(rows) {
		name := rows[key].Profile
		v.unless(name != "", table, key, "profile", "is missing")
		if name == "NULL" {
			v.unless(false, table, key, "profile", "NULL leaves it to the dynamic buffer model: "+
				"name the profile")
			continue
		}
		refers(v, table, key, "profile", name, "BUFFER_PROFILE", v.t.Profiles)
		profile := v.t.Profiles[name]
		pool, known := v.t.Pools[profile.Pool]
		v.unless(!known || pool.Type == want, table, key, "profile", "%s is of the %s pool %s",
			name, pool.Type, profile.Pool)
	}
}

func (v *validator) queues() {
	t := v.t
	for _, key := range sorted(t.WRED) {
		w := t.WRED[key]
		v.unless(w.Min <= w.Max, "WRED_PROFILE", key, "green_min_threshold",
			"%d: above green_max_threshold %d", w.Min, w.Max)
		m := w.Marking()
		own := w.ECNMin != nil || w.ECNMax != nil
		v.unless(!own || m.Min <= m.Max, "WRED_PROFILE", key, "ecn_green_min_threshold",
			"%d: above the maximum of %d", m.Min, m.Max)
	}
	for _, key := range sorted(t.Schedulers) {
		s := t.Schedulers[key]
		v.unless(s.PIR == 0 || s.PIR >= s.CIR, "SCHEDULER", key, "pir",
			"%s: below cir %s", formatRate(s.PIR), formatRate(s.CIR))
	}
	for _, key := range sorted(t.Queues) {
		refers(v, "QUEUE", key, "scheduler", t.Queues[key].Scheduler, "SCHEDULER", t.Schedulers)
		refers(v, "QUEUE", key, "wred_profile", t.Queues[key].WRED, "WRED_PROFILE", t.WRED)
	}
}

func (v *validator) watchdogs() {
	for _, key := range sorted(v.t.Watchdogs) {
		w := v.t.Watchdogs[key]
		v.unless(w.Detection > 0, "PFC_WD", key, "detection_time", "must be positive")
		v.unless(w.Restoration > 0, "PFC_WD", key, "restoration_time", "must be positive")
	}
	for _, key := range sorted(v.t.WatchdogAll) {
		interval := v.t.WatchdogAll[key].Interval
		v.unless(interval >= 0 && interval <= time.Hour, "PFC_WD", key, "POLL_INTERVAL",
			"%v: want at most an hour", interval)
	}
}

// Remarks name what is kept, compared and exported, but moves nothing in the machine.
func (t *Tables) Remarks() (list []Remark) {
	const noPortPools = "no limit for a port as a whole: its groups and queues have theirs"
	for _, key := range sorted(t.IngressLists) {
		list = append(list, Remark{Table: "BUFFER_PORT_INGRESS_PROFILE_LIST", Key: key,
			Field: "profile_list", Text: noPortPools})
	}
	for _, key := range sorted(t.EgressLists) {
		list = append(list, Remark{Table: "BUFFER_PORT_EGRESS_PROFILE_LIST", Key: key,
			Field: "profile_list", Text: noPortPools})
	}
	for _, key := range sorted(t.WRED) {
		if mode := t.WRED[key].ECN; !greenOnly(mode) {
			list = append(list, Remark{Table: "WRED_PROFILE", Key: key, Field: "ecn",
				Text: mode + ": " + noColours})
		}
	}
	return list
}
