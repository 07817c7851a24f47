package ib

import "encoding/binary"

// Congestion feedback is an extension of our own, for what standard RoCE cannot say: [LDCP] 3.1
// wants a byte sequence number in data packets and the echo of CE for each of them, READ responses
// included; delay-based algorithms want time stamps, HPCC what the switches on the way told.
//
// What congestion control lets out, requests and answers to READs, carries a Transit header behind
// its last IBTA header, which a reserved bit of the BTH tells of, so that a packet can be taken apart
// by what it says alone. [LDCP] 3.1 counts READ requests too, "packets belonging to READ, SEND/WRITE
// requests share the same LSN space", and so are atomics. What the receiver has
// to say goes in a Feedback packet, whose opcode is of the range that IBTA leaves to manufacturers.
// Both are sent only to peers that have agreed to it: others would take a Transit for payload.
//
//	BTH | RETH ... | Transit | payload | ICRC
//	BTH | Feedback | telemetry of the hops | ICRC
const (
	TransitLen  = 12
	FeedbackLen = 20
)

// Opcodes of the range for manufacturers, 0xc0 to 0xff.
const (
	CongestionFeedback Opcode = 0xc0
	RTTRequest         Opcode = 0xc1 // [LDCP] 3.2; its Feedback carries nothing but Stamp
	RTTResponse        Opcode = 0xc2 // which comes back in Echo
)

// bthTransit is the reserved bit that tells of a Transit header: the last of byte 4.
const bthTransit = 1

// HasTransit reports whether a Transit header is in the packet.
func (h *BTH) HasTransit() bool { return h[4]&bthTransit != 0 }

// SetTransit sets whether a Transit header is in the packet.
func (h *BTH) SetTransit(on bool) { h[4] = withBit(h[4], bthTransit, on) }

// Transit is a view of what a data packet tells of its way.
//
//	byte 0 version, 1 | 1 Every | 2-3 reserved | 4-7 LSN | 8-11 Stamp
type Transit [TransitLen]byte

const transitVersion = 1

// Valid reports whether the version is known.
func (t *Transit) Valid() bool { return t[0] == transitVersion }

// Every is for how many packets at most one Feedback is wanted; a marked one wants it at once.
func (t *Transit) Every() int { return max(1, int(t[1])) }

// LSN is the byte number behind this packet: what the sender has sent before and with it, modulo
// 2^32, repeated packets counted each time. [LDCP] 3.1.
func (t *Transit) LSN() uint32 { return binary.BigEndian.Uint32(t[4:8]) }

// Stamp is when it left, in nanoseconds of the sender's clock, modulo 2^32.
func (t *Transit) Stamp() uint32 { return binary.BigEndian.Uint32(t[8:12]) }

// Passage is the content of a Transit.
type Passage struct {
	On         bool // there is one
	Every      uint8
	LSN, Stamp uint32
}

func (t *Transit) set(p *Passage) {
	t[0], t[1], t[2], t[3] = transitVersion, p.Every, 0, 0
	binary.BigEndian.PutUint32(t[4:8], p.LSN)
	binary.BigEndian.PutUint32(t[8:12], p.Stamp)
}

// Feedback is a view of what a receiver of data tells.
//
//	bytes 0-1 Packets | 2-3 Marked | 4-7 Bytes | 8-11 LSN | 12-15 Echo | 16-19 Stamp
type Feedback [FeedbackLen]byte

// Packets is how many data packets it stands for.
func (f *Feedback) Packets() int { return int(binary.BigEndian.Uint16(f[0:2])) }

// Marked is how many of them had CE.
func (f *Feedback) Marked() int { return int(binary.BigEndian.Uint16(f[2:4])) }

// Bytes is how many bytes they were, as LSN counts them.
func (f *Feedback) Bytes() uint32 { return binary.BigEndian.Uint32(f[4:8]) }

// LSN is that of the latest of them.
func (f *Feedback) LSN() uint32 { return binary.BigEndian.Uint32(f[8:12]) }

// Echo is the Stamp of the latest of them, plus the time for which the answer was held.
func (f *Feedback) Echo() uint32 { return binary.BigEndian.Uint32(f[12:16]) }

// Stamp is when a probe left, in nanoseconds of the sender's clock, modulo 2^32.
func (f *Feedback) Stamp() uint32 { return binary.BigEndian.Uint32(f[16:20]) }

// Report is the content of a Feedback.
type Report struct {
	Packets, Marked  uint16
	Bytes            uint32
	LSN, Echo, Stamp uint32
}

func (f *Feedback) set(r *Report) {
	binary.BigEndian.PutUint16(f[0:2], r.Packets)
	binary.BigEndian.PutUint16(f[2:4], r.Marked)
	binary.BigEndian.PutUint32(f[4:8], r.Bytes)
	binary.BigEndian.PutUint32(f[8:12], r.LSN)
	binary.BigEndian.PutUint32(f[12:16], r.Echo)
	binary.BigEndian.PutUint32(f[16:20], r.Stamp)
}
