package lab

import (
	"fmt"
	"net"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/netspace"
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
			return broadcastARP(device, mac, ip.AsSlice())
		})
		if err != nil {
			return fmt.Errorf("%s: announce %v: %w", n.Name, ip, err)
		}
	}
	return nil
}

// GratuitousARP is the frame by which a host tells everybody its address.
func GratuitousARP(mac net.HardwareAddr, ip []byte) ([]byte, error) {
	everybody := net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{},
		&layers.Ethernet{SrcMAC: mac, DstMAC: everybody, EthernetType: layers.EthernetTypeARP},
		&layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4,
			HwAddressSize: 6, ProtAddressSize: 4, Operation: layers.ARPRequest,
			SourceHwAddress: mac, SourceProtAddress: ip,
			DstHwAddress: make([]byte, 6), DstProtAddress: ip})
	return buf.Bytes(), err
}

func broadcastARP(device string, mac net.HardwareAddr, ip []byte) error {
	announcement, err := GratuitousARP(mac, ip)
	if err != nil {
		return err
	}
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return fmt.Errorf("packet socket: %w", err)
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, announcement, 0, &unix.SockaddrLinklayer{Ifindex: dev.Index})
}
