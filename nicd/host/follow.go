package host

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// news is what events told since somebody last looked.
type news struct {
	mu         sync.Mutex
	device     bool // links or addresses
	routes     bool // routes or rules, or anything
	neighbours map[netip.Addr]bool
	heard      chan struct{} // has room for one: there are news
	changed    chan struct{} // closed and made anew at each event of a neighbour
}

func (n *news) init() {
	n.neighbours = map[netip.Addr]bool{}
	n.heard, n.changed = make(chan struct{}, 1), make(chan struct{})
}

// next is a channel that is closed when a neighbour changes.
func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// note changes the news and tells those who wait.
func (n *news) note(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn()
	close(n.changed)
	n.changed = make(chan struct{})
	select {
	case n.heard <- struct{}{}:
	default: // told already
	}
}

// take empties the news.
func (n *news) take() (device, routes bool, neighbours map[netip.Addr]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	device, routes, neighbours = n.device, n.routes, n.neighbours
	n.device, n.routes, n.neighbours = false, false, map[netip.Addr]bool{}
	return device, routes, neighbours
}

// read takes events from the kernel until Close.
func (h *Host) read() {
	for {
		messages, from, err := h.events.Receive()
		select {
		case <-h.done:
			return
		default:
		}
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			// ENOBUFS: there were more events than the socket holds. Which, nobody knows.
			h.opts.Log.Debug("events of the kernel were lost; looking at everything", "reason", err)
			h.news.note(func() { h.news.device, h.news.routes = true, true })
		case from.Pid == nl.PidKernel:
			h.news.note(func() {
				for i := range messages {
					h.news.hear(&messages[i])
				}
			})
		}
	}
}

// hear notes one event.
func (n *news) hear(m *syscall.NetlinkMessage) {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK, unix.RTM_NEWADDR, unix.RTM_DELADDR:
		n.device, n.routes = true, true
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		e, err := netlink.NeighDeserialize(m.Data)
		if err != nil {
			n.routes = true
			return
		}
		if ip, ok := netip.AddrFromSlice(e.IP); ok {
			n.neighbours[ip.Unmap()] = true
		}
	default:
		n.routes = true
	}
}

// follow looks again whenever there are news.
func (h *Host) follow() {
	for {
		select {
		case <-h.done:
			return
		case <-h.news.heard:
		}
		device, routes, neighbours := h.news.take()
		if err := h.again(device, routes, neighbours); err != nil {
			select {
			case <-h.done: // of course
			default:
				h.opts.Log.Warn("the kernel's view of the device is not known", "reason", err)
			}
		}
	}
}

// again looks at what the news are about.
func (h *Host) again(device, routes bool, neighbours map[netip.Addr]bool) error {
	h.looking.Lock()
	defer h.looking.Unlock()
	if device {
		if _, err := h.lookLocked(); err != nil {
			return err
		}
	}
	if h.opts.Peers == nil {
		return nil
	}
	var all error
	before := h.hops
	h.hops = make(map[ends]netip.Addr)
	for _, p := range h.opts.Peers() {
		at := ends{p.Source, p.IP}
		hop, known := before[at]
		if known && !routes && !neighbours[hop] {
			h.hops[at] = hop
			continue
		}
		if hop, err := h.recheck(p); err != nil {
			all = errors.Join(all, err)
		} else {
			h.hops[at] = hop
		}
	}
	return all
}

// recheck looks up the path to a peer that is sent to, and returns its next hop, if it has one.
func (h *Host) recheck(p Peer) (hop netip.Addr, err error) {
	path, index, err := h.route(&h.device, p.IP, p.Source)
	if err != nil {
		h.lost(p, err)
		return hop, nil
	}
	n, err := h.neighbour(index, path.Hop)
	if err != nil {
		return hop, err
	}
	path.MAC = n.mac
	switch {
	case n.usable() && (p.Lost || path.MAC != p.MAC || path.VLAN.ID != p.VLAN):
		h.moved(p, path)
	case n.failed():
		h.lost(p, fmt.Errorf("%w %v", ErrUnreachable, path.Hop))
	}
	// Our packets do not pass the kernel, which would check a stale neighbour when it sends to it
	// and forget one that it does not (RFC 4861 7.3.2). So it is told that the neighbour is in
	// use. One that fails is asked for again, which the kernel does once in three seconds.
	if n.state&(netlink.NUD_STALE|netlink.NUD_FAILED) != 0 || n.state == netlink.NUD_NONE {
		err = h.ask(index, path.Hop)
	}
	return path.Hop, err
}

func (h *Host) moved(p Peer, to Path) {
	if h.opts.Moved != nil {
		h.opts.Moved(p, to)
	}
}

func (h *Host) lost(p Peer, why error) {
	if h.opts.Lost != nil && !p.Lost {
		h.opts.Lost(p, why)
	}
}
