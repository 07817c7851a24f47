package fluid

import (
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// step is how far one step goes. Every parameter of the paper is a multiple of it, and its square
// to the square is far below what anything here is compared with.
const step = time.Microsecond

// Flow is one flow, or several that behave the same.
type Flow struct {
	Count   int           // how many; 0 is one
	Start   time.Duration // before, it sends nothing; a multiple of a microsecond
	Current unit.Rate     // R_C at the start
	Target  unit.Rate     // R_T at the start
	Alpha   float64       // at the start
}

// AtLineRate is a flow as DCQCN starts it: with the capacity as its rate and alpha 1. Section 3.1.
func (p *Params) AtLineRate(start time.Duration) Flow {
	return Flow{Count: 1, Start: start, Current: p.Capacity, Target: p.Capacity, Alpha: 1}
}

// Sample is the model's state at one time.
type Sample struct {
	At      time.Duration
	Queue   unit.Bytes
	Marking float64 // probability
	Flows   []FlowSample
}

// FlowSample is a flow's state at one time.
type FlowSample struct {
	Current, Target unit.Rate
	Alpha           float64
}

// moment is what the equations want of one time: the state and how it changes.
type moment struct {
	queue, dqueue float64
	flows, dflows []flow
}

// Model is flows at a bottleneck. Make it with New.
type Model struct {
	params Params
	c      coefficients
	flows  []Flow
	at     int // steps made
	lag    int // steps in the delay
	past   []moment
	stages [4]moment
	probe  moment
}

// New makes a model at time zero, with an empty queue.
func New(p Params, flows []Flow) (*Model, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("fluid model: %w", err)
	}
	m := &Model{params: p, c: p.coefficients(), flows: make([]Flow, len(flows)),
		lag: int(p.Delay / step)}
	m.past = make([]moment, m.lag+2)
	for i := range m.past {
		m.past[i] = newMoment(len(flows))
	}
	for i := range m.stages {
		m.stages[i] = newMoment(len(flows))
	}
	m.probe = newMoment(len(flows))
	for i, f := range flows {
		if f.Start < 0 || f.Start%step != 0 || f.Current < 0 || f.Target < 0 || f.Alpha < 0 ||
			f.Alpha > 1 || f.Count < 0 {
			return nil, fmt.Errorf("fluid model: flow %d: %+v", i, f)
		}
		f.Count = max(f.Count, 1)
		m.flows[i] = f
	}
	m.begin(m.now())
	m.slope(0, m.now(), m.now())
	return m, nil
}

func newMoment(n int) moment { return moment{flows: make([]flow, n), dflows: make([]flow, n)} }

// now is the moment that was reached.
func (m *Model) now() *moment { return &m.past[m.at%len(m.past)] }

// begin lets flows in whose start has come.
func (m *Model) begin(now *moment) {
	for i, f := range m.flows {
		if int(f.Start/step) == m.at {
			now.flows[i] = flow{f.Alpha, m.params.packets(f.Target), m.params.packets(f.Current)}
		}
	}
}

// Run goes on to until and calls each, unless nil, at every multiple of every that it passes. The
// sample is valid during the call.
func (m *Model) Run(until, every time.Duration, each func(*Sample)) {
	s := Sample{Flows: make([]FlowSample, len(m.flows))}
	for m.At() < until {
		m.Step()
		if each != nil && m.At()%every == 0 {
			m.sample(&s)
			each(&s)
		}
	}
}

// Solve is the curves of flows from time zero to until, with a sample at each multiple of every.
func Solve(p Params, flows []Flow, until, every time.Duration) ([]Sample, error) {
	m, err := New(p, flows)
	if err != nil {
		return nil, err
	}
	if every < step || every%step != 0 {
		return nil, fmt.Errorf("fluid model: samples every %v: want a multiple of %v", every, step)
	}
	var list []Sample
	m.Run(until, every, func(s *Sample) {
		one := *s
		one.Flows = slices.Clone(s.Flows)
		list = append(list, one)
	})
	return list, nil
}

// At is the time that was reached.
func (m *Model) At() time.Duration { return time.Duration(m.at) * step }

func (m *Model) sample(s *Sample) {
	now, size := m.now(), float64(m.params.Packet)
	s.At, s.Queue = m.At(), unit.Bytes(now.queue*size)
	s.Marking = m.c.marking(now.queue)
	for i := range s.Flows {
		f := &now.flows[i]
		s.Flows[i] = FlowSample{unit.Rate(f.current * size * 8), unit.Rate(f.target * size * 8),
			f.alpha}
	}
}

// Step goes on by a microsecond: the classical Runge-Kutta method of order 4.
func (m *Model) Step() {
	const h = float64(step) / float64(time.Second)
	now := m.now()
	k := &m.stages
	m.slope(0, now, &k[0])
	m.probeAt(now, &k[0], h/2)
	m.slope(0.5, &m.probe, &k[1])
	m.probeAt(now, &k[1], h/2)
	m.slope(0.5, &m.probe, &k[2])
	m.probeAt(now, &k[2], h)
	m.slope(1, &m.probe, &k[3])

	m.at++
	next := m.now()
	mean := func(a, b, c, d float64) float64 {
		return float64(h / 6 * (a + float64(2*b) + float64(2*c) + d))
	}
	next.queue = max(0, now.queue+mean(k[0].dqueue, k[1].dqueue, k[2].dqueue, k[3].dqueue))
	for i, f := range now.flows {
		a, b, c, d := k[0].dflows[i], k[1].dflows[i], k[2].dflows[i], k[3].dflows[i]
		next.flows[i] = flow{
			alpha:   f.alpha + mean(a.alpha, b.alpha, c.alpha, d.alpha),
			target:  m.bound(f.target + mean(a.target, b.target, c.target, d.target)),
			current: m.bound(f.current + mean(a.current, b.current, c.current, d.current)),
		}
	}
	m.begin(next)
	m.slope(0, next, next)
}

// bound keeps a rate where it can be: a NIC sends no faster than its link.
func (m *Model) bound(rate float64) float64 { return min(max(rate, 0), m.c.capacity) }

// probeAt puts into probe what is by after now if it changes as k says.
func (m *Model) probeAt(now, k *moment, by float64) {
	m.probe.queue = max(0, now.queue+float64(by*k.dqueue))
	for i, f := range now.flows {
		d := k.dflows[i]
		m.probe.flows[i] = flow{f.alpha + float64(by*d.alpha),
			m.bound(f.target + float64(by*d.target)),
			m.bound(f.current + float64(by*d.current))}
	}
}

// slope puts into out how the state changes, part of a step after the moment that was reached:
// equation 11, which is 6 for any flows, and 7 to 9.
func (m *Model) slope(part float64, state, out *moment) {
	arriving := 0.0
	queue := m.before(part, func(p *moment) (v, d float64) { return p.queue, p.dqueue })
	marking := m.c.marking(queue)
	for i, f := range state.flows {
		out.dflows[i] = flow{}
		if m.at < int(m.flows[i].Start/step) {
			continue
		}
		arriving += float64(float64(m.flows[i].Count) * f.current)
		rate := m.before(part, func(p *moment) (v, d float64) {
			return p.flows[i].current, p.dflows[i].current
		})
		out.dflows[i] = m.c.change(f, marking, rate)
	}
	out.dqueue = arriving - m.c.capacity
	if state.queue == 0 {
		out.dqueue = max(0, out.dqueue)
	}
}

// before interpolates what was one delay before a part of a step after now. Before time zero all
// was nothing.
func (m *Model) before(part float64, of func(*moment) (value, slope float64)) float64 {
	at := m.at - m.lag
	value := func(at int) (v, d float64) {
		if at < 0 {
			return 0, 0
		}
		return of(&m.past[at%len(m.past)])
	}
	switch part {
	case 0:
		v, _ := value(at)
		return v
	case 1:
		v, _ := value(at + 1)
		return v
	}
	const h = float64(step) / float64(time.Second)
	a, da := value(at)
	b, db := value(at + 1)
	return float64((a+b)/2) + float64(h/8*(da-db)) // the middle of the cubic of Hermite
}
