package loop

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// port is a port of the device at work: the outlet of its emulated link and the inlet of its wire.
type port struct {
	Port
	loop    *Loop
	id      dataplane.PortID
	sender  *link.Sender
	backlog []*frame.Frame // due, but the kernel had no room yet; oldest first
	dirty   bool           // Send was called since the last Flush
	past    WireStats      // of wires this port had before
	sent    int            // frames that Send took since the last Flush
	handing []clock.Flight // of this turn, not yet announced
	last    unit.Time      // the peers'; latest arrival not told of: a wire does not reorder
	due     unit.Time      // the same in virtual time
	inlet   unit.Serial    // of arrivals from a sender that nobody paces
	awaited unit.Time      // when the frame arrives that is waited for
	missing int64          // real time since which it is
	filter  filter
	tells   frame.Kinds // of which the other end is told
}

// patience is for how long, in real time, a frame may be on its way in the kernel. Softirqs are put
// off by milliseconds on a busy machine; ten times that is a loss.
const patience = int64(100 * time.Millisecond)

// receive takes everything that has arrived and schedules it at its time.
func (p *port) receive() {
	if p.Wire == nil {
		if p.RxLink != NoLink {
			p.giveUp() // The other end may have sent before it heard; the clock waits for all.
		}
		return
	}
	l := p.loop
	p.filtered()
	for n := burst; n == burst; {
		n = p.Wire.Receive(l.cfg.Pool, l.arrived[:])
		for i := range l.arrived[:n] {
			p.arrive(&l.arrived[i])
		}
	}
	p.dropped()
	if p.RxLink != NoLink {
		p.giveUp()
	}
}

// arrive schedules a frame: when its sender said that it arrives, or, of a sender that tells
// nothing, when the program stamped it.
func (p *port) arrive(a *Arrival) {
	l := p.loop
	if p.RxLink != NoLink {
		check := clock.CheckOf(a.Frame.Bytes())
		p.sift(check)
		at, lost, ok := l.cfg.Links.Take(p.RxLink, check)
		if lost > 0 {
			p.forgot(lost)
		}
		if ok {
			p.slipped(at)
			p.schedule(at, a.Frame)
			return
		}
	}
	// In the time of the peers and their line, who have gone on while a clock of our own was held.
	lost := l.cfg.Clock.Lost()
	at := l.clock.Add(lost)
	if v, ok := l.cfg.Clock.Peers(a.Mono); ok && a.Mono != 0 {
		at = min(at, v)
	}
	if p.RxLink == NoLink {
		var room bool
		if at, room = p.serialise(at, a.Frame.Len()); !room {
			p.past.Overrun++
			a.Frame.Release()
			return
		}
	}
	at = max(at, p.last)
	p.last = at
	// What is lost may have grown since the frame in front was scheduled.
	p.due = max(at.Add(-lost), p.due)
	p.schedule(p.due, a.Frame)
}

// slipped notes if something arrives before a moment that has been decided.
func (p *port) slipped(at unit.Time) {
	if decided := p.loop.engine.Now(); at < decided {
		p.loop.stats.Slips.Add(decided.Sub(at))
	}
}

func (p *port) schedule(at unit.Time, f *frame.Frame) {
	l := p.loop
	l.stats.Arrived.Add(max(l.clock.Sub(at), 0))
	l.engine.Arrive(l.node, p.id, at, f)
}

// maxInlet is what a NIC holds of arrivals that came faster than its line.
const maxInlet = 256 * unit.KB

// Stall is for how long a loop without a lab may have stood still and catch up: what the line
// carries meanwhile it sends at once, and that is half of what a NIC at the other end holds.
func Stall(r unit.Rate) time.Duration {
	var s unit.Serial
	return s.Time(maxInlet/2, r)
}

// serialise puts a frame from a real sender, which knows nothing of the emulated link's rate, onto
// the line: its last bit arrives when those before it have passed. It reports false if more waits
// than a NIC would hold.
func (p *port) serialise(at unit.Time, n unit.Bytes) (unit.Time, bool) {
	start := max(at, p.last)
	if p.Link.Rate.BytesIn(start.Sub(at)) > maxInlet {
		return 0, false
	}
	return start.Add(p.inlet.Time(wire.OnLine(n), p.Link.Rate)), true
}

// horizon is up to when it is known what arrives on the port: the next frame, if it is still in the
// kernel, is waited for.
func (p *port) horizon() unit.Time {
	if p.RxLink == NoLink || p.Wire == nil {
		return unit.Never
	}
	return p.loop.cfg.Links.Next(p.RxLink) - 1
}

// giveUp notes frames that do not come.
func (p *port) giveUp() {
	l := p.loop
	next := l.cfg.Links.Next(p.RxLink)
	switch {
	case next == unit.Never || next != p.awaited:
		p.awaited, p.missing = next, l.mono
	case l.mono-p.missing > patience && !p.lastDrops():
		p.forgot(l.cfg.Links.Forget(p.RxLink, clock.LinkFrames))
	}
}

// forgot counts frames that the kernel lost.
func (p *port) forgot(n int) {
	p.loop.stats.Forgotten += uint64(n)
	p.loop.cfg.Log.Warn("frames were lost in the kernel", "port", p.Name, "frames", n)
}

// told reports whether the other end is told when a frame arrives.
func (p *port) told(f *frame.Frame) bool {
	if p.TxLink == NoLink {
		return false
	}
	kind := f.Meta.Class.Kind
	return p.tells.Has(kind) || kind == frame.Other && wire.AsksFor(f.Head(), p.FarIPv4)
}

// Launch is called by the engine when the first bit of f leaves. A frame whose arrival can be told
// goes to the kernel at once and crosses it while it is on the emulated link.
func (p *port) Launch(start, arrive unit.Time, f *frame.Frame) bool {
	if p.loop.tap != nil && !f.Meta.Watched {
		p.loop.tap(start, p.id, Out, f)
	}
	if !p.told(f) {
		return false
	}
	p.leave(arrive, f)
	return true
}

// Deliver is called by the engine when the last bit of f arrives: other frames leave then.
func (p *port) Deliver(due unit.Time, f *frame.Frame) { p.leave(due, f) }

// leave brings a frame that arrives at due to the kernel.
func (p *port) leave(due unit.Time, f *frame.Frame) {
	l := p.loop
	late := max(l.clock.Sub(due), 0)
	l.stats.Delivered.Add(late)
	l.cfg.Clock.ReportLate(unit.Time(late))
	if p.Wire == nil {
		p.past.Down++
		f.Release()
		return
	}
	f.Meta.Arrived = due
	if len(p.backlog) > 0 || !p.give(f) {
		p.backlog = append(p.backlog, f)
		return
	}
	p.dirty = true
	if p.sent++; p.sent == flushEvery {
		// Should the wire be down, the turn's last flush tells.
		_ = p.hand()
	}
}

// maxOnTheWay bounds the frames of one direction in the kernel. The ring of a veth has 256 places,
// of which some are taken but not yet cleared, and it drops what finds none.
const maxOnTheWay = 192

// give passes a frame to the wire, unless the wire has no room or too many frames are on their way.
func (p *port) give(f *frame.Frame) bool {
	if !p.told(f) {
		return p.send(f)
	}
	if p.loop.cfg.Links.OnTheWay(p.TxLink)+len(p.handing) >= maxOnTheWay {
		return false
	}
	flight := clock.Flight{At: f.Meta.Arrived, Check: clock.CheckOf(f.Bytes())}
	if !p.send(f) {
		return false
	}
	p.handing = append(p.handing, flight)
	return true
}

// send passes a frame to the wire, which may need to hand over those before it to have room.
func (p *port) send(f *frame.Frame) bool {
	if p.Wire.Send(f) {
		return true
	}
	// Should the wire be down, the turn's last flush tells.
	_ = p.hand()
	return p.Wire.Send(f)
}

// flushEvery is after how many frames a turn hands them to the kernel before it goes on, so that
// the other end works at the same time. In copy mode the kernel sends 32 frames a call, so that
// waiting for more saves no call.
const flushEvery = 32

// hand hands to the kernel what Send took.
func (p *port) hand() error {
	p.announce()
	p.sent = 0
	return p.Wire.Flush()
}

// announce tells of the frames before the other end can take them.
func (p *port) announce() {
	if len(p.handing) > 0 {
		p.loop.cfg.Links.Handing(p.TxLink, p.handing)
	}
	p.handing = p.handing[:0]
}

// flush ends a turn: it hands everything to the kernel and reports whether frames are still
// waiting for room.
func (p *port) flush() bool {
	if !p.dirty && len(p.backlog) == 0 {
		return false
	}
	given := 0
	for given < len(p.backlog) && p.Wire != nil && p.give(p.backlog[given]) {
		given++
	}
	p.backlog = append(p.backlog[:0], p.backlog[given:]...)
	p.dirty = false
	if p.Wire != nil {
		if err := p.hand(); err != nil {
			p.down(err)
		}
	}
	return len(p.backlog) > 0
}

// down ends the wire: the link is down, and opened again as soon as the device is back.
func (p *port) down(why error) {
	l := p.loop
	if p.Wire == nil {
		return
	}
	l.cfg.Log.Warn("port is down", "port", p.Name, "reason", why)
	p.past = p.wireStats()
	p.filtered()
	p.lastDrops()
	p.filter.seen = [classify.Classes]dataplane.Count{}
	p.Wire.Close()
	p.Wire = nil
	for _, f := range p.backlog {
		p.past.Down++
		f.Release()
	}
	p.backlog = p.backlog[:0]
	l.stats.PortsDown++
	l.node.SetLink(p.id, false)
	p.tell(false, why.Error())
	if p.Open != nil {
		go p.reopen()
	}
}

func (p *port) tell(up bool, why string) {
	if p.loop.cfg.OnLink != nil {
		p.loop.cfg.OnLink(p.loop.now, p.id, up, why)
	}
}

// reopen tries until the device is back or the loop ends.
func (p *port) reopen() {
	l := p.loop
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		wire, err := p.Open()
		if err != nil {
			continue // still away; the port's state is visible as down
		}
		err = l.Do(func(unit.Time) {
			p.Wire = wire
			if err := p.setFilter(); err != nil {
				l.cfg.Log.Warn("the watchdog's verdict is not in force", "port", p.Name,
					"reason", err)
			}
			l.node.SetLink(p.id, true)
			l.cfg.Log.Info("port is up again", "port", p.Name)
			p.tell(true, "the device is back")
		})
		if err != nil {
			wire.Close()
		}
		return
	}
}

// PortDown tells the loop that the device of a port went away or down; the loop may not notice by
// itself as long as it has nothing to send there.
func (l *Loop) PortDown(name string, why error) error {
	for _, p := range l.ports {
		if p.Name == name {
			return l.Do(func(unit.Time) { p.down(why) })
		}
	}
	return fmt.Errorf("no port %s", name)
}

// Up reports whether a port has a working wire. For the loop's thread only.
func (l *Loop) Up(id dataplane.PortID) bool { return l.ports[id].Wire != nil }

// Lost is how many frames a port lost between machine and kernel. For the loop's thread only.
func (l *Loop) Lost(id dataplane.PortID) uint64 {
	st := l.ports[id].wireStats()
	return st.Lost()
}

// Link is a port's sending side, for faults and rate changes. For the loop's thread only.
func (l *Loop) Link(id dataplane.PortID) *link.Sender { return l.ports[id].sender }

func (p *port) wireStats() WireStats {
	if p.Wire == nil {
		return p.past
	}
	return p.past.Plus(p.Wire.Stats())
}
