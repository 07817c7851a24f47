package ib

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// ICRCLen is the size of the invariant CRC at the end of every RoCEv2 packet.
const ICRCLen = 4

// icrcSeed is the CRC of the eight bytes of ones that stand for the LRH, which RoCEv2 has not.
var icrcSeed = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// Offsets of the fields that routers may change, and which therefore count as ones. A17.3.
const (
	ip4TOS, ip4TTL, ip4Checksum = 1, 8, 10
	ip6HopLimit                 = 7
	udpChecksum                 = 6
	bthVariant                  = wire.UDPLen + 4 // FECN, BECN, reserved; from the UDP header on
)

// variant keeps the masked fields while the CRC runs over the packet.
type variant struct {
	ip       [4]byte
	ip4sum   [2]byte
	hop      byte
	udp      [2]byte
	bth      byte
	hopIndex int
}

// ICRC returns the invariant CRC of a packet: from its IP header up to where the ICRC goes, with
// the UDP header at offset udp and at least a BTH behind it. The fields that routers may change
// are ones while it computes and as before when it returns: masking in place lets one pass
// of the carry-less multiplication cover the packet, with no copy.
func ICRC(packet []byte, udp int) uint32 {
	var v variant
	v.mask(packet, udp)
	sum := crc32.Update(icrcSeed, crc32.IEEETable, packet)
	v.restore(packet, udp)
	return sum
}

// Seal writes the ICRC of the packet that Open would take apart.
func Seal(frame []byte, l3, l4 int) {
	end := l4 + (*wire.UDP)(frame[l4:]).Len() - ICRCLen
	putICRC(frame[end:], ICRC(frame[l3:end], l4-l3))
}

func (v *variant) mask(p []byte, udp int) {
	copy(v.ip[:], p[:4])
	if isIPv4(p) {
		p[ip4TOS] = 0xff
		v.hopIndex = ip4TTL
		copy(v.ip4sum[:], p[ip4Checksum:])
		p[ip4Checksum], p[ip4Checksum+1] = 0xff, 0xff
	} else {
		p[0] |= 0x0f // version stays, traffic class and flow label go
		p[1], p[2], p[3] = 0xff, 0xff, 0xff
		v.hopIndex = ip6HopLimit
	}
	v.hop, p[v.hopIndex] = p[v.hopIndex], 0xff
	u := p[udp : udp+wire.UDPLen+BTHLen]
	copy(v.udp[:], u[udpChecksum:])
	u[udpChecksum], u[udpChecksum+1] = 0xff, 0xff
	v.bth, u[bthVariant] = u[bthVariant], 0xff
}

func (v *variant) restore(p []byte, udp int) {
	copy(p[:4], v.ip[:])
	p[v.hopIndex] = v.hop
	if isIPv4(p) {
		copy(p[ip4Checksum:], v.ip4sum[:])
	}
	copy(p[udp+udpChecksum:], v.udp[:])
	p[udp+bthVariant] = v.bth
}

func isIPv4(p []byte) bool { return p[0]>>4 == 4 }

// The ICRC goes onto the wire with its least significant byte first. IBTA 7.8.1 sends the
// bits in that order; Linux rxe agrees, see testdata.
func putICRC(b []byte, sum uint32) { binary.LittleEndian.PutUint32(b, sum) }

func getICRC(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
