package ib

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// MADLen is the size of every management datagram, MADHeaderLen that of what they share.
const (
	MADLen       = 256
	MADHeaderLen = 24
)

// How much private data fits each message of the connection manager, and additional information a
// REJ. Linux include/rdma/ib_cm.h, enum ib_cm_data_size.
const (
	REQPrivateLen     = 92
	REPPrivateLen     = 196
	RTUPrivateLen     = 224
	MRAPrivateLen     = 222
	REJPrivateLen     = 148
	REJInfoLen        = 72
	DREQPrivateLen    = 220
	DREPPrivateLen    = 224
	SIDRREQPrivateLen = 216
	SIDRREPPrivateLen = 136
)

// GSIQKey is the Q_Key of QP1, where general services such as the connection manager are.
const GSIQKey uint32 = 0x80010000

// MAD is a view of a management datagram, and the header of each.
//
//	byte 0 base version | 1 class | 2 class version | 3 method | 4-5 status | 6-7 class specific
//	8-15 transaction id | 16-17 attribute | 18-19 reserved | 20-23 attribute modifier
type MAD [MADLen]byte

// What the header of a message of the connection manager says, in each that rxe sends.
const (
	madBase        = 1
	madClassCM     = 7
	madClassCMVers = 2
	madMethodSend  = 3
)

// Attribute is which message of the connection manager a MAD is.
type Attribute uint16

// The messages. Linux include/rdma/ib_cm.h. LAP and APR, which are about alternate paths, are not
// used on RoCE.
const (
	AttrREQ     Attribute = 0x10
	AttrMRA     Attribute = 0x11
	AttrREJ     Attribute = 0x12
	AttrREP     Attribute = 0x13
	AttrRTU     Attribute = 0x14
	AttrDREQ    Attribute = 0x15
	AttrDREP    Attribute = 0x16
	AttrSIDRREQ Attribute = 0x17
	AttrSIDRREP Attribute = 0x18
	AttrLAP     Attribute = 0x19
	AttrAPR     Attribute = 0x1a
)

// attributeNames by number, from AttrREQ on.
var attributeNames = [...]string{"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ",
	"SIDR_REP", "LAP", "APR"}

func (a Attribute) String() string {
	if i := int(a) - int(AttrREQ); i >= 0 && i < len(attributeNames) {
		return attributeNames[i]
	}
	return fmt.Sprintf("attribute 0x%04x", uint16(a))
}

// AsMAD is the view of b, false unless b has the one size of a MAD.
func AsMAD(b []byte) (*MAD, bool) {
	if len(b) != MADLen {
		return nil, false
	}
	return (*MAD)(b), true
}

// Init makes m an empty message of the connection manager.
func (m *MAD) Init(a Attribute, tid uint64) {
	clear(m[:])
	m[0], m[1], m[2], m[3] = madBase, madClassCM, madClassCMVers, madMethodSend
	m.SetTID(tid)
	binary.BigEndian.PutUint16(m[16:18], uint16(a))
}

// IsCM reports whether m is a message of the connection manager in the version we know.
func (m *MAD) IsCM() bool {
	return m[0] == madBase && m[1] == madClassCM && m[2] == madClassCMVers && m[3] == madMethodSend
}

// OtherClassVersion reports whether m is a message of the connection manager in another version.
func (m *MAD) OtherClassVersion() bool {
	return m[0] == madBase && m[1] == madClassCM && m[2] != madClassCMVers && m[3] == madMethodSend
}

// Attribute is which message it is.
func (m *MAD) Attribute() Attribute { return Attribute(binary.BigEndian.Uint16(m[16:18])) }

// TID is the transaction: an answer has that of what it answers.
func (m *MAD) TID() uint64 { return binary.BigEndian.Uint64(m[8:16]) }

// SetTID sets the transaction.
func (m *MAD) SetTID(v uint64) { binary.BigEndian.PutUint64(m[8:16], v) }

// putBits replaces n bits of b, the lowest of which has the weight 1<<low, by v.
func putBits(b byte, low, n int, v uint8) byte {
	mask := byte(1<<n-1) << low
	return b&^mask | v<<low&mask
}

// addrOfGID is the IP address that a GID stands for; rxe maps an IPv4 address into IPv6.
func addrOfGID(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b)).Unmap() }

// putGID writes the GID of an IP address; an invalid address makes zeros.
func putGID(b []byte, a netip.Addr) {
	var gid [16]byte
	if a.IsValid() {
		gid = a.As16()
	}
	copy(b, gid[:])
}
