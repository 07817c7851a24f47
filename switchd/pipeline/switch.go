package pipeline

import (
	"fmt"
	"math/rand/v2"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Switch is a dataplane.Device.
type Switch struct {
	ports  []port
	cfg    Config
	buffer *mmu.Buffer
	macs   *fib.Table
	router *fib.Router       // nil: it bridges only
	all    dataplane.PortSet // every port
	frames *frame.Pool       // for the copies of flooded frames
	pauses *frame.Pool       // for PFC frames, so that they can be sent when frames has run out
	cnms   *frame.Pool       // for CNMs
	rng    *rand.Rand

	floodClass uint8
	ready      dataplane.PortSet
	wakeAt     unit.Time // not later than any deadline of a port
	ledger     dataplane.Ledger
	// pfcReceived is how many PFC frames all ports received.
	pfcReceived uint64
	notify      func(Event)
	verdict     func(dataplane.PortID, pfc.Set)
}

// port is the state of one port.
type port struct {
	id        dataplane.PortID
	up        bool
	backlog   qos.QueueSet // queues that are not empty
	queues    [mmu.Queues]queue
	heads     qos.Heads
	sched     qos.Scheduler
	shaper    *qos.Shaper // nil: none
	heldUntil unit.Time   // by the shaper; Never if it does not hold the port
	rx        pfc.Receiver
	tx        pfc.Generator
	classify  classify.Map
	qmap      qos.Map
	lossless  [classify.Classes]bool
	pauses    [mmu.Groups]pfc.Set           // what a group in XOFF pauses
	stops     [wire.Priorities]qos.QueueSet // what a paused priority stops
	linkPause bool                          // obeys PAUSE
	watch     watch
	cnms      frame.FIFO // before all data
	cnmTC     uint8      // class of CNMs that pass through
	isolated  uint8      // isolation group, 0 is none
	longest   unit.Bytes // frame that it takes and sends
	name      string
	stats     portStats
}

// queue is one egress queue.
type queue struct {
	frames frame.FIFO
	wred   qos.WRED
	qcn    *congestion // nil: no congestion point
	length *qos.Occupancy
	stats  QueueStats
}

// rngStream tells the marking generator from others with the same seed.
const rngStream = 0x77726564 // "wred"

// pausesPerPort is how many PFC frames of a port can be on their way at once before the frame
// pool has to help out.
const pausesPerPort = 4

// New makes a switch, or returns every fault of its configuration. Copies of flooded frames come
// from pool.
func New(cfg Config, pool *frame.Pool) (*Switch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("switch: %w", err)
	}
	buffer, err := mmu.New(cfg.buffer())
	if err != nil {
		return nil, fmt.Errorf("switch: %w", err)
	}
	macs := cfg.MACs
	macs.Ports = len(cfg.Ports)
	s := &Switch{
		ports: make([]port, len(cfg.Ports)), buffer: buffer, macs: fib.New(macs), frames: pool,
		pauses: frame.NewPool(pausesPerPort*len(cfg.Ports), int(wire.MinFrame)),
		cnms:   frame.NewPool(cnmsPerPort*len(cfg.Ports), cnmRoom),
		wakeAt: unit.Never,
	}
	if cfg.Router != nil {
		s.router = fib.NewRouter(*cfg.Router, len(cfg.Ports))
	}
	for i := range s.ports {
		id := dataplane.PortID(i)
		s.all.Add(id)
		if s.router != nil && s.router.Routed(id) {
			s.macs.Flood().Remove(id)
		}
		s.ports[i] = newPort(id)
	}
	s.configure(0, cfg)
	return s, nil
}

// Receive takes a frame through the steps of the ingress.
func (s *Switch) Receive(now unit.Time, in dataplane.PortID, f *frame.Frame) {
	s.ledger.Received.Add(f.Len())
	p := &s.ports[in]
	for _, step := range ingress {
		v := step(s, now, p, f)
		switch v.do {
		case next:
			continue
		case drop:
			s.drop(p, f, v.why)
		}
		break
	}
}

// Ready is the set of ports that may have a frame to send.
func (s *Switch) Ready() *dataplane.PortSet { return &s.ready }

// Ledger is the account of every frame.
func (s *Switch) Ledger() dataplane.Ledger { return s.ledger }

// NextWake is when a pause ends or must be announced again, a shaper lets a frame go, or a watchdog
// looks, or a neighbour is to be asked for.
func (s *Switch) NextWake() unit.Time { return s.wakeAt }

// Wake ends pauses, announces others again, lets the watchdogs look, and releases the ports that
// were held back.
func (s *Switch) Wake(now unit.Time) {
	s.wakeAt = unit.Never
	for i := range s.ports {
		p := &s.ports[i]
		resumed := p.rx.Wake(now)
		p.tx.Wake(now)
		s.poll(now, p)
		released := p.heldUntil <= now
		if released {
			p.heldUntil = unit.Never
		}
		if resumed != 0 || released || p.tx.Pending(now) {
			s.ready.Add(p.id)
		}
		s.arm(min(p.rx.NextWake(), p.tx.NextWake(), p.heldUntil, p.watch.dog.NextWake()))
	}
	if s.router != nil {
		s.resolve(now)
	}
}

func (s *Switch) arm(at unit.Time) { s.wakeAt = min(s.wakeAt, at) }

// SetLink brings a port up or takes it down. A port that goes down loses the frames that wait for
// it, what was learnt on it, and all pauses.
func (s *Switch) SetLink(now unit.Time, id dataplane.PortID, up bool) {
	p := &s.ports[id]
	if p.up == up {
		return
	}
	p.up = up
	s.ready.Add(id)
	s.setInterface(id, up)
	if up {
		return
	}
	s.macs.FlushPort(id)
	p.rx.Reset(now)
	p.tx.Reset(now)
	for q := range mmu.Queue(mmu.Queues) {
		for p.backlog.Has(q) {
			f := s.dequeue(now, p, q)
			p.sched.Gone(q, p.backlog.Has(q))
			s.refuse(p, &p.queues[q], f, frame.DropLinkDown)
		}
	}
	s.dropCNMs(p)
	s.flowControl(now)
}

// drop counts a lost frame under the port that lost it.
func (s *Switch) drop(p *port, f *frame.Frame, why frame.Reason) {
	p.stats.dropped[f.Meta.Class.TC&(classify.Classes-1)][why]++
	s.ledger.Drop(f, why)
}
