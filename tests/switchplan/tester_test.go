package switchplan

import (
	"bytes"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// stream is frames that the tester sends on one port.
type stream struct {
	port  dataplane.PortID
	at    unit.Time     // when the first is due
	every time.Duration // between two being due; 0: back to back, at the rate of the link
	count int           // how many
	frame source
	// obey is the priorities that hold the stream back while the switch pauses them.
	obey pfc.Set

	sent int
	due  unit.Time // of the next frame
}

// end is when the last frame has been due for long enough to have been handled.
func (s *stream) end() unit.Time { return s.at.Add(time.Duration(s.count+2) * s.every) }

func portID(i int) dataplane.PortID { return dataplane.PortID(i) }

// source makes the n-th frame of a stream, counted from 0, at the start of dst.
type source interface{ build(dst []byte, n int) int }

// raw is a source that sends the same bytes again and again.
type raw []byte

func (r raw) build(dst []byte, _ int) int { return copy(dst, r) }

// arrival is a frame that the tester received.
type arrival struct {
	at    unit.Time // of its last bit
	bytes []byte
	class frame.Class
}

// tester is a dataplane.Device at the far ends of the switch's links. It has no state but its
// streams and what arrived.
type tester struct {
	pool   *frame.Pool
	ports  []testerPort
	ready  dataplane.PortSet
	now    unit.Time
	ledger dataplane.Ledger
}

type testerPort struct {
	streams  []*stream
	rx       pfc.Receiver // what the switch pauses
	arrivals []arrival
	out      [frameSize]byte
}

// newTester makes a tester for the far ends of the given ports. It takes response to obey a PFC
// frame.
func newTester(ports []pipeline.Port, response time.Duration, pool *frame.Pool) *tester {
	t := &tester{pool: pool, ports: make([]testerPort, len(ports))}
	for i := range ports {
		t.ports[i].rx = pfc.NewReceiver(pfc.ReceiverConfig{Rate: ports[i].Rate,
			Obeyed: allPriorities, Delay: response})
	}
	return t
}

// allPriorities is the set of all eight.
const allPriorities pfc.Set = 0xff

// add gives the tester a stream, whose start must not have passed.
func (t *tester) add(now unit.Time, s stream) {
	if s.at < now {
		panic("switchplan: a stream starts at " + s.at.String() + ", and it is " + now.String())
	}
	t.advance(now)
	s.due = s.at
	p := &t.ports[s.port]
	p.streams = append(p.streams, &s)
	if s.due <= now {
		t.ready.Add(s.port)
	}
}

// advance lets time go on: every port on which a frame has become due is ready.
func (t *tester) advance(now unit.Time) {
	before := t.now
	t.now = now
	for i := range t.ports {
		for _, s := range t.ports[i].streams {
			if s.sent < s.count && s.due > before && s.due <= now {
				t.ready.Add(dataplane.PortID(i))
			}
		}
	}
}

// Receive keeps a copy of the frame, and obeys it if it is PFC.
func (t *tester) Receive(now unit.Time, port dataplane.PortID, f *frame.Frame) {
	t.advance(now)
	t.ledger.Received.Add(f.Len())
	p := &t.ports[port]
	look := (&classify.Map{}).Classify(f.Bytes())
	p.arrivals = append(p.arrivals, arrival{now, bytes.Clone(f.Bytes()), look})
	if look.Kind == frame.PFC {
		if body, ok := wire.AsPFC(f.Bytes()[wire.EthernetLen:]); ok &&
			p.rx.Receive(now, body) != 0 {
			t.ready.Add(port)
		}
	}
	t.ledger.Consume(f)
}

// Transmit sends the frame that has been due longest of those that nobody holds back.
func (t *tester) Transmit(now unit.Time, port dataplane.PortID) *frame.Frame {
	t.advance(now)
	p := &t.ports[port]
	var next *stream
	for _, s := range p.streams {
		if s.sent == s.count || s.due > now || p.rx.Paused(now)&s.obey != 0 {
			continue
		}
		if next == nil || s.due < next.due {
			next = s
		}
	}
	if next == nil {
		return nil
	}
	n := next.frame.build(p.out[:], next.sent)
	next.sent++
	next.due = next.due.Add(next.every)
	f := t.pool.Get()
	if f == nil || !f.Set(p.out[:n]) {
		panic("switchplan: the tester has no frame left, or one too short")
	}
	f.Meta.Class = (&classify.Map{}).Classify(f.Bytes())
	t.ledger.Generated.Add(f.Len())
	t.ledger.Sent.Add(f.Len())
	t.ready.Add(port)
	return f
}

// Ready is the set of ports that may have a frame to send.
func (t *tester) Ready() *dataplane.PortSet { return &t.ready }

// NextWake is when a frame is due or a pause ends.
func (t *tester) NextWake() unit.Time {
	next := unit.Never
	for i := range t.ports {
		p := &t.ports[i]
		next = min(next, p.rx.NextWake())
		for _, s := range p.streams {
			if s.sent < s.count && s.due > t.now {
				next = min(next, s.due)
			}
		}
	}
	return next
}

// Wake makes ports ready whose time has come.
func (t *tester) Wake(now unit.Time) {
	t.advance(now)
	for i := range t.ports {
		if t.ports[i].rx.Wake(now) != 0 {
			t.ready.Add(dataplane.PortID(i))
		}
	}
}

// SetLink changes nothing: what is due is sent when the link is back.
func (t *tester) SetLink(_ unit.Time, port dataplane.PortID, _ bool) { t.ready.Add(port) }

// Ledger is the account of every frame.
func (t *tester) Ledger() dataplane.Ledger { return t.ledger }

// idle reports whether every stream has been sent.
func (t *tester) idle() bool {
	for i := range t.ports {
		for _, s := range t.ports[i].streams {
			if s.sent < s.count {
				return false
			}
		}
	}
	return true
}
