package perftest

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/roce/ib"
)

// What perftest 4.5 writes, message by message. Over TCP every message is one write and is read by
// one read of exactly its size (perftest_communication.c), so each must travel in one segment.
const (
	versionLen    = 16
	keysTextLen   = 108
	keysNoGIDLen  = 59 // of a peer that has no GID, which cannot be on Ethernet
	keysBinaryLen = 56
	reportLen     = 8 // of each of the five values
)

// Version is the version of the protocol that we speak, perftest 4.5's own.
const Version = "6.06"

// oldestVersion is the oldest that perftest 4.5 talks to; so do we.
const oldestVersion = 5.70

// mtuCodes are the codes of the path MTU. IBTA: 1 is 256, 5 is 4096.
var mtuCodes = map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}

// appendVersion writes the version, padded with zeros.
func appendVersion(b []byte, v string) []byte {
	var field [versionLen]byte
	copy(field[:versionLen-1], v)
	return append(b, field[:]...)
}

// parseVersion reads a peer's version and refuses one that is too old.
func parseVersion(b []byte) (string, error) {
	text, _, _ := strings.Cut(string(b), "\x00")
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return "", fmt.Errorf("the peer says %q instead of a version: it is not perftest", text)
	case !(v >= oldestVersion):
		return "", fmt.Errorf("the peer speaks version %s of perftest's protocol: it must be %.2f "+
			"or newer; we speak %s", text, oldestVersion, Version)
	}
	return text, nil
}

// appendMTU writes the code of a path MTU as a digit and a zero.
func appendMTU(b []byte, mtu int) []byte { return append(b, byte('0'+mtuCodes[mtu]), 0) }

// agreeMTU is the smaller of ours and what the peer wrote. A peer's code that is none is ignored,
// as perftest does.
func agreeMTU(own int, b []byte) int {
	for mtu, code := range mtuCodes {
		if b[0] == byte('0'+code) && b[1] == 0 {
			return min(own, mtu)
		}
	}
	return own
}

// Keys is what a side tells of one of its QPs, and also what it sends as a barrier.
type Keys struct {
	LID      uint16 // 0 on Ethernet
	OutReads int    // READs and atomics that it takes at a time
	QPN      ib.QPN
	PSN      ib.PSN // of the first packet that it sends
	RKey     uint32
	VA       uint64 // where the peer may write, read and operate
	GID      netip.Addr
	SRQN     uint32
	GIDIndex int32 // not in the text
}

// AppendText writes k as it goes over TCP: hexadecimal numbers with colons, and a zero.
func (k *Keys) AppendText(b []byte) []byte {
	b = fmt.Appendf(b, "%04x:%04x:%06x:%06x:%08x:%016x:", k.LID, k.OutReads, uint32(k.QPN),
		uint32(k.PSN), k.RKey, k.VA)
	for _, octet := range k.GID.As16() {
		b = fmt.Appendf(b, "%02x:", octet)
	}
	return append(fmt.Appendf(b, "%08x:", k.SRQN), 0)
}

var errKeys = errors.New("not the keys of perftest's protocol")

// ParseKeys reads what AppendText wrote.
func ParseKeys(b []byte) (k Keys, err error) {
	text, _, _ := strings.Cut(string(b), "\x00")
	fields := strings.Split(text, ":")
	if len(fields) != 6+16+1+1 || fields[23] != "" {
		return k, fmt.Errorf("%q: %w", text, errKeys)
	}
	number := func(i, bits int) uint64 {
		v, e := strconv.ParseUint(fields[i], 16, bits)
		if e != nil && err == nil {
			err = fmt.Errorf("%q: field %d: %w", text, i+1, errKeys)
		}
		return v
	}
	var gid [16]byte
	for i := range gid {
		gid[i] = byte(number(6+i, 8))
	}
	k = Keys{LID: uint16(number(0, 16)), OutReads: int(number(1, 16)), QPN: ib.QPN(number(2, 24)),
		PSN: ib.PSN(number(3, 24)), RKey: uint32(number(4, 32)), VA: number(5, 64),
		GID: netip.AddrFrom16(gid).Unmap(), SRQN: uint32(number(22, 32))}
	return k, err
}

// AppendBinary writes k as it goes over a QP: C's struct pingpong_dest in network order, with its
// hole of four bytes.
func (k *Keys) AppendBinary(b []byte) []byte {
	for _, v := range []uint32{uint32(k.LID), uint32(k.OutReads), uint32(k.QPN), uint32(k.PSN),
		k.RKey, 0} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	b = binary.BigEndian.AppendUint64(b, k.VA)
	var gid [16]byte
	if k.GID.IsValid() {
		gid = k.GID.As16()
	}
	b = append(b, gid[:]...)
	b = binary.BigEndian.AppendUint32(b, k.SRQN)
	return binary.BigEndian.AppendUint32(b, uint32(k.GIDIndex))
}

// ParseBinaryKeys reads what AppendBinary wrote.
func ParseBinaryKeys(b []byte) (k Keys, err error) {
	if len(b) != keysBinaryLen {
		return k, fmt.Errorf("%d bytes: %w", len(b), errKeys)
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	if word(0) > math.MaxUint16 || word(4) > math.MaxUint16 || word(8) > 1<<24-1 ||
		word(12) > 1<<24-1 {
		return k, fmt.Errorf("%s: %w", hex.EncodeToString(b[:16]), errKeys)
	}
	return Keys{LID: uint16(word(0)), OutReads: int(word(4)), QPN: ib.QPN(word(8)),
		PSN: ib.PSN(word(12)), RKey: word(16), VA: binary.BigEndian.Uint64(b[24:]),
		GID:  netip.AddrFrom16([16]byte(b[32:48])).Unmap(),
		SRQN: word(48), GIDIndex: int32(word(52))}, nil
}

// summary is the result of a bandwidth test as the ends tell it to each other, in the unit that
// the sender was told to report in.
type summary struct {
	size, iterations    uint64
	peak, average, rate float64

	loss loss // of our own NIC's clock meanwhile; not told
}

// fields are the five messages of a summary, in order.
func (s *summary) fields() (m [5][reportLen]byte) {
	for i, v := range []uint64{s.size, s.iterations, math.Float64bits(s.peak),
		math.Float64bits(s.average), math.Float64bits(s.rate)} {
		binary.BigEndian.PutUint64(m[i][:], v)
	}
	return m
}

// parseSummary reads the five messages. A side that measured nothing sends what its memory held.
func parseSummary(m [5][reportLen]byte) summary {
	var v [5]uint64
	for i := range m {
		v[i] = binary.BigEndian.Uint64(m[i][:])
	}
	return summary{size: v[0], iterations: v[1], peak: math.Float64frombits(v[2]),
		average: math.Float64frombits(v[3]), rate: math.Float64frombits(v[4])}
}
