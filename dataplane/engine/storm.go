package engine

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// storm sends XOFF out of a port for as long as it lasts, whatever the device behind wants: what a
// NIC does whose receiving pipeline has stopped ([RDMA at scale] 4.3). It is injected at the port
// and so the same for switches and NICs; the device's own account knows nothing of its frames.
//
// The pauses have no gap: they are announced again when half of the time has passed, and a PFC
// frame of the device's own that leaves meanwhile says the same. When the storm ends nothing more
// is sent, and the last pause runs out.
type storm struct {
	set pfc.Set
	by  frame.Faults
	gen pfc.Generator
}

// setStorm begins, changes or ends a storm.
func (p *port) setStorm(s fault.State) {
	switch {
	case s.Storm == 0:
		p.storm = nil
	case p.storm != nil && p.storm.set == s.Storm:
		p.storm.by = s.StormBy
	default:
		p.storm = &storm{set: s.Storm, by: s.StormBy, gen: pfc.NewGenerator(pfc.GeneratorConfig{
			Source: p.MAC, Rate: p.Wire.Config().Rate})}
		for prio := range s.Storm.All() {
			p.storm.gen.XOFF(prio)
		}
	}
}

// stormFrame is the storm's next frame, if one is due. It goes before all others, as PFC does.
func (n *Node) stormFrame(p dataplane.PortID) *frame.Frame {
	port, now := &n.ports[p], n.eng.now
	s := port.storm
	if !s.gen.Pending(now) {
		return nil
	}
	f := port.Pool.Get()
	if f == nil || !s.gen.Build(now, f) {
		// Later, then: what was announced before holds for as long again.
		half := pfc.Duration(wire.MaxQuanta, port.Wire.Config().Rate) / 2
		n.remind(p, now.Add(half))
		return nil
	}
	f.Meta.Faults = s.by
	n.remind(p, s.gen.NextWake())
	return f
}

func (n *Node) remind(p dataplane.PortID, at unit.Time) {
	n.eng.inside.push(event{at: at, rank: rank(evStorm, p), node: n})
}

// announce lets the port be asked, should its storm have something to say.
func (n *Node) announce(p dataplane.PortID) {
	if s := n.ports[p].storm; s != nil && s.gen.Pending(n.eng.now) {
		n.dev.Ready().Add(p)
	}
}

// drown makes a PFC frame of the device's own pause the storm's priorities.
func (s *storm) drown(f *frame.Frame) {
	body, ok := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
	if !ok {
		return
	}
	body.SetEnabled(body.Enabled() | uint8(s.set))
	for prio := range s.set.All() {
		body.SetQuanta(uint8(prio), wire.MaxQuanta)
	}
	f.Meta.Faults |= s.by
}
