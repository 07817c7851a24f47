package lab

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/netspace"
)

// network is what a lab made in the kernel.
type network struct{ spaces []string }

// build makes the namespaces, links and addresses of t. On failure what it made is left in n for
// remove.
func (n *network) build(t *Topology) error {
	for _, node := range t.Nodes {
		if err := n.addNamespace(t.netns(node.Name)); err != nil {
			return err
		}
	}
	for i, l := range t.Links {
		if err := addVeth(t, i, l); err != nil {
			return err
		}
	}
	for _, node := range t.Nodes {
		if err := netspace.Do(
			t.netns(node.Name),
			func() error { return t.setUp(node) },
		); err != nil {
			return fmt.Errorf("%s: %w", node.Name, err)
		}
	}
	return nil
}

func (t *Topology) netns(node string) string { return t.Name + "-" + node }

// hardwareAddr gives the devices of a lab fixed, locally administered addresses.
func hardwareAddr(link, end int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0x72, byte(end), 0, byte(link >> 8), byte(link)}
}

func (n *network) addNamespace(name string) error {
	if _, err := os.Lstat(filepath.Join("/run/netns", name)); err == nil {
		return fmt.Errorf(
			"network namespace %s exists already; remove it (ip netns del %s) or name the "+
				"lab differently",
			name,
			name,
		)
	}
	living.Lock()
	defer living.Unlock()
	if err := netspace.Create(name); err != nil {
		return err
	}
	n.spaces = append(n.spaces, name)
	return nil
}

// remove deletes everything build made; devices go with their namespaces.
func (n *network) remove() error {
	living.Lock()
	defer living.Unlock()
	return n.delete()
}

// delete is remove for who has the lock of the living.
func (n *network) delete() error {
	var all []error
	for _, name := range n.spaces {
		if err := netns.DeleteNamed(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = append(all, fmt.Errorf("remove network namespace %s: %w", name, err))
		}
	}
	n.spaces = nil
	return errors.Join(all...)
}

func addVeth(t *Topology, i int, l Link) error {
	a, b := l.Endpoints[0], l.Endpoints[1]
	nsA, err := netns.GetFromName(t.netns(a.Node))
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", t.netns(a.Node), err)
	}
	defer nsA.Close()
	nsB, err := netns.GetFromName(t.netns(b.Node))
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", t.netns(b.Node), err)
	}
	defer nsB.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr, attrs.Namespace = a.Device, hardwareAddr(
		i,
		0,
	), netlink.NsFd(
		nsA,
	)
	attrs.MTU = t.LinkMTU(&l)
	err = netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: b.Device,
		PeerHardwareAddr: hardwareAddr(i, 1), PeerNamespace: netlink.NsFd(nsB)})
	if err != nil {
		return fmt.Errorf("create veth %v - %v: %w", a, b, err)
	}
	return netspace.Do(t.netns(b.Node), func() error {
		dev, err := netlink.LinkByName(b.Device)
		if err != nil {
			return err
		}
		return netlink.LinkSetMTU(dev, t.LinkMTU(&l))
	})
}

// LinkMTU is the MTU in bytes of a link's devices.
func (t *Topology) LinkMTU(l *Link) int { return cmp.Or(l.MTU, t.MTU, daemon.DefaultMTU) }

// setUp brings up the devices of a node; the caller is in its namespace.
func (t *Topology) setUp(node Node) error {
	if err := up("lo"); err != nil {
		return err
	}
	for _, l := range t.linksOf(node.Name) {
		name := l.Endpoints[0].Device
		if err := quiet(name); err != nil {
			return err
		}
		if err := up(name); err != nil {
			return err
		}
		if node.Kind != Host {
			continue
		}
		dev, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: node.IPv4.Addr().AsSlice(),
			Mask: net.CIDRMask(node.IPv4.Bits(), 32)}}
		if err := netlink.AddrAdd(dev, addr); err != nil {
			return fmt.Errorf("device %s: add address %v: %w", name, node.IPv4, err)
		}
		if gateway, _, ok := t.gateway(node); ok {
			route := &netlink.Route{LinkIndex: dev.Attrs().Index, Gw: gateway.AsSlice()}
			if err := netlink.RouteAdd(route); err != nil {
				return fmt.Errorf("device %s: default route by %v: %w", name, gateway, err)
			}
		}
	}
	return nil
}

func up(name string) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("device %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(dev); err != nil {
		return fmt.Errorf("device %s: set up: %w", name, err)
	}
	return nil
}

// quiet stops what the kernel would send by itself (IPv6 neighbour discovery), and has it complete
// checksums, segments and VLAN tags itself: an AF_XDP socket would see them unfinished.
func quiet(name string) error {
	path := filepath.Join("/proc/sys/net/ipv6/conf", name, "disable_ipv6")
	if err := os.WriteFile(
		path,
		[]byte("1"),
		0o644,
	); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("device %s: disable IPv6: %w", name, err)
	}
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("ethtool: %w", err)
	}
	defer e.Close()
	err = e.Change(name, map[string]bool{"tx-checksum-ip-generic": false,
		"tx-generic-segmentation": false, "tx-tcp-segmentation": false,
		"tx-vlan-hw-insert": false, "tx-vlan-stag-hw-insert": false})
	if err != nil {
		return fmt.Errorf("device %s: turn off transmit offloads: %w", name, err)
	}
	return nil
}
