package switchd

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// The names of the rows that Simple stands for. SONiC's where it has one.
const (
	mapName         = "AZURE"
	poolName        = "ingress_lossless_pool"
	losslessProfile = "pg_lossless_profile"
	lossyProfile    = "ingress_lossy_profile"
	wredName        = "AZURE_LOSSLESS"
	portScheduler   = "scheduler.port"
)

// tables says for each port what Simple says for all.
func (s *Simple) tables(ports []daemon.PortConfig) *sonic.Tables {
	maps := func(m map[uint8]uint8) map[string]sonic.Map {
		return map[string]sonic.Map{mapName: m}
	}
	t := &sonic.Tables{
		Ports:    make(map[string]sonic.Port),
		DSCPToTC: maps(s.DSCPToTC), Dot1pToTC: maps(s.Dot1pToTC),
		TCToPG: maps(s.TCToPG), TCToQueue: maps(s.TCToQueue),
		PortQoS: make(map[string]sonic.PortQoS),
		Pools: map[string]sonic.Pool{poolName: {Type: sonic.Ingress, Mode: "dynamic",
			Size: s.Pool.Size, XOFF: s.Pool.XOFF}},
		Profiles: map[string]sonic.Profile{losslessProfile: s.Lossless.profile(),
			lossyProfile: s.Lossy.profile()},
		PGs:        make(map[string]sonic.BufferUse),
		WRED:       map[string]sonic.WRED{wredName: s.WRED.profile()},
		Schedulers: make(map[string]sonic.Scheduler),
		Queues:     make(map[string]sonic.Queue),
	}
	for i := range ports {
		s.port(t, &ports[i])
	}
	s.Watchdog.tables(t, ports)
	return t
}

// port adds the rows of one port.
func (s *Simple) port(t *sonic.Tables, p *daemon.PortConfig) {
	t.Ports[p.Name] = sonic.Port{Speed: p.Rate / unit.MbPerSecond * unit.MbPerSecond,
		Asymmetric: s.PFCAsym}
	row := sonic.PortQoS{DSCPToTC: mapName, Dot1pToTC: mapName, TCToPG: mapName,
		TCToQueue: mapName}
	for i := range sonic.Indices {
		slot := sonic.Slot(p.Name, i)
		t.PGs[slot] = sonic.BufferUse{Profile: lossyProfile}
		name, scheduler := s.Scheduler.row(uint8(i))
		t.Schedulers[name] = scheduler
		t.Queues[slot] = sonic.Queue{Scheduler: name}
	}
	for tc := range uint8(sonic.Indices) {
		if !sonic.Priorities(s.PFCEnable).Has(tc) {
			continue
		}
		row.PFCEnable = append(row.PFCEnable, tc)
		t.PGs[sonic.Slot(p.Name, int(s.TCToPG[tc]))] = sonic.BufferUse{Profile: losslessProfile}
		slot := sonic.Slot(p.Name, int(s.TCToQueue[tc]))
		t.Queues[slot] = sonic.Queue{Scheduler: t.Queues[slot].Scheduler, WRED: wredName}
	}
	if s.Scheduler.PortRate > 0 {
		row.Scheduler = portScheduler
		t.Schedulers[portScheduler] = sonic.Scheduler{Type: "STRICT", Weight: 1, Meter: "bytes",
			PIR: s.Scheduler.PortRate}
	}
	t.PortQoS[p.Name] = row
}

// row is the scheduler of a queue and its name: queues alike share one.
func (s *Scheduler) row(q uint8) (name string, row sonic.Scheduler) {
	row = sonic.Scheduler{Type: s.Type, Weight: 1, Meter: "bytes", CIR: s.MinRate[q],
		PIR: s.MaxRate[q]}
	if weight, ok := s.Weight[q]; ok {
		row.Weight = weight
	}
	name = fmt.Sprintf("scheduler.weight%d", row.Weight)
	if sonic.Priorities(s.Strict).Has(q) {
		row.Type, row.Weight, name = "STRICT", 1, "scheduler.strict"
	}
	if row.CIR+row.PIR > 0 {
		name = fmt.Sprintf("scheduler.queue%d", q)
	}
	return name, row
}

func (p *BufferProfile) profile() sonic.Profile {
	limit, _ := p.limit()
	return sonic.Profile{Pool: poolName, Size: p.Size, Limit: limit, XOFF: p.XOFF, XON: p.XON,
		XONOffset: p.XONOffset}
}

// betaParts is what a beta of 1 is a part of. [DCQCN] section 4: t_PFC = beta (...) / 8.
const betaParts = 8

// limit is the limit that the profile gives in one of four ways, or what is wrong. alpha and beta
// stand for the default's dynamic_th; any other, or static_th beside them, contradicts.
func (p *BufferProfile) limit() (l sonic.Limit, problem string) {
	one := sonic.Alpha{Num: 1, Den: 1}
	shown := 0
	if !p.Alpha.IsZero() {
		l, shown = sonic.Limit{Kind: sonic.Dynamic, Alpha: p.Alpha.alpha(1)}, shown+1
	}
	if !p.Beta.IsZero() {
		l, shown = sonic.Limit{Kind: sonic.Dynamic, Alpha: p.Beta.alpha(betaParts)}, shown+1
	}
	switch {
	case shown == 1 && p.StaticTh == 0 && (p.DynamicTh == nil || *p.DynamicTh == one):
		return l, ""
	case shown > 0:
		return l, "give one of dynamic_th, alpha, beta and static_th"
	case (p.DynamicTh == nil) == (p.StaticTh == 0):
		return l, "give either dynamic_th or static_th (dynamic_th: null ends the default)"
	case p.DynamicTh == nil:
		return sonic.Limit{Kind: sonic.Static, Static: p.StaticTh}, ""
	}
	return sonic.Limit{Kind: sonic.Dynamic, Alpha: *p.DynamicTh}, ""
}

func (w *WREDProfile) profile() sonic.WRED {
	return sonic.WRED{Drop: w.Drop, Min: w.MinThreshold, Max: w.MaxThreshold,
		Probability: w.DropProbability, ECN: w.ECN, MarkAt: w.At}
}

// tables adds PFC_WD, if there is a watchdog.
func (w *Watchdog) tables(t *sonic.Tables, ports []daemon.PortConfig) {
	c := w.config()
	if c.Action == pfc.Off {
		return
	}
	t.WatchdogAll = map[string]sonic.Polling{sonic.WatchdogGlobal: {Interval: c.Poll}}
	t.Watchdogs = make(map[string]sonic.Watchdog)
	for _, p := range ports {
		t.Watchdogs[p.Name] = sonic.Watchdog{Action: c.Action.String(), Rule: c.Rule.String(),
			Detection: c.Detection, Restoration: c.Restoration}
	}
}

// config is the preset with what the other fields say.
func (w *Watchdog) config() pfc.WatchdogConfig {
	var c pfc.WatchdogConfig
	switch {
	case w.Preset == presetPaper:
		c = pfc.SwitchWatchdog()
	case w.Preset != "" || w.Action != "":
		c = pfc.SONiCWatchdog()
	default:
		return c
	}
	if a, ok := watchdogActions[w.Action]; ok {
		c.Action = a
	}
	if r, ok := watchdogRules[w.Rule]; ok {
		c.Rule = r
	}
	for _, f := range []struct {
		to   *time.Duration
		from time.Duration
	}{{&c.Detection, w.Detection}, {&c.Restoration, w.Restoration}, {&c.Poll, w.Poll}} {
		if f.from != 0 {
			*f.to = f.from
		}
	}
	return c
}

// The presets of the watchdog.
const (
	presetSONiC = "sonic"
	presetPaper = "sigcomm16"
)

var (
	watchdogActions = map[string]pfc.Action{"drop": pfc.Drop, "forward": pfc.Forward,
		"alert": pfc.Alert}
	watchdogRules = map[string]pfc.Rule{"paused": pfc.RulePaused, "undrained": pfc.RuleUndrained}
)
