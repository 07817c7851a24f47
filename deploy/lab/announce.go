package lab

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// announce has every host broadcast a gratuitous ARP (RFC 5227 section 3), as a host does when its
// link comes up, so that the switches know where everybody is before the first packet.
func (l *Lab) announce() error {
	for _, n := range l.Topology.Nodes {
		if n.Kind != Host {
			continue
		}
		device := l.Topology.linksOf(n.Name)[0].Endpoints[0].Device
		ip, mac := l.Topology.Address(n.Name)
		err := netspace.Do(l.Topology.netns(n.Name), func() error {
			return send(device, GratuitousARP(wire.MAC(mac), ip))
		})
		if err != nil {
			return fmt.Errorf("%s: announce %v: %w", n.Name, ip, err)
		}
	}
	return nil
}

// GratuitousARP is the frame by which a host tells everybody its address.
func GratuitousARP(mac wire.MAC, ip netip.Addr) []byte {
	b := wire.ARPFrame(wire.ARPRequest, wire.Broadcast, wire.Station{MAC: mac, IP: ip.As4()},
		wire.Station{IP: ip.As4()})
	return b[:wire.EthernetLen+wire.ARPLen] // the kernel does not pad
}

// send lets the kernel send a frame on a device.
func send(device string, b []byte) error {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, b, 0, &unix.SockaddrLinklayer{Ifindex: dev.Index})
}
