package ib

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// ServiceID is what a connection is asked for.
type ServiceID uint64

// PortSpace is the kind of port that the RDMA connection manager puts into a service ID.
type PortSpace uint8

// The port spaces. Linux include/uapi/rdma/rdma_user_cm.h, enum rdma_ucm_port_space, where the
// byte in front, always 1, is part of the number.
const (
	SpaceTCP PortSpace = 0x06 // for reliable connections
	SpaceUDP PortSpace = 0x11 // for datagrams, asked by SIDR
)

const serviceIP ServiceID = 0x0000000001_00_0000

// IPService is the service ID of a port of the RDMA connection manager. Linux
// include/rdma/rdma_cm.h, RDMA_IB_IP_PS_TCP.
func IPService(s PortSpace, port uint16) ServiceID {
	return serviceIP | ServiceID(s)<<16 | ServiceID(port)
}

// IPPort is the port of a service ID, false if it is none of the RDMA connection manager's.
func (s ServiceID) IPPort() (space PortSpace, port uint16, ok bool) {
	return PortSpace(s >> 16), uint16(s), s>>24 == serviceIP>>24
}

func (s ServiceID) String() string {
	switch space, port, ok := s.IPPort(); {
	case ok && space == SpaceTCP:
		return fmt.Sprintf("port %d", port)
	case ok && space == SpaceUDP:
		return fmt.Sprintf("datagram port %d", port)
	}
	return fmt.Sprintf("service 0x%016x", uint64(s))
}

// IPHeaderLen is the size of what the RDMA connection manager puts in front of the consumer's
// private data in REQ and SIDR_REQ.
const IPHeaderLen = 36

// IPHeader is a view of it. Linux drivers/infiniband/core/cma.c, cma_format_hdr.
//
//	byte 0 version | 1 IP version(4) reserved(4) | 2-3 source port
//	4-19 source address | 20-35 destination address; an IPv4 address in the last four bytes
type IPHeader [IPHeaderLen]byte

// Set writes the header: from whom the request comes and to which address it goes.
func (h *IPHeader) Set(from netip.AddrPort, to netip.Addr) {
	clear(h[:])
	h[1] = 0x60
	if from.Addr().Is4() {
		h[1] = 0x40
	}
	binary.BigEndian.PutUint16(h[2:4], from.Port())
	putIP(h[4:20], from.Addr())
	putIP(h[20:36], to)
}

// Get reads the header; false if it is of another version or of no IP version.
func (h *IPHeader) Get() (from netip.AddrPort, to netip.Addr, ok bool) {
	port := binary.BigEndian.Uint16(h[2:4])
	switch {
	case h[0] != 0:
		return from, to, false
	case h[1]>>4 == 4:
		from = netip.AddrPortFrom(netip.AddrFrom4([4]byte(h[16:20])), port)
		to = netip.AddrFrom4([4]byte(h[32:36]))
	case h[1]>>4 == 6:
		from = netip.AddrPortFrom(netip.AddrFrom16([16]byte(h[4:20])), port)
		to = netip.AddrFrom16([16]byte(h[20:36]))
	default:
		return from, to, false
	}
	return from, to, true
}

// putIP writes an address right-aligned into sixteen zeros.
func putIP(b []byte, a netip.Addr) {
	ip := a.AsSlice()
	copy(b[len(b)-len(ip):], ip)
}
