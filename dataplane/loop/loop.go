package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Config is what a loop runs.
type Config struct {
	Device dataplane.Device
	Pool   *frame.Pool
	Clock  *clock.Clock
	Links  clock.Links
	Ports  []Port
	Log    *slog.Logger
	// OnFault is told of faults and of the frames they hit, OnLink of a port's device that went
	// away or came back, and why. Both run on the loop's thread, and may be nil.
	OnFault func(fault.Happening)
	OnLink  func(at unit.Time, port dataplane.PortID, up bool, why string)
	// Filtered is told, on the loop's thread, of data frames of a class that a port's wire dropped:
	// when they arrive, or, of kinds whose arrival nobody tells, when that is seen. nil if nobody
	// sets a filter.
	Filtered func(port dataplane.PortID, class uint8, n dataplane.Count)
}

// Tap sees every frame at a port: in when its last bit has arrived, out when its first bit leaves,
// in the order of time; also those that a fault then loses. What faults did to a frame is in its
// Meta.Faults. It runs on the loop's thread and must not keep the frame.
type Tap func(at unit.Time, port dataplane.PortID, dir Direction, f *frame.Frame)

// Direction is the way a frame passes a port, seen from the device.
type Direction uint8

// The directions.
const (
	In Direction = iota
	Out
)

// Port is one port of the device and its wire.
type Port struct {
	Name string
	Wire Wire
	Link link.Config
	// TxLink and RxLink are the clock's numbers for the two directions of the link; NoLink if the
	// other end shares no clock with us.
	TxLink, RxLink int
	Far            FarEnd // of a link with numbers
	// FarIPv4 is the address for which a NIC at the far end answers ARP itself; invalid: its host's
	// kernel does.
	FarIPv4 netip.Addr
	MAC     wire.MAC // source of PFC frames that a fault sends
	// Open opens the wire anew after its device went away; nil if that is not possible. It runs
	// on a goroutine of its own.
	Open func() (Wire, error)
}

// tapped shows the device's arrivals to the tap.
type tapped struct {
	dataplane.Device
	loop *Loop
}

func (d tapped) Receive(now unit.Time, port dataplane.PortID, f *frame.Frame) {
	if d.loop.tap != nil {
		d.loop.tap(now, port, In, f)
	}
	d.Device.Receive(now, port, f)
}

// NoLink is the number of a link that the clock does not know.
const NoLink = -1

// burst is how many frames a turn takes from one wire at most.
const burst = 256

// maxSleep bounds a sleep in real time, so that a change of the clock's speed is noticed.
const maxSleep = 5 * time.Millisecond

// shortest is the shortest sleep, in real time: going to sleep and waking up take longer than that,
// so another turn is sooner done.
const shortest = 2 * time.Microsecond

// Loop runs one device. Run is its thread; the other methods may be called from any goroutine.
type Loop struct {
	cfg     Config
	engine  engine.Engine
	node    *engine.Node
	ports   []*port
	stats   Stats
	clock   unit.Time // what the clock shows in this turn
	now     unit.Time // up to when the turn runs: not past a frame that is still in the kernel
	mono    int64
	slack   time.Duration // how late the inside of the device may run unseen
	polls   []unix.PollFd
	arrived [burst]Arrival
	mail    mailbox
	guests  []guest
	poller  Poller // nil: none
	tap     Tap
	faults  *fault.Executor
	ctx     context.Context // of Run; ends the goroutines that open wires
}

// Stats are the loop's own measurements, in virtual time.
type Stats struct {
	Now       unit.Time     // when they were read
	Lost      time.Duration // by a clock of the loop's own, against real time
	Turns     uint64
	Events    uint64
	Delivered Hist // by how much frames were handed to the kernel after they should have arrived
	Arrived   Hist // by how much the clock was past the arrival when a frame was taken
	Slips     Hist // arrivals that were told of, before a moment that had already been decided
	PortsDown uint64
	Forgotten uint64 // frames handed to us that never came out of the kernel
	Ports     []WireStats
}

// New builds a loop around a device.
func New(cfg Config) (*Loop, error) {
	l := &Loop{cfg: cfg, slack: time.Hour}
	if err := l.mail.open(); err != nil {
		return nil, err
	}
	var ports []engine.Port
	for i := range cfg.Ports {
		p := &port{Port: cfg.Ports[i], loop: l, id: dataplane.PortID(i)}
		p.sender, p.tells = link.NewSender(p.Link), p.Far.Told()
		l.ports = append(l.ports, p)
		ports = append(ports, engine.Port{Wire: p.sender, Out: p, Pool: cfg.Pool,
			MAC: p.MAC})
		l.slack = min(l.slack, p.Link.Delay/2)
	}
	l.node = l.engine.Add(tapped{cfg.Device, l}, ports)
	l.node.Watch(l.watch)
	l.node.OnAbsent(func(now unit.Time, p dataplane.PortID, down frame.Faults) {
		l.ports[p].absent(now, down)
	})
	l.node.Settle()
	l.faults = fault.NewExecutor(driver{l}, cfg.OnFault)
	l.polls = make([]unix.PollFd, len(l.ports)+1)
	l.stats.Ports = make([]WireStats, len(l.ports))
	return l, nil
}

// ErrStopped is returned for work given to a loop that does not run any more.
var ErrStopped = errors.New("the loop has stopped")

// Run turns until ctx ends. It locks its thread and closes the wires when it returns.
func (l *Loop) Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.ctx = ctx
	stop := context.AfterFunc(ctx, l.mail.wake)
	defer stop()
	defer l.close()
	// Without this a sleeping thread is woken up to 50 us late. prctl(2) PR_SET_TIMERSLACK.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set timer slack: %w", err)
	}
	for ctx.Err() == nil {
		if err := l.turn(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends a loop that was never run, and its wires. Work given to it fails.
func (l *Loop) Close() { l.close() }

func (l *Loop) close() {
	l.cfg.Clock.Leave()
	l.mail.close()
	for _, p := range l.ports {
		if p.Wire != nil {
			p.Wire.Close()
		}
	}
}

func (l *Loop) turn() error {
	c := l.cfg.Clock
	l.clock, l.mono = c.Begin()
	now := l.clock
	for _, p := range l.ports {
		p.receive()
		now = min(now, p.horizon())
	}
	l.now = max(l.now, now)
	l.engine.Run(l.now)
	l.mail.run(l.now, l.node)
	worked := l.visit()
	backlog, restless := false, false
	for _, p := range l.ports {
		backlog = p.flush() || backlog
		restless = restless || p.restless()
	}
	l.stats.Turns++
	deadline := min(l.engine.NextDelivery(), l.engine.Next().Add(l.slack))
	waiting := l.now < l.clock // for a frame that is in the kernel
	if backlog {
		deadline = l.now // the clock waits until the kernel has room
	}
	c.Publish(deadline)
	if worked {
		return l.look()
	}
	return l.sleep(deadline, backlog || waiting || restless)
}

// sleep waits for an arrival, for mail, or until the deadline; not for long if it is the kernel's
// turn to do something.
func (l *Loop) sleep(deadline unit.Time, kernel bool) error {
	wait := l.cfg.Clock.Until(deadline, maxSleep)
	if kernel {
		// For transmit chunks to come back, a frame to arrive, or one to be dropped on arrival.
		wait = 20 * time.Microsecond
	}
	if wait < shortest || l.poller != nil && !l.poller.Rest() {
		return l.look()
	}
	return l.nap(wait)
}

// nap polls the wires, the mail and the guests, for so long at most.
func (l *Loop) nap(wait time.Duration) error {
	for i, p := range l.ports {
		l.polls[i] = unix.PollFd{Fd: -1, Events: unix.POLLIN}
		if p.Wire != nil {
			l.polls[i].Fd = int32(p.Wire.FD())
		}
	}
	l.polls[len(l.ports)] = unix.PollFd{Fd: int32(l.mail.fd), Events: unix.POLLIN}
	own := len(l.ports) + 1
	l.polls = l.pollGuests(l.polls[:own])
	ts := unix.NsecToTimespec(wait.Nanoseconds())
	n, err := unix.Ppoll(l.polls, &ts, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("ppoll: %w", err)
	}
	if n > 0 {
		l.heard(l.polls[own:])
	}
	return nil
}

// Do runs fn on the loop's thread between two turns and returns when it has run. fn may use the
// device; whatever it changes there is noticed.
func (l *Loop) Do(fn func(now unit.Time)) error { return l.mail.do(fn) }

// Every calls fn on the loop's thread at every multiple of interval in virtual time, from the next
// one on, as long as it returns true. fn may use the device; whatever it changes there is noticed.
func (l *Loop) Every(interval time.Duration, fn func(now unit.Time) bool) error {
	return l.Do(func(now unit.Time) {
		step := unit.Time(interval)
		var tick func(unit.Time)
		tick = func(at unit.Time) {
			more := fn(at)
			l.node.Settle()
			if more {
				l.engine.At(at+step, tick)
			}
		}
		l.engine.At((now/step+1)*step, tick)
	})
}

// SetTap installs the tap, or removes it if nil.
func (l *Loop) SetTap(t Tap) error { return l.Do(func(unit.Time) { l.tap = t }) }

// TimeLost is how much virtual time a clock of the loop's own has lost until the turn began;
// nothing in a lab. For the loop's thread only.
func (l *Loop) TimeLost() time.Duration { return l.cfg.Clock.Lost() }

// Stats returns a copy of the measurements.
func (l *Loop) Stats() (st Stats, err error) {
	err = l.Do(func(now unit.Time) {
		st = l.stats
		st.Now, st.Lost = now, l.cfg.Clock.Lost()
		st.Events = l.engine.Events()
		st.Ports = make([]WireStats, len(l.ports))
		for i, p := range l.ports {
			st.Ports[i] = p.wireStats()
		}
	})
	return st, err
}
