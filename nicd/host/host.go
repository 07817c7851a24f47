package host

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Options say what to follow and whom to tell. The functions may be nil; they are called one at a
// time, and may not call Resolve.
type Options struct {
	Netns  string // name of the namespace; the current one if empty
	Device string // name of the device
	Log    *slog.Logger
	// Changed is told of the device's state, at first and after each change.
	Changed func(State)
	// Peers lists the peers in use, with where each is sent to at present.
	Peers func() []Peer
	// Moved is told of a peer in use whose path is another one now, Lost of one that has none any
	// more, and why.
	Moved func(Peer, Path)
	Lost  func(Peer, error)
}

// Peer is somebody whom we send to from one of our addresses.
type Peer struct {
	Source netip.Addr `json:"source"`
	IP     netip.Addr `json:"ip"`
	MAC    wire.MAC   `json:"mac"`  // to which packets go
	VLAN   uint16     `json:"vlan"` // by which they go; 0 is untagged
	Lost   bool       `json:"lost"` // there is no path at present
}

// ends are what makes a peer another one.
type ends struct{ source, ip netip.Addr }

// Host follows a device. Make it with Follow. It may be used by several goroutines.
type Host struct {
	opts    Options
	handle  *netlink.Handle   // for links, addresses and routes
	single  *nl.NetlinkSocket // for one neighbour, which Handle does not ask for
	events  *nl.NetlinkSocket
	done    chan struct{}
	ended   sync.WaitGroup
	closing sync.Once

	using  sync.RWMutex // of the sockets by Resolve: whoever closes them has it alone
	closed bool         // they are

	asking sync.Mutex // of single
	seq    nl.SocketHandle

	looking sync.Mutex // of what follows, and around calls of Options' functions
	device  device
	told    bool
	hops    map[ends]netip.Addr // of the peers in use, as last seen

	news news
}

// groups are the events that may change a path.
var groups = []uint{unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH,
	unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV4_RULE,
	unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV6_RULE}

// Follow begins to follow a device, which must be there, and tells its state before it returns.
// Close ends it.
func Follow(o Options) (*Host, error) {
	h := &Host{opts: o, done: make(chan struct{})}
	h.news.init()
	if err := netspace.Do(o.Netns, h.open); err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	h.seq.Socket = h.single
	if _, err := h.look(); err != nil {
		h.events.Close()
		h.closeQuestions()
		return nil, err
	}
	h.ended.Go(h.read)
	h.ended.Go(h.follow)
	return h, nil
}

// open makes the sockets, which stay in the namespace of the caller's thread.
func (h *Host) open() (err error) {
	// Events first: what changes behind this line is seen.
	if h.events, err = nl.Subscribe(unix.NETLINK_ROUTE, groups...); err != nil {
		return err
	}
	if h.single, err = nl.Subscribe(unix.NETLINK_ROUTE); err != nil {
		h.events.Close()
		return err
	}
	if h.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		h.events.Close()
		h.single.Close()
	}
	return err
}

// Used tells that there are peers in use which there were not before. Their paths are looked at
// once more: they may have changed since Resolve.
func (h *Host) Used() { h.news.note(func() {}) }

// Close ends the following and waits for it. Resolve fails from then on. It may be called twice.
func (h *Host) Close() {
	h.closing.Do(func() {
		close(h.done)
		h.events.Close() // read ends with that, follow and Resolve with done
		h.ended.Wait()
		h.using.Lock()
		defer h.using.Unlock()
		h.closed = true
		h.closeQuestions()
	})
}

// closeQuestions closes the sockets that we ask by. A handle that is closed would go on with new
// sockets, in whatever namespace its caller happens to be.
func (h *Host) closeQuestions() {
	h.single.Close()
	h.handle.Close()
}

// State is the device as it was last seen.
func (h *Host) State() State {
	h.looking.Lock()
	defer h.looking.Unlock()
	return h.device.State
}
