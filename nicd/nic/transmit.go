package nic

import (
	"math"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// Transmit gives the wire its next frame: CNPs first, because the sooner they arrive the less
// queue builds up ([DCQCN] 3.3), then answers, which free the peer's resources, then data. What
// belongs to a paused priority waits and lets the others go. Before data goes what is seldom: the
// connection manager's messages, and answers to who asks for the NIC's MAC address.
//
// PFC frames that the NIC itself sends go before all of these, because the headroom of its receive
// buffer counts on it, and no pause holds them back.
func (n *NIC) Transmit(now unit.Time, _ dataplane.PortID) *frame.Frame {
	n.now = now
	if !n.up {
		return nil
	}
	running := ^n.pause.Paused(now)
	f := n.pool.Get()
	if f == nil {
		n.counters.TxNoFrame++
		n.wheel.Set(poolTimer, now.Add(poolRetry))
		return nil
	}
	if n.asking.Pending(now) {
		return n.ask(now, f)
	}
	prio, ok := n.notification(f, running)
	if !ok {
		prio, ok = n.feed(now, f, running)
	}
	if !ok {
		prio, ok = n.answer(f, running)
	}
	if !ok {
		prio, ok = n.manage(f, running)
	}
	if !ok {
		prio, ok = n.reply(f, running)
	}
	if !ok {
		prio, ok = n.data(now, f, running)
	}
	if !ok {
		f.Release()
		return nil
	}
	n.ledger.Generated.Add(f.Len())
	n.ledger.Sent.Add(f.Len())
	n.traffic[prio].Sent.Add(f.Len())
	n.kick()
	return f
}

// ask builds the PFC frame that is pending.
func (n *NIC) ask(now unit.Time, f *frame.Frame) *frame.Frame {
	if !n.asking.Build(now, f) {
		panic("nic: a frame has no room for PFC") // New has seen that it has for a packet
	}
	n.wheel.Set(askTimer, n.asking.NextWake())
	n.ledger.Generated.Add(f.Len())
	n.ledger.Sent.Add(f.Len())
	n.kick()
	return f
}

// notification builds a CNP if one is owed and its priority runs.
func (n *NIC) notification(f *frame.Frame, running pfc.Set) (prio pfc.Priority, ok bool) {
	prio = n.priority(n.cfg.DSCP.CNP)
	for n.cnpReady() && running.Has(prio) {
		c := n.cnps.take(inCNPs)
		o := ib.Outgoing{Opcode: ib.CongestionNotify}
		say := c.notify.CNP() // [DCQCN+] section 4
		o.Receiver.IntervalNs = uint32(min(say.Interval, math.MaxUint32))
		o.Receiver.Flows = uint16(min(say.Flows, math.MaxUint16))
		n.build(f, c, &o, tos(n.cfg.DSCP.CNP, frame.NotECT))
		if !n.leaves(f, c.way) {
			continue
		}
		n.counters.NPCNPSent++
		n.made()
		return prio, true
	}
	return prio, false
}

// answer builds an ACK or NAK if one is owed and its priority runs.
func (n *NIC) answer(f *frame.Frame, running pfc.Set) (prio pfc.Priority, ok bool) {
	var o ib.Outgoing
	for prio = range (n.acks.mask & running).All() {
		for c := n.acks.take(prio); c != nil; c = n.acks.take(prio) {
			if !c.qp.NextResponse(&o) {
				continue
			}
			if c.qp.HasResponse() {
				n.acks.add(c, prio)
			}
			n.build(f, c, &o, tos(c.dscp.Ack, frame.ECT0))
			if !n.leaves(f, c.way) {
				continue
			}
			if n.cfg.CNP.OnNAK && o.AETH.Syndrome == ib.NAKSequence {
				n.congested(n.now, c)
			}
			return prio, true
		}
	}
	return prio, false
}

// data builds the next packet of the QP whose turn it is: a request, or part of the answer to a
// READ, which is data and paced as such.
func (n *NIC) data(now unit.Time, f *frame.Frame, running pfc.Set) (prio pfc.Priority, ok bool) {
	var o ib.Outgoing
	for flow := n.pacer.Next(uint8(running)); flow != nil; flow = n.pacer.Next(uint8(running)) {
		c := n.conns[flow.Owner]
		prio = n.priority(c.dscp.Data)
		if c.ud != nil {
			if n.sendUD(now, f, c) {
				return prio, true
			}
			continue
		}
		if n.stranded(now, c) {
			continue
		}
		if !c.next(now, &o) {
			n.pacer.Deactivate(flow)
			n.settle(now, c)
			continue
		}
		n.build(f, c, &o, tos(c.dscp.Data, c.ecn(&o)))
		c.cc.Sent(now, f.Len())
		n.pacer.Sent(now, flow, wire.OnLine(f.Len()))
		if !c.pending() {
			n.pacer.Deactivate(flow)
		}
		n.limit(now, c)
		n.await(c)
		n.settle(now, c) // behind the end of a READ's answer an ACK may wait
		if n.leaves(f, c.way) {
			return prio, true
		}
	}
	return 0, false
}

// build writes a packet of c into f.
func (n *NIC) build(f *frame.Frame, c *conn, o *ib.Outgoing, tos uint8) {
	n.stamp(o, tos)
	if size := c.headers.Size(o); o.Zeros > 0 {
		at := c.headers.PayloadAt(o)
		f.Elide(at, o.Zeros, size-at-o.Zeros, seal)
		c.headers.BuildAround(f.Head(), f.Tail(), o)
	} else {
		f.Resize(size)
		c.headers.Build(f.Bytes(), o)
	}
	n.tag(f.Head(), tos)
	f.Meta.Flow = uint32(c.qpn)
}

// seal completes a packet whose payload was left out, with its ICRC.
func seal(b []byte) {
	class := (&classify.Map{}).Classify(b)
	ib.Seal(b, int(class.L3Off), int(class.L4Off))
}

// stamp gives a packet the type of service and the next identification, which is never zero.
func (n *NIC) stamp(o *ib.Outgoing, tos uint8) {
	if n.packetID++; n.packetID == 0 {
		n.packetID = 1
	}
	o.TOS, o.ID = tos, n.packetID
}

func tos(dscp uint8, e frame.ECN) uint8 { return dscp<<2 | uint8(e) }
