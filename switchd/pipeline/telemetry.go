package pipeline

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Telemetry says which frames tell on their way what they met: at dequeue each gets a record of
// the time, the queue and the link. The zero value is off.
type Telemetry struct {
	// Queues are the egress queues, of every port, whose frames are stamped.
	Queues qos.QueueSet
	// Switch tells this switch from the others of a fabric.
	Switch uint32
	// Hops is how many records a frame may carry, 1 to 15; one that has them gets no other.
	Hops int
	// MaxFrame is the largest frame that the links carry, without FCS; a record that would make
	// a frame longer is left out.
	MaxFrame unit.Bytes
}

// maxHops bounds what a frame can grow by.
const maxHops = wire.TelemetryMaxHops

// Validate says what is wrong with the configuration.
func (t *Telemetry) Validate() error {
	switch {
	case *t == Telemetry{}:
		return nil
	case t.Hops < 1 || t.Hops > maxHops:
		return fmt.Errorf("telemetry: %d hops, want 1 to %d", t.Hops, maxHops)
	case t.MaxFrame < wire.MinFrame:
		return fmt.Errorf("telemetry: largest frame %v, want at least %v", t.MaxFrame,
			wire.MinFrame)
	}
	return nil
}

// stamp puts a record of its hop behind a frame of IP that was just taken out of queue to. It does
// so at the last moment, so that the record says what the frame met, and before the wire is asked
// how long it takes to send.
func (s *Switch) stamp(now unit.Time, p *port, to mmu.Queue, f *frame.Frame) {
	end := endOfIP(f)
	if end == 0 {
		return
	}
	t, st, was := &s.cfg.Telemetry, &p.queues[to].stats, int(f.Len())
	hops, size := 0, was+wire.TelemetryHopLen+wire.TelemetryFootLen
	trailer := f.Tail()
	if n := was - end; n < len(trailer) {
		trailer = trailer[len(trailer)-n:]
	}
	if foot, ok := wire.AsTelemetry(trailer); ok {
		hops, size = foot.Hops(), was+wire.TelemetryHopLen
	}
	if hops >= t.Hops || size > int(t.MaxFrame) || size > f.Cap() {
		st.NotStamped++
		return
	}
	f.Resize(size)
	b := f.Tail()
	b = b[len(b)-wire.TelemetryFootLen-wire.TelemetryHopLen:]
	foot := (*wire.Telemetry)(b[wire.TelemetryHopLen:])
	foot.Init()
	foot.SetHops(hops + 1)
	hop := (*wire.TelemetryHop)(b)
	hop.Init()
	hop.SetSwitch(t.Switch)
	hop.SetPort(uint16(p.id))
	hop.SetQueue(uint8(to))
	hop.SetTime(now)
	hop.SetSent(p.sentBytes())
	hop.SetQueueLen(s.buffer.QueueBytes(p.id, to))
	hop.SetRate(s.cfg.Ports[p.id].Rate)
	st.Stamped++
	s.ledger.Generated.Bytes += uint64(size - was)
}

// endOfIP is where the IP packet in a frame ends; 0 if there is none.
func endOfIP(f *frame.Frame) int {
	c := &f.Meta.Class
	at := int(c.L3Off)
	switch c.Kind {
	case frame.IPv4, frame.RoCE4:
		if ip, ok := wire.AsIPv4(f.Head()[at:]); ok {
			return min(at+ip.TotalLen(), int(f.Len()))
		}
	case frame.IPv6, frame.RoCE6:
		if ip, ok := wire.AsIPv6(f.Head()[at:]); ok {
			return min(at+wire.IPv6Len+ip.PayloadLen(), int(f.Len()))
		}
	}
	return 0
}

// sentBytes is everything that a port has sent so far.
func (p *port) sentBytes() uint64 {
	n := p.stats.controlSent.Bytes + p.stats.cnmsSent.Bytes
	for tc := range p.stats.sent {
		n += p.stats.sent[tc].Bytes
	}
	return n
}
