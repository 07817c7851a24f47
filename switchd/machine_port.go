package switchd

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// port is what the rows of one port say. A map that the port does not name sends everything to
// class, group or queue 0, as in SAI.
func (b *builder) port(name string) (p pipeline.Port, err error) {
	row := b.t.PortQoS[name]
	if row.DSCPToTC == "" {
		row.DSCPToTC = b.t.PortQoS[sonic.Global].DSCPToTC
	}
	p = pipeline.Port{Name: name, Quanta: b.row.PauseQuanta, Classify: b.classes(&row)}
	for tc, pg := range b.t.TCToPG[row.TCToPG] {
		p.Map.Group[tc] = mmu.PG(pg)
	}
	for tc, q := range b.t.TCToQueue[row.TCToQueue] {
		p.Map.Queue[tc] = mmu.Queue(q)
	}
	b.flowControl(&p, &row)
	for i := range sonic.Indices {
		slot := sonic.Slot(name, i)
		p.Groups[i] = b.group(b.t.PGs[slot].Profile)
		p.Queues[i].Buffer = b.queue(b.t.BufferQueues[slot].Profile)
		p.Queues[i].WRED = b.wred(b.t.Queues[slot].WRED)
	}
	p.Scheduler, p.Shaper, err = b.schedule(name)
	p.Shaper.Port = shape(b.t.Schedulers[row.Scheduler])
	return p, err
}

// portMAC is the source of what a port itself sends, PFC frames and CNMs: locally administered, and
// of the switch's name, so that no two ports of a fabric have the same (and the same CPID).
func (c *Config) portMAC(port int) wire.MAC {
	h := nameHash(c.Name)
	return wire.MAC{0x06, 0x72, byte(h >> 16), byte(h >> 8), byte(h), byte(port)}
}

func (b *builder) classes(row *sonic.PortQoS) (m classify.Map) {
	if b.row.Trust == "pcp" || (b.row.Trust == "" && row.DSCPToTC == "" && row.Dot1pToTC != "") {
		m.Trust = classify.TrustPCP
	}
	m.Default = b.row.DefaultTC
	for i := range m.DSCP {
		m.DSCP[i] = m.Default
	}
	for dscp, tc := range b.t.DSCPToTC[row.DSCPToTC] {
		m.DSCP[dscp] = tc
	}
	for i := range m.PCP {
		m.PCP[i] = m.Default
	}
	for pcp, tc := range b.t.Dot1pToTC[row.Dot1pToTC] {
		m.PCP[pcp] = tc
	}
	return m
}

// everyPriority is what an asymmetric port obeys.
const everyPriority pfc.Set = 0xff

// flowControl says what is paused, by whom, and who watches.
func (b *builder) flowControl(p *pipeline.Port, row *sonic.PortQoS) {
	p.PFCSend = priorities(row.PFCEnable)
	p.PFCObey = p.PFCSend
	if b.t.Ports[p.Name].Asymmetric {
		p.PFCObey = everyPriority
	}
	if m, ok := b.t.PFCToQueue[row.PFCToQueue]; ok {
		to := p.Map.Queue
		for priority, q := range m {
			to[priority] = mmu.Queue(q)
		}
		p.PFCToQueue = &to
	}
	if m, ok := b.t.PFCToPG[row.PFCToPG]; ok {
		to := p.Map.Group
		for priority, pg := range m {
			to[priority] = mmu.PG(pg)
		}
		p.PFCToGroup = &to
	}
	w, ok := b.t.Watchdogs[p.Name]
	if !ok {
		return
	}
	p.Watchdog = pfc.WatchdogConfig{Action: watchdogActions[w.Action],
		Rule: watchdogRules[w.Rule], Priorities: priorities(row.WatchdogEnable),
		Detection: w.Detection, Restoration: w.Restoration, Poll: b.poll()}
}

// poll is the watchdog's, SONiC's default if none is given.
func (b *builder) poll() time.Duration {
	if all := b.t.WatchdogAll[sonic.WatchdogGlobal]; all.Interval > 0 {
		return all.Interval
	}
	return pfc.SONiCWatchdog().Poll
}

func priorities(list sonic.Priorities) (s pfc.Set) {
	for _, p := range list {
		s = s.With(pfc.Priority(p))
	}
	return s
}

// group is a priority group's profile. A group without one stores nothing.
func (b *builder) group(name string) mmu.Profile {
	p := b.t.Profiles[name]
	return mmu.Profile{Pool: b.pools[p.Pool], Reserved: p.Size, Limit: limit(p.Limit),
		Lossless: p.Lossless(), Headroom: p.XOFF, XON: p.XON, XONOffset: p.XONOffset}
}

func (b *builder) queue(name string) mmu.QueueProfile {
	p := b.t.Profiles[name]
	return mmu.QueueProfile{Pool: b.pools[p.Pool], Reserved: p.Size, Limit: limit(p.Limit),
		Max: p.Max}
}

func limit(l sonic.Limit) mmu.Limit {
	if l.Kind == sonic.Dynamic {
		return mmu.Alpha(l.Alpha.Num, l.Alpha.Den)
	}
	return mmu.Limit{Static: l.Static}
}

func (b *builder) wred(name string) (out qos.WREDConfig) {
	w, ok := b.t.WRED[name]
	if !ok {
		return out
	}
	if w.Marks() {
		out.Mark = curve(w.Marking())
	}
	if w.Drop {
		out.Drop = curve(sonic.Curve{Min: w.Min, Max: w.Max, Percent: w.Probability})
	}
	if w.MarkAt == "dequeue" {
		out.At = qos.AtDequeue
	}
	return out
}

func curve(c sonic.Curve) qos.Curve {
	return qos.Curve{Kmin: c.Min, Kmax: c.Max, Pmax: c.Percent / 100}
}

// schedule is how the queues of a port share it, and what each is promised and allowed. A queue
// without a scheduler has weight 1.
func (b *builder) schedule(port string) (s qos.DWRRConfig, shaper qos.ShaperConfig, err error) {
	s.MTU = maxFrame
	kind := "" // of the weights; one for the port
	for q := range s.Weight {
		s.Weight[q] = 1
		name := b.t.Queues[sonic.Slot(port, q)].Scheduler
		row, ok := b.t.Schedulers[name]
		if !ok {
			continue
		}
		shaper.Queues[q] = shape(row)
		if row.Type == "STRICT" {
			s.Strict = s.Strict.With(mmu.Queue(q))
			continue
		}
		if kind != "" && kind != row.Type {
			return s, shaper, fmt.Errorf("queue %d: scheduler %s is %s, another queue's is %s: "+
				"a port shares either bytes or frames", q, name, row.Type, kind)
		}
		kind, s.Weight[q] = row.Type, row.Weight
	}
	if kind == "WRR" {
		s.Unit = qos.Packets
	}
	return s, shaper, nil
}

func shape(row sonic.Scheduler) qos.Shape {
	s := qos.Shape{Min: row.CIR, Max: row.PIR, MinBurst: row.CBS, MaxBurst: row.PBS}
	if row.Meter == "packets" && s.Min+s.Max > 0 {
		s.Meter = qos.Packets
	}
	return s
}
