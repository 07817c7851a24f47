package conform

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Relay is the smallest useful device: two ports, each frame leaves by the other one, first in
// first out. Tests of drivers run it where the device must not be in the way.
type Relay struct {
	Log []Seen // what arrived, if Keep is set

	Keep bool
	Sink bool // frames end here instead of going on

	queues [2][]*frame.Frame
	ready  dataplane.PortSet
	ledger dataplane.Ledger
}

// Seen is one arrival.
type Seen struct {
	At   unit.Time
	Port dataplane.PortID
	Size unit.Bytes
	Tag  byte // the frame's last byte
}

// relayLimit bounds each queue in frames.
const relayLimit = 1024

// Receive queues the frame for the other port.
func (r *Relay) Receive(now unit.Time, port dataplane.PortID, f *frame.Frame) {
	r.ledger.Received.Add(f.Len())
	if r.Keep {
		r.Log = append(r.Log, Seen{now, port, f.Len(), f.Bytes()[f.Len()-1]})
	}
	if r.Sink {
		r.ledger.Consume(f)
		return
	}
	r.Queue(port^1, f)
}

// Queue puts a frame into a port's queue.
func (r *Relay) Queue(out dataplane.PortID, f *frame.Frame) {
	if len(r.queues[out]) == relayLimit {
		r.ledger.Drop(f, frame.DropQueueFull)
		return
	}
	r.ledger.Buffered.Add(f.Len())
	r.queues[out] = append(r.queues[out], f)
	r.ready.Add(out)
}

// Originate queues a frame that the device made itself.
func (r *Relay) Originate(out dataplane.PortID, f *frame.Frame) {
	r.ledger.Generated.Add(f.Len())
	r.Queue(out, f)
}

// Transmit takes the oldest frame of the port's queue.
func (r *Relay) Transmit(_ unit.Time, port dataplane.PortID) *frame.Frame {
	q := r.queues[port]
	if len(q) == 0 {
		return nil
	}
	f := q[0]
	r.queues[port] = append(q[:0], q[1:]...)
	if len(q) > 1 {
		r.ready.Add(port)
	}
	r.ledger.Buffered.Sub(f.Len())
	r.ledger.Sent.Add(f.Len())
	return f
}

// Ready is the set of ports with a queue.
func (r *Relay) Ready() *dataplane.PortSet { return &r.ready }

// NextWake is never: a relay waits for nothing.
func (r *Relay) NextWake() unit.Time { return unit.Never }

// Wake does nothing.
func (r *Relay) Wake(unit.Time) {}

// SetLink drops what waits for a link that went down.
func (r *Relay) SetLink(_ unit.Time, port dataplane.PortID, up bool) {
	if up {
		return
	}
	for _, f := range r.queues[port] {
		r.ledger.Buffered.Sub(f.Len())
		r.ledger.Drop(f, frame.DropLinkDown)
	}
	r.queues[port] = r.queues[port][:0]
}

// Ledger is the relay's account.
func (r *Relay) Ledger() dataplane.Ledger { return r.ledger }
