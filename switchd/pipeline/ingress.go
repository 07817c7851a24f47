package pipeline

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// verdict is what a step says about a frame. The zero value drops it for no reason, which no step
// may leave standing.
type verdict struct {
	do  disposition
	why frame.Reason // if it drops
}

type disposition uint8

const (
	drop disposition = iota
	next             // the next step has it
	done             // the step took ownership
)

// step looks at a frame that came in on p.
type step func(s *Switch, now unit.Time, p *port, f *frame.Frame) verdict

// ingress is the steps that every frame goes through, in this order.
var ingress = [...]step{
	(*Switch).classify,
	(*Switch).control,
	(*Switch).guard,
	(*Switch).learn,
	(*Switch).route,
	(*Switch).forward,
}

// classify makes sure that the frame has a class, and refuses what cannot be understood.
func (s *Switch) classify(_ unit.Time, p *port, f *frame.Frame) verdict {
	c := &f.Meta.Class
	if c.Kind == frame.Unclassified {
		*c = p.classify.Frame(f)
	}
	if c.Kind == frame.Malformed {
		return verdict{why: frame.DropMalformed}
	}
	if f.Len() > p.longest {
		return verdict{why: frame.DropOversize}
	}
	if c.Kind == frame.CNM {
		c.TC = p.cnmTC
	}
	if !p.up {
		return verdict{why: frame.DropLinkDown}
	}
	return verdict{do: next}
}

// learn notes where the source is, unless the port does not bridge.
func (s *Switch) learn(now unit.Time, p *port, f *frame.Frame) verdict {
	eth, ok := wire.AsEthernet(f.Head())
	if !ok {
		return verdict{why: frame.DropMalformed}
	}
	if s.router != nil && s.router.Routed(p.id) {
		return verdict{do: next}
	}
	s.macs.Learn(now, eth.Src(), p.id)
	return verdict{do: next}
}

// forward finds the egress: the port behind which the destination is, or all others.
func (s *Switch) forward(now unit.Time, p *port, f *frame.Frame) verdict {
	eth, ok := wire.AsEthernet(f.Head())
	if !ok {
		return verdict{why: frame.DropMalformed}
	}
	dst := eth.Dst()
	if !dst.IsMulticast() {
		if out, known := s.macs.Lookup(now, dst); known {
			if out == p.id {
				return verdict{why: frame.DropNoRoute} // The destination has it already.
			}
			if p.isolatedFrom(&s.ports[out]) {
				return verdict{why: frame.DropIsolated}
			}
			s.enqueue(now, p, &s.ports[out], f)
			return verdict{do: done}
		}
	} else if isReserved(dst) {
		return verdict{why: frame.DropNoRoute}
	}
	return s.flood(now, p, f)
}

// isReserved reports whether dst is one of the sixteen addresses that no bridge forwards.
// IEEE 802.1Q-2022 table 8-1.
func isReserved(dst wire.MAC) bool {
	return dst[0] == 0x01 && dst[1] == 0x80 && dst[2] == 0xc2 && dst[3] == 0 && dst[4] == 0 &&
		dst[5]&0xf0 == 0
}
