package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The paces of the cases. A frame every pace, which is several times what it occupies a link, lets
// a PFC frame be told by the frame that caused it.
const (
	pace  = 5 * time.Microsecond
	start = 20 * time.Microsecond // of the data: whatever stops an egress has stopped it
)

// block stops priorities at a port for as long as one PFC frame can: 3.4 ms at 10 Gb/s.
func block(port int, at unit.Time, priorities ...uint8) stream {
	return stream{port: portID(port), at: at, count: 1,
		frame: pause(station(port), wire.MaxQuanta, priorities...)}
}

// release lets them run again.
func release(port int, at unit.Time, priorities ...uint8) stream {
	return stream{port: portID(port), at: at, count: 1,
		frame: pause(station(port), 0, priorities...)}
}

// drain ends the block of a port and runs until nothing is stored any more.
func (b *bench) drain(port int, priorities ...uint8) {
	b.Helper()
	b.send(release(port, b.now().Add(time.Microsecond), priorities...))
	for range 1000 {
		b.run(b.now().Add(20 * time.Microsecond))
		if b.agree() && b.snapshot().Ledger.Buffered.Frames == 0 {
			return
		}
	}
	b.Fatalf("still stored: %+v", b.snapshot().Ledger.Buffered)
}

// cause is which frame of a paced stream, counted from 1, the switch had seen last when it sent
// the PFC frame that arrived as a.
func (b *bench) cause(s stream, a arrival) int {
	var scratch [frameSize]byte
	data := unit.Bytes(s.frame.build(scratch[:], 0))
	rate := b.cfg.Ports[s.port].Rate
	first := s.at.Add(onWire(data, rate) + b.delay)
	seen := a.at.Add(-onWire(wire.MinFrame, rate) - b.delay + grain)
	if seen < first {
		return 0
	}
	return int(seen.Sub(first)/s.every) + 1
}

// body is the content of a PFC frame.
func (a *arrival) body() *wire.PFC {
	p, ok := wire.AsPFC(a.bytes[wire.EthernetLen:])
	if !ok {
		panic("switchplan: a PFC frame without a body")
	}
	return p
}

// firstOf is the first PFC frame that pauses (or resumes) a priority.
func firstOf(control []arrival, priority uint8, xoff bool) *arrival {
	for i := range control {
		body := control[i].body()
		if body.Enabled()&(1<<priority) != 0 && (body.Quanta(priority) != 0) == xoff {
			return &control[i]
		}
	}
	return nil
}

// QoS SAI testQosSaiPfcXoffLimit (PFCtest): with the egress stopped, a lossless group takes frames
// up to its limit without a PFC frame, the next one causes XOFF, headroom takes what still comes,
// and then frames are dropped. Both lossless classes, one after the other.
func TestQosSaiPfcXoffLimit(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPfcXoffLimit",
		checks: "XOFF at the group's dynamic limit, drops when headroom is full"},
		func(b *bench) {
			for i, dscp := range []uint8{dscpLossless, dscpOther} {
				xoffLimit(b, i, dscp)
			}
		})
}

// xoffLimit fills the group of a class from port in, and lets it drain.
func xoffLimit(b *bench, in int, dscp uint8) {
	const out, extra = 2, 5 // extra frames are for dropping
	data := packet{from: station(in), to: out, dscp: dscp}
	group := &b.cfg.Ports[in].Groups[dscp]
	shared := fits(b.cfg, group, data.size())
	head := inHeadroom(group, charge(b.cfg, data.size()))
	s := stream{port: portID(in), at: b.now().Add(start), every: pace,
		count: shared + head + extra, frame: &data}
	b.send(block(out, b.now().Add(time.Microsecond), dscp), s)
	b.run(s.end())
	snap := b.snapshot()
	_, control := b.arrivals(in)
	xoff := firstOf(control, dscp, true)
	if xoff == nil {
		b.Fatal("no XOFF")
	}
	b.equal("XOFF at frame", b.cause(s, *xoff), shared+1)
	dropped := int(snap.Ports[in].Dropped[dscp][frame.DropHeadroom])
	b.equal("drops from frame", s.count-dropped+1, shared+head+1)
	b.equal("dropped by the group", snap.Ports[in].Groups[dscp].Dropped, extra)
	b.drain(out, dscp)
	left, _ := b.arrivals(out)
	b.equal("forwarded", len(left), (shared+head)*(in+1))
	_, control = b.arrivals(in)
	if firstOf(control, dscp, false) == nil {
		b.Error("no XON when all has drained")
	}
}

// resumeAt is the most shared use at which a group in XOFF resumes while nobody else stores
// anything: XON, or where the limit is XONOffset above the use, whichever is larger
// (SAI_BUFFER_PROFILE_ATTR_XON_TH, _XON_OFFSET_TH). With a dynamic limit that is
//
//	u + offset <= alpha (S - u)
func resumeAt(c *pipeline.Config, g *mmu.Profile) unit.Bytes {
	num, den := unit.Bytes(g.Limit.Num), unit.Bytes(g.Limit.Den)
	if den == 0 {
		return max(g.XON, g.Limit.Static-g.XONOffset)
	}
	return max(g.XON, (num*shared(c)-den*g.XONOffset)/(num+den))
}

// slowEgress makes port 2 a tenth as fast as the others, so that frames leave it one at a time and
// an XON can be told by the frame that caused it.
func slowEgress(c *pipeline.Config) { c.Ports[2].Rate = linkRate / 10 }

// QoS SAI testQosSaiPfcXonLimit (PFCXonTest): a group in XOFF, with frames in headroom, sends XON
// when it has drained to XONOffset below its limit, not a frame earlier and not later.
func TestQosSaiPfcXonLimit(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPfcXonLimit",
		checks: "XON when use is xon_offset below the dynamic limit",
		config: slowEgress}, xonLimit)
}

// The same where XON is a size of its own, above what the offset gives.
func TestQosSaiPfcXonLimitBySize(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiPfcXonLimit (xon_th)",
		checks: "XON when use is at most xon_th, where that is more",
		config: func(c *pipeline.Config) {
			slowEgress(c)
			each(c, func(p *pipeline.Port) {
				g := &p.Groups[losslessTC]
				g.Limit = mmu.Limit{Static: 40 * unit.KB}
				g.XON, g.XONOffset = 25*unit.KB, 30*unit.KB
			})
		}}, xonLimit)
}

func xonLimit(b *bench) {
	const in, out = 0, 2
	data := packet{from: in, to: out, dscp: dscpLossless}
	group := &b.cfg.Ports[in].Groups[losslessTC]
	stored := fits(b.cfg, group, data.size()) + inHeadroom(group, data.size())
	s := stream{port: in, at: b.now().Add(start), every: pace, count: stored, frame: &data}
	b.send(block(out, b.now().Add(time.Microsecond), losslessTC), s)
	b.run(s.end())
	b.drain(out, losslessTC)
	left, _ := b.arrivals(out)
	_, control := b.arrivals(in)
	xon := firstOf(control, losslessTC, false)
	if xon == nil {
		b.Fatal("no XON")
	}
	stays := int((group.Reserved + resumeAt(b.cfg, group)) / data.size())
	b.equal("XON when so many are left", stored-b.gone(left, out, in, *xon), stays)
	b.equal("PFC frames", len(control), 2)
}

// gone is how many frames had begun to leave port out when the switch sent the PFC frame a, which
// arrived from port in.
func (b *bench) gone(left []arrival, out, in int, a arrival) (n int) {
	sent := a.at.Add(-onWire(wire.MinFrame, b.cfg.Ports[in].Rate) - b.delay + grain)
	for i := range left {
		took := onWire(unit.Bytes(len(left[i].bytes)), b.cfg.Ports[out].Rate)
		if left[i].at.Add(-took-b.delay) <= sent {
			n++
		}
	}
	return n
}

// QoS SAI XonHysteresisTest: between XON and XOFF nothing is sent either way. A group that resumed
// fills again up to its limit without a PFC frame, and only the frame beyond causes the next XOFF.
func TestXonHysteresis(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "XonHysteresisTest",
		checks: "after XON the group fills to its limit again before the next XOFF",
		config: slowEgress}, func(b *bench) {
		const in, out = 0, 2
		data := packet{from: in, to: out, dscp: dscpLossless}
		group := &b.cfg.Ports[in].Groups[losslessTC]
		limit := fits(b.cfg, group, data.size())
		first := stream{port: in, at: b.now().Add(start), every: pace, count: limit + 1,
			frame: &data}
		b.send(block(out, b.now().Add(time.Microsecond), losslessTC), first)
		b.run(first.end())
		// Frames leave one by one until XON has been sent, and a few more.
		stays := int((group.Reserved + resumeAt(b.cfg, group)) / data.size())
		const more = 3
		leave := limit + 1 - stays + more
		open := b.now().Add(time.Microsecond)
		took := onWire(data.size(), b.cfg.Ports[out].Rate)
		b.send(release(out, open, losslessTC),
			block(out, open.Add(time.Duration(leave)*took-took/2), losslessTC))
		b.run(open.Add(time.Duration(leave+2) * took))
		kept := limit + 1 - leave
		b.equal("left in the group", stored(b.snapshot(), in, losslessTC),
			data.size()*unit.Bytes(kept))
		second := stream{port: in, at: b.now().Add(start), every: pace, count: limit - kept + 1,
			frame: &data}
		b.send(second)
		b.run(second.end())
		_, control := b.arrivals(in)
		var signs []string
		for i := range control {
			signs = append(signs, sign(control[i].body(), losslessTC))
		}
		b.equal("PFC frames", signs, []string{"XOFF", "XON", "XOFF"})
		b.equal("second XOFF at frame", b.cause(second, control[len(control)-1]), limit-kept+1)
		b.drain(out, losslessTC)
	})
}

func sign(p *wire.PFC, priority uint8) string {
	switch {
	case p.Enabled()&(1<<priority) == 0:
		return "-"
	case p.Quanta(priority) == 0:
		return "XON"
	}
	return "XOFF"
}
