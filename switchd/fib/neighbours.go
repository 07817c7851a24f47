package fib

import (
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Neighbours maps IP addresses to MAC addresses: what ARP and neighbour discovery have found.
//
//	         Wait                     Confirm
//	(none) -------> incomplete --------------------> reachable
//	   ^   solicit      | three solicitations,        |   ^ |
//	   |                | no answer: Failed           |   | | Lookup in the last seconds
//	   +----------------+                             |   | v before the timeout: solicit
//	   +----------------------------------------------+  probed
//	         not confirmed until the timeout
//
// The owner calls Next whenever NextWake has come, and does what it says. Entries that are too old
// are not found; their places are used again when the table is full.
type Neighbours struct {
	Stats NeighbourStats

	cfg     NeighbourConfig
	poll    time.Duration // age at which an entry in use is asked about
	index   map[neighbourKey]int32
	entries []neighbour
	free    []int32
	held    int  // frames that wait
	asking  ring // entries with a solicitation to come, the next one first
	known   ring // entries with a MAC address, the longest unconfirmed first
}

// NeighbourStats counts what operators ask for.
type NeighbourStats struct {
	Resolved   uint64 // addresses found that were not known
	Failed     uint64 // addresses that nobody answered for
	TimedOut   uint64 // entries that were not confirmed in time, counted when they go
	Solicited  uint64 // requests
	Overflowed uint64 // frames that did not wait: too many did
	Full       uint64 // addresses for which there was no room
}

// Attempts is how often is asked, for ARP as for neighbour discovery: MAX_MULTICAST_SOLICIT and
// MAX_UNICAST_SOLICIT, RFC 4861 section 10.
const Attempts = 3

type neighbourKey struct {
	addr netip.Addr
	on   int
}

type neighbour struct {
	key       neighbourKey
	mac       wire.MAC
	known     bool // the MAC address is
	static    bool
	asking    bool
	asked     int       // solicitations sent in this row
	next      unit.Time // solicitation, if asking
	confirmed unit.Time
	waiting   frame.FIFO
	links     [2]link // in asking and in known
}

// NewNeighbours makes an empty table.
func NewNeighbours(cfg NeighbourConfig) *Neighbours {
	cfg = cfg.withDefaults()
	n := &Neighbours{cfg: cfg, poll: cfg.poll(), index: make(map[neighbourKey]int32),
		asking: ring{which: inAsking, head: none, tail: none},
		known:  ring{which: inKnown, head: none, tail: none}}
	return n
}

func (c NeighbourConfig) withDefaults() NeighbourConfig {
	if c.Max == 0 {
		c.Max = DefaultNeighbours
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultNeighbourTimeout
	}
	if c.Retransmit == 0 {
		c.Retransmit = DefaultRetransmit
	}
	if c.Waiting == 0 {
		c.Waiting = DefaultWaiting
	}
	if c.Held == 0 {
		c.Held = DefaultHeld
	}
	return c
}

// poll is the age at which an entry in use is asked about: in time for all attempts, but not in
// the first half of its life.
func (c *NeighbourConfig) poll() time.Duration {
	return c.Timeout - min(Attempts*c.Retransmit, c.Timeout/2)
}

// Lookup returns the MAC address of a neighbour; false if it is not known, or not any more. An
// entry in use is asked about when its time runs out, so that traffic does not wait for it: RFC
// 1122 section 2.3.2.1 (2), unicast poll.
func (n *Neighbours) Lookup(now unit.Time, on int, addr netip.Addr) (wire.MAC, bool) {
	i, ok := n.index[neighbourKey{addr, on}]
	if !ok {
		return wire.MAC{}, false
	}
	e := &n.entries[i]
	if !e.known || n.tooOld(now, e) {
		return wire.MAC{}, false
	}
	if !e.static && !e.asking && now.Sub(e.confirmed) > n.poll {
		n.ask(now, i)
	}
	return e.mac, true
}

func (n *Neighbours) tooOld(now unit.Time, e *neighbour) bool {
	return !e.static && now.Sub(e.confirmed) > n.cfg.Timeout
}

// ask puts an entry first among those to be asked about.
func (n *Neighbours) ask(now unit.Time, i int32) {
	e := &n.entries[i]
	e.asking, e.asked, e.next = true, 0, now
	n.asking.pushFront(n.entries, i)
}

// Wait lets f wait until the neighbour's address is known, and sees to it that it is asked for.
// It returns a frame that cannot wait, which the caller owns again: f itself or, when too many
// wait for one address, the one that has waited longest (RFC 4861 section 7.2.2). Wait is also
// for an entry that is known, if its MAC address leads nowhere.
func (n *Neighbours) Wait(now unit.Time, on int, addr netip.Addr, f *frame.Frame) *frame.Frame {
	i, ok := n.index[neighbourKey{addr, on}]
	if !ok {
		if i, ok = n.add(now, neighbourKey{addr, on}); !ok {
			return f
		}
	}
	e := &n.entries[i]
	if e.known && n.tooOld(now, e) {
		n.forget(e, i)
	}
	if !e.asking {
		n.ask(now, i)
	}
	var out *frame.Frame
	switch {
	case e.waiting.Len() == n.cfg.Waiting:
		out = e.waiting.Pop()
	case n.held == n.cfg.Held:
		n.Stats.Overflowed++
		return f
	}
	e.waiting.Push(f)
	if out != nil {
		n.Stats.Overflowed++
		return out
	}
	n.held++
	return nil
}

// forget makes an entry that was too old an incomplete one.
func (n *Neighbours) forget(e *neighbour, i int32) {
	e.known = false
	n.known.remove(n.entries, i)
	n.Stats.TimedOut++
}

// add makes an entry of which nothing is known, in the place of one that is too old if need be.
func (n *Neighbours) add(now unit.Time, key neighbourKey) (int32, bool) {
	switch {
	case len(n.free) > 0:
	case len(n.entries) < n.cfg.Max:
		n.free = append(n.free, int32(len(n.entries)))
		n.entries = append(n.entries, neighbour{})
	default:
		// The first is the longest unconfirmed.
		i := n.known.head
		if i == none || !n.tooOld(now, &n.entries[i]) || n.entries[i].waiting.Len() > 0 {
			n.Stats.Full++
			return none, false
		}
		n.Stats.TimedOut++
		n.remove(i)
	}
	last := len(n.free) - 1
	i := n.free[last]
	n.free = n.free[:last]
	n.entries[i] = neighbour{key: key}
	n.index[key] = i
	return i, true
}

// remove frees an entry for which nothing waits.
func (n *Neighbours) remove(i int32) {
	e := &n.entries[i]
	if e.asking {
		n.asking.remove(n.entries, i)
	}
	if e.known && !e.static {
		n.known.remove(n.entries, i)
	}
	delete(n.index, e.key)
	n.free = append(n.free, i)
}

// News is what a neighbour said.
type News struct {
	MAC wire.MAC
	// Create makes an entry if there is none (RFC 826: only if the switch was the target).
	Create bool
	// Override replaces another MAC address (RFC 4861 section 7.2.5; ARP always does).
	Override bool
}

// Confirm notes what a neighbour said and returns the frames that waited for it, which the caller
// owns now. A static entry stays as it is.
func (n *Neighbours) Confirm(now unit.Time, on int, addr netip.Addr, news News) frame.FIFO {
	i, ok := n.index[neighbourKey{addr, on}]
	if !ok {
		if !news.Create {
			return frame.FIFO{}
		}
		if i, ok = n.add(now, neighbourKey{addr, on}); !ok {
			return frame.FIFO{}
		}
	}
	e := &n.entries[i]
	if e.known && e.mac != news.MAC && (e.static || !news.Override) {
		return frame.FIFO{}
	}
	if e.asking {
		e.asking = false
		n.asking.remove(n.entries, i)
	}
	if e.static {
		return n.takeWaiting(e)
	}
	if e.known {
		if n.tooOld(now, e) {
			n.Stats.TimedOut++
		}
		n.known.remove(n.entries, i)
	} else {
		n.Stats.Resolved++
	}
	e.mac, e.known, e.confirmed = news.MAC, true, now
	n.known.pushBack(n.entries, i)
	return n.takeWaiting(e)
}

func (n *Neighbours) takeWaiting(e *neighbour) frame.FIFO {
	waiting := e.waiting
	e.waiting = frame.FIFO{}
	n.held -= waiting.Len()
	return waiting
}
