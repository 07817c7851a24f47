package host

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// neighbour asks for one entry of the neighbour table (RTM_GETNEIGH without a dump, kernel 5.0).
func (h *Host) neighbour(device int, ip netip.Addr) (n neighbour, err error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETNEIGH, 0)
	req.AddData(&netlink.Ndmsg{Family: uint8(family(ip)), Index: uint32(device)})
	req.AddData(nl.NewRtAttr(netlink.NDA_DST, ip.AsSlice()))
	h.asking.Lock()
	req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: &h.seq}
	all, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEIGH)
	h.asking.Unlock()
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV):
		return n, nil
	case err != nil:
		return n, fmt.Errorf("look up neighbour %v: %w", ip, err)
	case len(all) == 0:
		return n, nil
	}
	e, err := netlink.NeighDeserialize(all[0])
	if err != nil {
		return n, fmt.Errorf("neighbour %v: %w", ip, err)
	}
	n.state = e.State
	if len(e.HardwareAddr) == len(n.mac) {
		n.mac = wire.MAC(e.HardwareAddr)
	}
	return n, nil
}

// ask has the kernel do with a neighbour what it does when it sends to it: find it, or check a
// stale one. NTF_USE, as `ip neigh replace ... use`.
func (h *Host) ask(device int, ip netip.Addr) error {
	err := h.handle.NeighSet(&netlink.Neigh{LinkIndex: device, Family: family(ip),
		IP: ip.AsSlice(), Flags: netlink.NTF_USE})
	if err != nil {
		return fmt.Errorf("ask for neighbour %v: %w", ip, err)
	}
	return nil
}

func family(ip netip.Addr) int {
	if ip.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}
