package fib

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Solicit is what Next asks its caller to do about an address: to send a request, or if Failed to
// drop the frames that waited.
type Solicit struct {
	Interface int
	Addr      netip.Addr
	MAC       wire.MAC // ask this station; everybody if zero
	Failed    bool
	Waited    frame.FIFO // owned by the caller
}

// NextWake is when Next has something to do; unit.Never if nothing is asked for.
func (n *Neighbours) NextWake() unit.Time {
	if n.asking.head == none {
		return unit.Never
	}
	return n.entries[n.asking.head].next
}

// Next returns the next thing to do; false if there is none yet.
func (n *Neighbours) Next(now unit.Time) (s Solicit, ok bool) {
	i := n.asking.head
	if i == none || n.entries[i].next > now {
		return s, false
	}
	e := &n.entries[i]
	s = Solicit{Interface: e.key.on, Addr: e.key.addr}
	if e.asked == Attempts {
		// RFC 4861 section 7.2.2 for an incomplete entry, 7.3.3 for one that was reachable. One
		// whose MAC address leads nowhere goes too, or it would be asked about for ever.
		s.Failed, s.Waited = true, n.takeWaiting(e)
		n.Stats.Failed++
		if e.static {
			e.asking = false
			n.asking.remove(n.entries, i)
		} else {
			n.remove(i)
		}
		return s, true
	}
	if e.known && e.waiting.Len() == 0 {
		s.MAC = e.mac // a poll; what waits is worth asking everybody
	}
	e.asked++
	e.next = now.Add(n.cfg.Retransmit)
	n.asking.remove(n.entries, i)
	n.asking.pushBack(n.entries, i) // All wait equally long, so that the ring stays in order.
	n.Stats.Solicited++
	return s, true
}

// AddStatic puts an address behind a MAC address for good.
func (n *Neighbours) AddStatic(now unit.Time, on int, addr netip.Addr, mac wire.MAC) error {
	if mac.IsMulticast() {
		return fmt.Errorf("neighbour %v: %v is a group address", addr, mac)
	}
	key := neighbourKey{addr, on}
	i, ok := n.index[key]
	if !ok {
		if i, ok = n.add(now, key); !ok {
			return errors.New("neighbour: the table is full")
		}
	}
	e := &n.entries[i]
	if e.waiting.Len() > 0 {
		return fmt.Errorf("neighbour %v: it is being asked for", addr)
	}
	if e.asking {
		e.asking = false
		n.asking.remove(n.entries, i)
	}
	if e.known && !e.static {
		n.known.remove(n.entries, i)
	}
	e.mac, e.known, e.static, e.confirmed = mac, true, true, now
	return nil
}

// isStatic reports whether an entry is there for good.
func (n *Neighbours) isStatic(on int, e StaticNeighbour) bool {
	i, ok := n.index[neighbourKey{e.Addr, on}]
	return ok && n.entries[i].static && n.entries[i].mac == e.MAC
}

// expire makes a static entry one that is too old. What waits for it waits for the answer.
func (n *Neighbours) expire(now unit.Time, on int, addr netip.Addr) {
	i := n.index[neighbourKey{addr, on}]
	e := &n.entries[i]
	e.static, e.confirmed = false, now.Add(-n.cfg.Timeout-1)
	n.known.pushFront(n.entries, i)
}

// Remove forgets an address, static or not, and returns the frames that waited for it.
func (n *Neighbours) Remove(on int, addr netip.Addr) (waited frame.FIFO, ok bool) {
	i, ok := n.index[neighbourKey{addr, on}]
	if !ok {
		return waited, false
	}
	waited = n.takeWaiting(&n.entries[i])
	n.remove(i)
	return waited, true
}

// FlushInterface forgets what was learnt on an interface, as when it goes down, and hands the
// frames that waited to drop.
func (n *Neighbours) FlushInterface(on int, drop func(*frame.Frame)) {
	for i := range n.entries {
		e := &n.entries[i]
		if !n.used(int32(i)) || e.key.on != on || e.static {
			continue
		}
		waited := n.takeWaiting(e)
		n.remove(int32(i))
		for f := waited.Pop(); f != nil; f = waited.Pop() {
			drop(f)
		}
	}
}

// used reports whether an entry is in the table.
func (n *Neighbours) used(i int32) bool {
	at, ok := n.index[n.entries[i].key]
	return ok && at == i
}

// Neighbour is one entry as it is shown.
type Neighbour struct {
	Interface int
	Addr      netip.Addr
	MAC       wire.MAC // zero if incomplete
	State     NeighbourState
	Confirmed unit.Time // last, if reachable
	Waiting   int       // frames
}

// NeighbourState is what is known of a neighbour, in the words of RFC 4861 section 7.3.2.
type NeighbourState uint8

// The states.
const (
	Incomplete NeighbourState = iota
	Reachable
	Probe
	Permanent // static
)

var stateNames = [...]string{"incomplete", "reachable", "probe", "permanent"}

func (s NeighbourState) String() string { return stateNames[s] }

// Len is the number of entries, those included that are too old but still in their place.
func (n *Neighbours) Len() int { return len(n.entries) - len(n.free) }

// Held is how many frames wait.
func (n *Neighbours) Held() int { return n.held }

// Walk calls fn with every entry that is not too old.
func (n *Neighbours) Walk(now unit.Time, fn func(Neighbour)) {
	for i := range n.entries {
		e := &n.entries[i]
		if !n.used(int32(i)) || (e.known && !e.asking && n.tooOld(now, e)) {
			continue
		}
		out := Neighbour{Interface: e.key.on, Addr: e.key.addr, MAC: e.mac,
			Confirmed: e.confirmed, Waiting: e.waiting.Len()}
		switch {
		case e.static:
			out.State = Permanent
		case e.known && e.asking:
			out.State = Probe
		case e.known:
			out.State = Reachable
		default:
			out.MAC, out.Confirmed = wire.MAC{}, 0
		}
		fn(out)
	}
}
