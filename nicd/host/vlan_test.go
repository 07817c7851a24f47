package host

import (
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/tests/require"
)

// Addresses of VLAN devices belong to their VLAN; those of others, or not yet usable, to nobody.
func TestDescribe(t *testing.T) {
	vlan := func(index, parent, id int, p netlink.VlanProtocol) netlink.Link {
		return &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Index: index, ParentIndex: parent,
			Name: "vlan" + string(rune('0'+index))}, VlanId: id, VlanProtocol: p}
	}
	main := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Index: 3, Name: "eth0", MTU: 9000,
		OperState: netlink.OperUp, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}}}
	links := []netlink.Link{main, vlan(4, 3, 100, netlink.VLAN_PROTOCOL_8021Q),
		vlan(5, 3, 200, netlink.VLAN_PROTOCOL_8021AD), vlan(6, 9, 300, netlink.VLAN_PROTOCOL_8021Q)}
	addr := func(index int, ip string, flags int) netlink.Addr {
		return netlink.Addr{LinkIndex: index, Flags: flags,
			IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(24, 32)}}
	}
	d := describe(main, links, []netlink.Addr{addr(3, "10.0.0.1", 0), addr(4, "10.1.0.1", 0),
		addr(5, "10.2.0.1", 0), addr(6, "10.3.0.1", 0), addr(7, "10.4.0.1", 0),
		addr(3, "fd00::1", unix.IFA_F_TENTATIVE), addr(4, "fd01::1", unix.IFA_F_PERMANENT),
		addr(3, "fd00::2", unix.IFA_F_DADFAILED)})
	want := []Address{{netip.MustParseAddr("10.0.0.1"), 0, "eth0", 3},
		{netip.MustParseAddr("10.1.0.1"), 100, "vlan4", 4},
		{netip.MustParseAddr("fd01::1"), 100, "vlan4", 4}}
	if !slices.Equal(d.Addresses, want) {
		t.Errorf("%+v, want %+v", d.Addresses, want)
	}
	if !d.Up || d.PathMTU() != 4096 || d.MAC.String() != "02:00:00:00:00:01" {
		t.Errorf("%+v", d.State)
	}
}

// VLAN devices that come and go at run time, and routes that lead by them.
func TestVLANDevices(t *testing.T) {
	r := newRig(t)
	err := exec.Command("ip", "-n", r.far, "link", "add", "link", "eth0", "name", "eth0.100",
		"type", "vlan", "id", "100").Run()
	require.Feature(t, "vlan", err == nil, "the kernel has no VLAN devices (CONFIG_VLAN_8021Q)")
	r.ip(r.far, "link set eth0.100 up")
	r.ip(r.far, "addr add 10.100.0.2/24 dev eth0.100")
	r.follow()
	r.ip(r.ours, "link add link eth0 name v type vlan id 100")
	r.ip(r.ours, "link set v up")
	r.ip(r.ours, "addr add 10.100.0.1/24 dev v")
	r.until("an address of a VLAN", r.has("10.100.0.1", 100))

	r.ip(r.ours, "route add 10.3.0.0/16 via 10.100.0.2")
	for _, dst := range []string{"10.100.0.2", "10.3.0.9", "fe80::ff:fe00:b%v"} {
		p, err := r.resolve(dst, "")
		if err != nil || p.VLAN != (ib.VLAN{ID: 100, Tagged: true}) || p.MAC.String() != farMAC {
			t.Errorf("%s: %+v, %v", dst, p, err)
		}
	}
	if p, err := r.resolve("10.1.0.2", "10.100.0.1"); err == nil {
		t.Errorf("from the VLAN to who is not on it: %+v", p)
	}
	r.ip(r.ours, "link del v")
	r.until("the VLAN is gone", func() bool { return !r.has("10.100.0.1", 100)() })
}
