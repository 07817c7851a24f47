package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// Resolve asks the kernel how it would send to dst, from source or, if that is invalid, from the
// address it prefers. If the neighbour on the way is not known the kernel is asked to find it,
// and Resolve waits for that until ctx ends. A link-local dst may name its device as the zone.
// Errors: ErrNoDevice, ErrNoRoute, ErrElsewhere, ErrNoAddress, ErrUnreachable, those of ctx, and
// what netlink says.
func (h *Host) Resolve(ctx context.Context, dst, source netip.Addr) (Path, error) {
	h.using.RLock()
	defer h.using.RUnlock()
	if h.closed {
		return Path{}, fmt.Errorf("path to %v: %w", dst, net.ErrClosed)
	}
	p, err := h.resolve(ctx, dst.Unmap(), source.Unmap())
	if err != nil {
		return Path{}, fmt.Errorf("path to %v: %w", dst, err)
	}
	return p, nil
}

func (h *Host) resolve(ctx context.Context, dst, source netip.Addr) (Path, error) {
	// What we answer, the machine must know: addresses are looked at first, and told.
	d, err := h.look()
	if err != nil {
		return Path{}, err
	}
	p, index, err := h.route(&d, dst, source)
	if err != nil {
		return Path{}, err
	}
	for asked := false; ; {
		event := h.news.next()
		n, err := h.neighbour(index, p.Hop)
		if err != nil {
			return Path{}, err
		}
		switch {
		case n.usable():
			p.MAC = n.mac
			return p, nil
		case asked && n.failed():
			return Path{}, fmt.Errorf("%w %v", ErrUnreachable, p.Hop)
		case !asked:
			asked = true
			if err := h.ask(index, p.Hop); err != nil {
				return Path{}, err
			}
			continue // it may be known by now
		}
		select {
		case <-event:
		case <-ctx.Done():
			return Path{}, fmt.Errorf("neighbour %v: %w", p.Hop, ctx.Err())
		case <-h.done:
			return Path{}, net.ErrClosed
		}
	}
}

// route is how the kernel would send to dst: all of the path but the MAC address, and the number
// of the device.
func (h *Host) route(d *device, dst, source netip.Addr) (Path, int, error) {
	var from Address
	if source.IsValid() {
		var ok bool
		if from, ok = d.owner(source); !ok {
			return Path{}, 0, fmt.Errorf("from %v: %w", source, ErrNoAddress)
		}
	}
	device, err := h.zone(d, dst, from)
	if err != nil {
		return Path{}, 0, err
	}
	r, err := h.get(dst, source, device, false)
	if _, ours := d.vlans[r.LinkIndex]; device == 0 && from.Index != 0 && (err != nil || !ours) {
		// A host may have better ways than this device, but RDMA goes by the device of its
		// address, as rxe's does (flowi4_oif in drivers/infiniband/sw/rxe/rxe_net.c). The kernel
		// takes a host for its neighbour if no route leads out of a device: only what an entry of
		// its tables covers counts.
		if _, e := h.get(dst, source, from.Index, true); e == nil {
			r, err = h.get(dst, source, from.Index, false)
		}
	}
	if err != nil {
		return Path{}, 0, err
	}
	if source.IsValid() {
		r.Src = source.AsSlice() // the kernel tells only what we do not
	}
	p, err := d.path(dst.WithZone(""), &r)
	if err == nil && from.Index != 0 && from.VLAN != p.VLAN.ID {
		err = fmt.Errorf("from %v: %w", source, ErrElsewhere)
	}
	return p, r.LinkIndex, err
}

// zone is the device that dst itself tells: a link-local address is one of a link.
func (h *Host) zone(d *device, dst netip.Addr, from Address) (int, error) {
	if !dst.IsLinkLocalUnicast() || dst.Is4() {
		return 0, nil
	}
	if from.Index != 0 && dst.Zone() == "" {
		return from.Index, nil
	}
	if dst.Zone() == "" {
		return d.Index, nil
	}
	for _, a := range d.Addresses {
		if a.Device == dst.Zone() {
			return a.Index, nil
		}
	}
	return 0, fmt.Errorf("%s: %w", dst.Zone(), ErrElsewhere)
}

// get is `ip route get dst [from source] [oif device]`, or its fibmatch.
func (h *Host) get(dst, source netip.Addr, device int, match bool) (r netlink.Route, err error) {
	o := &netlink.RouteGetOptions{OifIndex: device, FIBMatch: match}
	if source.IsValid() {
		o.SrcAddr = source.AsSlice()
	}
	all, err := h.handle.RouteGetWithOptions(dst.AsSlice(), o)
	var errno unix.Errno
	switch {
	case errors.As(err, &errno):
		return r, fmt.Errorf("%w (%w)", ErrNoRoute, errno)
	case err != nil:
		return r, fmt.Errorf("look up route: %w", err)
	case len(all) == 0 || all[0].Type != unix.RTN_UNICAST && all[0].Type != unix.RTN_LOCAL:
		return r, ErrNoRoute
	}
	return all[0], nil
}

// path takes a route over this device for what we need of it.
func (d *device) path(dst netip.Addr, r *netlink.Route) (p Path, err error) {
	vlan, ours := d.vlans[r.LinkIndex]
	if !ours || r.Type == unix.RTN_LOCAL {
		return p, ErrElsewhere
	}
	src, ok := netip.AddrFromSlice(r.Src)
	if !ok {
		return p, ErrNoAddress
	}
	p = Path{Source: src.Unmap(), Hop: dst, MTU: d.MTU,
		VLAN: ib.VLAN{ID: vlan, Tagged: vlan != 0}}
	if r.MTU != 0 {
		p.MTU = min(r.MTU, d.MTU)
	}
	if gw, ok := netip.AddrFromSlice(r.Gw); ok {
		p.Hop = gw.Unmap()
	}
	if via, ok := r.Via.(*netlink.Via); ok { // IPv4 by an IPv6 router, RFC 5549
		if gw, ok := netip.AddrFromSlice(via.Addr); ok {
			p.Hop = gw
		}
	}
	if _, ok := d.owner(p.Source); !ok {
		return p, fmt.Errorf("from %v: %w", p.Source, ErrNoAddress)
	}
	return p, nil
}

// neighbour is an entry of the kernel's neighbour table; zero if there is none.
type neighbour struct {
	state int
	mac   wire.MAC
}

// usable reports whether a packet may be sent to the address. STALE is good until proven wrong:
// RFC 4861 7.3.2.
func (n neighbour) usable() bool {
	return n.state&(netlink.NUD_REACHABLE|netlink.NUD_STALE|netlink.NUD_DELAY|
		netlink.NUD_PROBE|netlink.NUD_PERMANENT|netlink.NUD_NOARP) != 0
}

func (n neighbour) failed() bool { return n.state&netlink.NUD_FAILED != 0 }
