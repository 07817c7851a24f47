package pipeline

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// cnmPriority is the priority that CNMs travel at, cngCnmTransmitPriority's default. Where they
// have a VLAN tag it says so.
const cnmPriority = 6

// cnmsPerPort is how many CNMs can wait for a port. They wait for a PFC frame and for the frame on
// the wire, so more than a few means that priority 6 is paused, and the news would be old.
const cnmsPerPort = 8

// cnmRoom is the longest CNM frame that is made: with two VLAN tags and a CN-TAG.
const cnmRoom = wire.EthernetLen + 2*wire.TagLen + wire.CNTagLen + wire.CNMLen + wire.CNMMaxMSDU

// congestion is what a queue with a QCN congestion point has more than others.
type congestion struct {
	point   qos.CongestionPoint
	headers int // bytes of the sampled frame in a CNM
	cpid    wire.CPID
	cnms    dataplane.Count
	lost    uint64
}

// QCNStats is what a congestion point counted.
type QCNStats struct {
	qos.Sampling
	CNMs dataplane.Count // made for the sources of sampled frames
	// Lost are CNMs that were not made: too many waited for the port, it was down, or the frame had
	// been routed and its source is not on this link.
	Lost uint64
}

func (c *congestion) stats() QCNStats {
	if c == nil {
		return QCNStats{}
	}
	return QCNStats{c.point.Sampling, c.cnms, c.lost}
}

// newCongestion makes the congestion point of a queue; nil if it has none.
func newCongestion(c *Port, q mmu.Queue) *congestion {
	cfg := &c.Queues[q].QCN
	if !cfg.On() {
		return nil
	}
	return &congestion{point: qos.NewCongestionPoint(*cfg), headers: cfg.Headers,
		cpid: wire.NewCPID(c.MAC, uint8(q))}
}

// configureQCN makes those congestion points anew that were set differently before. What they
// counted goes on, unless they go.
func (p *port) configureQCN(old, c *Port) {
	for i := range p.queues {
		if old.Queues[i].QCN == c.Queues[i].QCN && old.MAC == c.MAC {
			continue
		}
		was, next := p.queues[i].qcn, newCongestion(c, mmu.Queue(i))
		if was != nil && next != nil {
			next.point.Sampling, next.cnms, next.lost = was.point.Sampling, was.cnms, was.lost
		}
		p.queues[i].qcn = next
	}
}

// cnmClass is the traffic class of CNMs that pass through from another switch: that of their
// priority, but never a lossless one.
func (c *Port) cnmClass(flood uint8) uint8 {
	if tc := c.Classify.PCP[cnmPriority]; !c.lossless(tc) {
		return tc
	}
	return flood
}

// sample tells a congestion point that f, which came in on p, was stored in its queue, and sends
// a CNM to the source of f if it has to know. IEEE 802.1Q-2022 32.9, [QCN] section 3.2.
func (s *Switch) sample(p *port, c *congestion, f *frame.Frame, queue unit.Bytes) {
	if f.Meta.Class.Kind == frame.CNM {
		return // A message about a message would be about nobody's rate.
	}
	fb, sampled := c.point.Enqueued(charge(f), queue, s.rng)
	if !sampled || !fb.Congested {
		return
	}
	eth, ok := wire.AsEthernet(f.Head())
	if !ok || eth.Src().IsMulticast() || s.isOurs(eth.Src()) || !p.up ||
		p.cnms.Len() >= cnmsPerPort {
		c.lost++
		return
	}
	m := s.cnms.Get()
	if m == nil {
		c.lost++
		return
	}
	m.Resize(buildCNM(m, f, c, fb))
	m.Meta.Class = frame.Class{Kind: frame.CNM, TC: p.cnmTC}
	c.cnms.Add(m.Len())
	s.ledger.Generated.Add(m.Len())
	s.ledger.Buffered.Add(m.Len())
	p.cnms.Push(m)
	s.ready.Add(p.id)
}

// isOurs reports whether a source is the router's address: then the frame was routed, and who sent
// it is behind another link, where QCN does not reach ([DCQCN] section 2.3).
func (s *Switch) isOurs(src wire.MAC) bool {
	return s.cfg.Router != nil && s.cfg.Router.MAC == src
}

// buildCNM writes the message about f into m and returns its length. It goes back to the source
// with the tags of f, whose CN-TAG names the source's flow.
func buildCNM(m, f *frame.Frame, c *congestion, fb qos.Feedback) int {
	m.Resize(cnmRoom)
	b, from := m.Bytes(), f.Bytes()
	clear(b)
	eth, was := (*wire.Ethernet)(b), (*wire.Ethernet)(from)
	eth.SetDst(was.Src())
	eth.SetSrc(c.cpid.Port())
	at := copyTags(b, from)
	binary.BigEndian.PutUint16(b[at:], uint16(wire.TypeCNM))
	message := (*wire.CNM)(b[at+typeLen:])
	message.SetFeedback(fb.Quantized)
	message.SetCPID(c.cpid)
	message.SetQOffset(wire.CNMUnits(-int64(fb.Qoff)))
	message.SetQDelta(wire.CNMUnits(int64(fb.Qdelta)))
	message.SetPriority(f.Meta.Class.TC)
	message.SetDst(was.Dst())
	end := at + typeLen + wire.CNMLen
	n := copy(b[end:end+c.headers], from[at:])
	message.SetMSDULen(n)
	return max(end+n, int(wire.MinFrame))
}

// typeLen is the length of an EtherType.
const typeLen = 2

// copyTags copies the VLAN tags and the CN-TAG of a frame, with the priority of CNMs, and returns
// where the EtherType behind them is.
func copyTags(to, from []byte) (at int) {
	at = wire.EthernetLen - typeLen
	for range 3 { // an S-TAG, a C-TAG and a CN-TAG
		if at+typeLen+wire.TagLen > len(from) {
			return at
		}
		tag := wire.EtherType(binary.BigEndian.Uint16(from[at:]))
		if tag != wire.TypeSTag && tag != wire.TypeVLAN && tag != wire.TypeCNTag {
			return at
		}
		copy(to[at:], from[at:at+wire.TagLen])
		if tag != wire.TypeCNTag {
			(*wire.Tag)(to[at+typeLen:]).SetPCP(cnmPriority)
		}
		at += wire.TagLen
	}
	return at
}

// sendCNM returns the first CNM that waits for p; nil if it may not go. CNMs go before
// all data, which is the highest priority that there is after PFC, within the port's rate.
func (s *Switch) sendCNM(now unit.Time, p *port) *frame.Frame {
	if p.rx.Paused(now).Has(cnmPriority) || !s.portAllows(now, p) {
		return nil
	}
	f := p.cnms.Pop()
	if p.shaper != nil {
		p.shaper.SentControl(now, f.Len())
	}
	s.ledger.Buffered.Sub(f.Len())
	s.ledger.Sent.Add(f.Len())
	p.stats.cnmsSent.Add(f.Len())
	return f
}

// portAllows reports whether the port is below its own maximum rate, and sees to waking it if not.
func (s *Switch) portAllows(now unit.Time, p *port) bool {
	if p.shaper == nil {
		return true
	}
	ok, from := p.shaper.PortAllowed(now)
	if !ok {
		p.heldUntil = from
		s.arm(from)
	}
	return ok
}

// dropCNMs drops what waits for a port that went down.
func (s *Switch) dropCNMs(p *port) {
	for f := p.cnms.Pop(); f != nil; f = p.cnms.Pop() {
		s.ledger.Buffered.Sub(f.Len())
		s.drop(p, f, frame.DropLinkDown)
	}
}
