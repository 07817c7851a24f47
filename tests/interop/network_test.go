package interop

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/netspace"
)

// Addresses of every station; each is in a namespace of its own.
const (
	ourMAC   = "02:00:00:00:00:fe"
	guestMAC = "02:00:00:00:00:01"
	ours4    = "10.9.0.254"
	guest4   = "10.9.0.1"
	ours6    = "fd09::fe"
	guest6   = "fd09::1"
)

// ends are the addresses of both sides for some traffic.
type ends struct{ ours, guest string }

var (
	four = ends{ours4, guest4}
	six  = ends{ours6, guest6}
)

// maxMTU is what the TAP carries; eth0 on either side is what bounds frames.
const maxMTU = 9000

// makeNetwork builds a station's network in a namespace and returns the TAP, which lives as long as
// somebody has it open.
func makeNetwork(space string, mtu int) (tap *os.File, err error) {
	if err := netspace.Create(space); err != nil {
		return nil, err
	}
	err = netspace.Do(space, func() error {
		tap, err = addLinks(mtu)
		return err
	})
	if err != nil {
		_ = removeNetwork(space) // the other error says what is wrong
		return nil, fmt.Errorf("network of %s: %w", space, err)
	}
	return tap, nil
}

func removeNetwork(space string) error { return netns.DeleteNamed(space) }

// addLinks makes the links in the current namespace. The bridge is no part of an emulated link, so
// that it swallows PFC frames is no loss: rxe neither sends nor obeys them.
func addLinks(mtu int) (*os.File, error) {
	bridge := &netlink.Bridge{LinkAttrs: attributes("br", 0)}
	tap := &netlink.Tuntap{LinkAttrs: attributes("tap0", 0), Mode: netlink.TUNTAP_MODE_TAP,
		Flags: netlink.TUNTAP_NO_PI, NonPersist: true, Queues: 1}
	mac, err := net.ParseMAC(ourMAC)
	if err != nil {
		return nil, err
	}
	veth := &netlink.Veth{LinkAttrs: attributes("eth0", mtu), PeerName: "port"}
	veth.HardwareAddr = mac
	for _, l := range []netlink.Link{bridge, tap, veth} {
		if err := netlink.LinkAdd(l); err != nil {
			return nil, fmt.Errorf("add %s: %w", l.Attrs().Name, err)
		}
	}
	for _, name := range []string{"tap0", "port", "br", "eth0", "lo"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return nil, err
		}
		if name == "tap0" || name == "port" {
			if err := netlink.LinkSetMaster(link, bridge); err != nil {
				return nil, fmt.Errorf("%s into the bridge: %w", name, err)
			}
		}
		if name == "tap0" { // which gets none of the attributes when it is made
			if err := widen(link); err != nil {
				return nil, err
			}
		}
		if err := quiet(name, name == "eth0"); err != nil {
			return nil, err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return nil, fmt.Errorf("%s up: %w", name, err)
		}
	}
	return tap.Fds[0], addAddresses()
}

func attributes(name string, mtu int) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name, a.MTU = name, mtu
	return a
}

// widen lets a device carry every frame, and hold what the NIC sends at once until the guest has
// time for it.
func widen(link netlink.Link) error {
	if err := netlink.LinkSetMTU(link, maxMTU); err != nil {
		return fmt.Errorf("MTU of %s: %w", link.Attrs().Name, err)
	}
	if err := netlink.LinkSetTxQLen(link, 10_000); err != nil {
		return fmt.Errorf("queue of %s: %w", link.Attrs().Name, err)
	}
	return nil
}

// quiet stops the kernel from speaking IPv6 where it has no address, from answering ARP there for
// an address of another device (the bridge would take the NIC's packets), and from asking whether
// anybody has ours.
func quiet(name string, addressed bool) error {
	set := map[string]string{"ipv6/conf/" + name + "/disable_ipv6": "1",
		"ipv4/conf/" + name + "/arp_ignore": "1"}
	if addressed {
		set = map[string]string{"ipv6/conf/" + name + "/accept_dad": "0"}
	}
	for key, value := range set {
		if err := os.WriteFile("/proc/sys/net/"+key, []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func addAddresses() error {
	eth0, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	for _, text := range []string{ours4 + "/24", ours6 + "/64"} {
		addr, err := netlink.ParseAddr(text)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(eth0, addr); err != nil {
			return fmt.Errorf("address %s: %w", text, err)
		}
	}
	return nil
}
