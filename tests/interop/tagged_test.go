package interop

import (
	"fmt"
	"net"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/rocelab/rocelab/dataplane/netspace"
)

// A VLAN between the two: a device of the guest's kernel, and an address of the NIC.
const (
	oursVLAN  = "10.9.100.254"
	guestVLAN = "10.9.100.1"
	addVLAN   = `ip link add link eth0 name vlan type vlan id 100
ip addr add ` + guestVLAN + `/24 dev vlan
ip link set vlan up
ip neigh add ` + oursVLAN + ` lladdr ` + ourMAC + ` dev vlan`
)

// Every RoCE packet is tagged, in both directions; what goes ahead of them over TCP is not. The
// machine's kernel need not know VLANs: it tells the way to the guest as if there were none, and
// the NIC's configuration says that its address is on one.
func TestTagged(t *testing.T) {
	s := at(t, 1500)
	s.sh(t, addVLAN)
	t.Cleanup(func() { s.sh(t, "ip link del vlan") })
	if err := netspace.Do(s.space, knowTagged); err != nil {
		t.Fatal(err)
	}
	if err := s.nicd.stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.vlan = 0
		if err := s.nicd.stop(); err != nil {
			t.Error(err)
		}
		if err := s.startNIC(within(t, stepTime), usual); err != nil {
			t.Error(err)
		}
	})
	ctx := within(t, stepTime)
	if err := s.startNIC(ctx, onTagged); err != nil {
		t.Fatal(err)
	}
	s.vlan = 100
	if err := s.await(ctx, func() (err error) {
		s.gids, err = readGIDs(ctx, s.guest)
		if _, found := s.gids[guestVLAN]; err == nil && !found {
			err = fmt.Errorf("rxe has no GID of %s: %v", guestVLAN, s.gids)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	all := []tool{perftest("write_bw", "-n 40 -s 10001"+patient, false),
		perftest("send_lat", "-n 40 -s 10001"+patient, false), pings()[0]}
	for i := range all {
		all[i].packets = ends{oursVLAN, guestVLAN}
	}
	s.tools(t, all)
}

// knowTagged makes the kernel of this namespace know the way to the guest's address on the VLAN.
func knowTagged() error {
	eth0, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(oursVLAN + "/24")
	if err != nil {
		return err
	}
	if err := netlink.AddrReplace(eth0, addr); err != nil {
		return err
	}
	mac, err := net.ParseMAC(guestMAC)
	if err != nil {
		return err
	}
	return netlink.NeighSet(&netlink.Neigh{LinkIndex: eth0.Attrs().Index,
		State: netlink.NUD_PERMANENT, IP: net.ParseIP(guestVLAN), HardwareAddr: mac})
}
