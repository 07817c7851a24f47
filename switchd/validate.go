package switchd

import (
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
)

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
	f.unless(len(c.Ports) > 0 && len(c.Ports) <= dataplane.MaxPorts, "ports",
		"%d of them: a switch has 1 to %d", len(c.Ports), dataplane.MaxPorts)
	names := make(map[string]bool)
	for i := range c.Ports {
		path := fmt.Sprintf("ports[%d]", i)
		f = append(f, c.Ports[i].Validate(path)...)
		f.unless(!names[c.Ports[i].Name], path+".name", "%q is there already", c.Ports[i].Name)
		names[c.Ports[i].Name] = true
	}
	c.Options.validate(&f, c.ConfigDB != "")
	c.validateForwarding(&f)
	if c.ConfigDB == "" {
		c.Simple.validate(&f)
		f.unless(!slices.Contains(c.PFCEnable, c.FloodTC), "flood_tc", "%d is lossless", c.FloodTC)
	}
	if len(f) > 0 || (c.ConfigDB != "" && c.database == nil) {
		return f // what the tables are made of is wrong already
	}
	_, found := c.Tables()
	return append(f, found...)
}

// validate judges the options. Only the maps of a config_db can say what is trusted.
func (o *Options) validate(f *faults, database bool) {
	f.unless(o.Trust == "dscp" || o.Trust == "pcp" || (o.Trust == "" && database), "trust",
		"%q: want dscp or pcp", o.Trust)
	f.class("default_tc", o.DefaultTC)
	f.class("flood_tc", o.FloodTC)
	f.unless(o.PauseQuanta > 0, "pause_quanta", "must be 1 to 65535")
	f.unless(o.Cell >= 0 && o.Cell <= maxCell, "cell_size", "%v: want 0 to %d", o.Cell, maxCell)
	f.list("qcn.queues", o.QCN.Queues)
	if qcn := o.QCN.config(); len(o.QCN.Queues) > 0 {
		f.unless(qcn.On(), "qcn.q_eq", "must be positive, as 33KB")
		err := qcn.Validate()
		f.unless(err == nil, "qcn", "%v", err)
	}
	f.list("telemetry.queues", o.Telemetry.Queues)
	telemetry := o.Telemetry.config()
	err := telemetry.Validate()
	f.unless(err == nil, "telemetry", "%v", err)
	f.unless(o.MACAgeing > 0, "mac_ageing", "must be positive, as 300s")
	f.unless(o.MACLimit > 0, "mac_limit", "must be positive")
	f.unless(o.Frames >= 0, "frames", "must not be negative")
}

// maxCell is far above the cells of real memories, which are some hundred bytes.
const maxCell = 1 << 16

func (s *Simple) validate(f *faults) {
	f.classes("dscp_to_tc_map", s.DSCPToTC, 64)
	f.classes("dot1p_to_tc_map", s.Dot1pToTC, 8)
	f.classes("tc_to_priority_group_map", s.TCToPG, classify.Classes)
	f.classes("tc_to_queue_map", s.TCToQueue, classify.Classes)
	f.list("pfc_enable", s.PFCEnable)
	s.validateGroups(f)
	s.validateBuffer(f)
	s.validateQueues(f)
	s.validateWatchdog(f)
}

// validateGroups refuses a priority group that lossless and lossy classes share: a lossy sender
// would fill the headroom, and no PFC frame would stop it.
func (s *Simple) validateGroups(f *faults) {
	lossless := make(map[uint8]bool)
	for _, tc := range s.PFCEnable {
		lossless[s.TCToPG[tc]] = true
	}
	var unmapped []uint8
	for tc := range uint8(classify.Classes) {
		pg, mapped := s.TCToPG[tc]
		switch {
		case slices.Contains(s.PFCEnable, tc) || !lossless[pg]:
		case mapped:
			f.unless(false, fmt.Sprintf("tc_to_priority_group_map.%d", tc),
				"group %d is lossless, class %d is not in pfc_enable", pg, tc)
		default:
			unmapped = append(unmapped, tc)
		}
	}
	f.unless(len(unmapped) == 0, "tc_to_priority_group_map",
		"classes %d are not in it, so they are of group 0, which is lossless", unmapped)
}

func (f *faults) class(path string, tc uint8) {
	f.unless(tc < classify.Classes, path, "%d: want 0 to %d", tc, classify.Classes-1)
}

func (f *faults) list(path string, list []uint8) {
	for i, v := range list {
		f.class(fmt.Sprintf("%s[%d]", path, i), v)
	}
}

func (f *faults) classes(path string, m map[uint8]uint8, keys uint8) {
	for _, k := range sortedKeys(m) {
		at := fmt.Sprintf("%s.%d", path, k)
		f.unless(k < keys, at, "%d: want 0 to %d", k, keys-1)
		f.class(at, m[k])
	}
}

func (s *Simple) validateBuffer(f *faults) {
	f.unless(s.Pool.Size > 0, "buffer_pool.size", "must be positive, as 12MB")
	f.unless(s.Pool.XOFF >= 0 && (s.Pool.XOFF < s.Pool.Size || s.Pool.Size <= 0),
		"buffer_pool.xoff", "%v: shared headroom is part of size %v", s.Pool.XOFF, s.Pool.Size)
	for _, p := range []struct {
		path string
		*BufferProfile
		lossless bool
	}{{"lossless_profile", &s.Lossless, true}, {"lossy_profile", &s.Lossy, false}} {
		_, problem := p.limit()
		f.unless(problem == "", p.path, "%s", problem)
		f.unless(p.Size >= 0 && p.StaticTh >= 0 && p.XON >= 0 && p.XONOffset >= 0, p.path,
			"sizes must not be negative")
		f.unless(p.lossless == (p.XOFF > 0), p.path+".xoff",
			"a lossless profile needs headroom, a lossy one has none")
	}
}

func (s *Simple) validateQueues(f *faults) {
	w := &s.WRED
	f.unless(w.MinThreshold >= 0 && w.MinThreshold <= w.MaxThreshold, "wred_profile",
		"want 0 <= green_min_threshold <= green_max_threshold")
	f.unless(w.DropProbability >= 0 && w.DropProbability <= 100,
		"wred_profile.green_drop_probability", "%v: want 0 to 100 percent", w.DropProbability)
	f.unless(w.ECN == "ecn_all" || w.ECN == "ecn_none", "wred_profile.ecn",
		"%q: want ecn_all or ecn_none", w.ECN)
	f.unless(w.At == "enqueue" || w.At == "dequeue", "wred_profile.mark_at",
		"%q: want enqueue or dequeue", w.At)
	sch := &s.Scheduler
	f.list("scheduler.strict", sch.Strict)
	f.unless(sch.Type == "DWRR" || sch.Type == "WRR", "scheduler.type", "%q: want DWRR or WRR",
		sch.Type)
	for _, q := range sortedKeys(sch.Weight) {
		at := fmt.Sprintf("scheduler.weight.%d", q)
		f.class(at, q)
		weight := sch.Weight[q]
		f.unless(weight >= 1 && weight <= 100, at, "%d: want 1 to 100", weight)
	}
	for _, q := range sortedKeys(sch.MinRate) {
		f.class(fmt.Sprintf("scheduler.min_rate.%d", q), q)
	}
	for _, q := range sortedKeys(sch.MaxRate) {
		at := fmt.Sprintf("scheduler.max_rate.%d", q)
		f.class(at, q)
		f.unless(sch.MaxRate[q] == 0 || sch.MaxRate[q] >= sch.MinRate[q], at,
			"%v: below min_rate %v", sch.MaxRate[q], sch.MinRate[q])
	}
	f.unless(sch.PortRate >= 0, "scheduler.port_rate", "%v: must not be negative", sch.PortRate)
}

func (s *Simple) validateWatchdog(f *faults) {
	w := &s.Watchdog
	f.unless(w.Preset == "" || w.Preset == presetSONiC || w.Preset == presetPaper, "pfc_wd.preset",
		"%q: want %s or %s", w.Preset, presetSONiC, presetPaper)
	_, known := watchdogActions[w.Action]
	f.unless(known || w.Action == "", "pfc_wd.action", "%q: want drop, forward or alert", w.Action)
	_, known = watchdogRules[w.Rule]
	f.unless(known || w.Rule == "", "pfc_wd.rule", "%q: want paused or undrained", w.Rule)
	f.unless(min(w.Detection, w.Restoration, w.Poll) >= 0, "pfc_wd", "times must not be negative")
	f.unless(*w == Watchdog{} || w.Preset != "" || w.Action != "", "pfc_wd",
		"give a preset or an action")
	config := w.config()
	err := config.Validate()
	f.unless(err == nil, "pfc_wd", "%v", err)
}

func sortedKeys[V any](m map[uint8]V) (keys []uint8) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
