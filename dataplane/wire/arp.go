package wire

import (
	"encoding/binary"
	"net/netip"
)

// ARPLen is the length of an ARP packet between Ethernet and IPv4 addresses.
const ARPLen = 28

// ARP is a view of an ARP packet that maps IPv4 addresses to Ethernet's. RFC 826.
type ARP [ARPLen]byte

// The operations. RFC 826.
const (
	ARPRequest uint16 = 1
	ARPReply   uint16 = 2
)

// arpIPv4 is the first six bytes of a packet: hardware type Ethernet, protocol type IPv4, and the
// lengths of their addresses.
const arpIPv4 = 1<<32 | uint64(TypeIPv4)<<16 | 6<<8 | 4

// AsARP views the first bytes of b; false if there are too few, or if they map other addresses
// than IPv4's to others than Ethernet's.
func AsARP(b []byte) (*ARP, bool) {
	if len(b) < ARPLen || binary.BigEndian.Uint64(b[:8])>>16 != arpIPv4 {
		return nil, false
	}
	return (*ARP)(b), true
}

// Init sets types and lengths and clears everything else.
func (h *ARP) Init() {
	*h = ARP{}
	binary.BigEndian.PutUint64(h[:8], arpIPv4<<16)
}

// Operation is ARPRequest or ARPReply.
func (h *ARP) Operation() uint16 { return binary.BigEndian.Uint16(h[6:8]) }

// SetOperation sets the operation.
func (h *ARP) SetOperation(op uint16) { binary.BigEndian.PutUint16(h[6:8], op) }

// SenderMAC is the sender's hardware address.
func (h *ARP) SenderMAC() MAC { return MAC(h[8:14]) }

// SetSenderMAC sets the sender's hardware address.
func (h *ARP) SetSenderMAC(m MAC) { copy(h[8:14], m[:]) }

// SenderIP is the sender's protocol address.
func (h *ARP) SenderIP() [4]byte { return [4]byte(h[14:18]) }

// SetSenderIP sets the sender's protocol address.
func (h *ARP) SetSenderIP(a [4]byte) { copy(h[14:18], a[:]) }

// TargetMAC is the target's hardware address, which a request leaves open.
func (h *ARP) TargetMAC() MAC { return MAC(h[18:24]) }

// SetTargetMAC sets the target's hardware address.
func (h *ARP) SetTargetMAC(m MAC) { copy(h[18:24], m[:]) }

// TargetIP is the target's protocol address.
func (h *ARP) TargetIP() [4]byte { return [4]byte(h[24:28]) }

// SetTargetIP sets the target's protocol address.
func (h *ARP) SetTargetIP(a [4]byte) { copy(h[24:28], a[:]) }

// Station is a station as ARP knows it.
type Station struct {
	MAC MAC
	IP  [4]byte
}

// ARPFrame is an ARP packet from sender about target in a frame to dst, padded as a MAC does.
func ARPFrame(op uint16, dst MAC, sender, target Station) (b [MinFrame]byte) {
	eth, arp := (*Ethernet)(b[:]), (*ARP)(b[EthernetLen:])
	eth.SetDst(dst)
	eth.SetSrc(sender.MAC)
	eth.SetType(TypeARP)
	arp.Init()
	arp.SetOperation(op)
	arp.SetSenderMAC(sender.MAC)
	arp.SetSenderIP(sender.IP)
	arp.SetTargetMAC(target.MAC)
	arp.SetTargetIP(target.IP)
	return b
}

// AsksFor reports whether a frame, which has no tag, is an ARP request for the MAC address of ip.
func AsksFor(b []byte, ip netip.Addr) bool {
	eth, ok := AsEthernet(b)
	if !ok || eth.Type() != TypeARP || !ip.Is4() {
		return false
	}
	arp, ok := AsARP(b[EthernetLen:])
	return ok && arp.Operation() == ARPRequest && arp.TargetIP() == ip.As4()
}
