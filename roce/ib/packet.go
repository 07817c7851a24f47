package ib

import "github.com/rocelab/rocelab/dataplane/wire"

// Packet is a received RoCEv2 packet taken apart. Views that the opcode does not have are nil.
type Packet struct {
	BTH       *BTH
	Info      *Info
	RETH      *RETH
	AETH      *AETH
	Imm       *ImmDt
	IETH      *IETH
	DETH      *DETH
	Atomic    *AtomicETH
	AtomicAck *AtomicAckETH
	Receiver  *Notification // of a CNP
	Transit   *Transit
	Feedback  *Feedback
	Payload   []byte // without padding
	Zeros     int    // in place of Payload: so many bytes of zero

	ip  []byte // IP header to ICRC included, or to the zeros
	udp int    // offset of the UDP header in ip
}

// PayloadLen is how many bytes of payload the packet has.
func (p *Packet) PayloadLen() int { return len(p.Payload) + p.Zeros }

// Open takes the packet apart whose IP header is at l3 and whose UDP header is at l4 of frame. It
// reports false if the lengths contradict each other or the opcode is not defined. The ICRC is
// not judged here: see CheckICRC. Bytes behind the datagram (Ethernet padding) are left out.
func Open(frame []byte, l3, l4 int) (p Packet, ok bool) {
	if l3 < 0 || l4 <= l3 || l4+wire.UDPLen+BTHLen+ICRCLen > len(frame) {
		return p, false
	}
	size := (*wire.UDP)(frame[l4:]).Len()
	if size < wire.UDPLen+BTHLen+ICRCLen || l4+size > len(frame) {
		return p, false
	}
	p.ip, p.udp = frame[l3:l4+size], l4-l3
	p.BTH = (*BTH)(frame[l4+wire.UDPLen:])
	p.Info = p.BTH.Opcode().Info()
	body := frame[l4+wire.UDPLen+BTHLen : l4+size-ICRCLen]
	if !p.Info.Known() || p.Info.Extended > len(body) {
		return p, false
	}
	if body, ok = p.views(body); !ok {
		return p, false
	}
	pad := p.BTH.PadCount()
	if pad > len(body) {
		return p, false
	}
	p.Payload = body[:len(body)-pad]
	return p, p.Info.Has.Payload || len(body) == 0
}

// OpenAround is Open, into an empty p, for a packet of a reliable connection whose payload is zeros
// that nobody stored, with head before them. It reports false also if they are not just the
// payload.
func (p *Packet) OpenAround(head []byte, zeros, l3, l4 int) bool {
	if l3 < 0 || l4 <= l3 || l4+wire.UDPLen+BTHLen > len(head) {
		return false
	}
	behind := (*wire.UDP)(head[l4:]).Len() - (len(head) - l4) - zeros
	p.ip, p.udp, p.Zeros = head[l3:], l4-l3, zeros
	p.BTH = (*BTH)(head[l4+wire.UDPLen:])
	p.Info = p.BTH.Opcode().Info()
	body := head[l4+wire.UDPLen+BTHLen:]
	if p.Info.Transport != RC || !p.Info.Has.Payload || p.Info.Extended > len(body) ||
		behind != p.BTH.PadCount()+ICRCLen {
		return false
	}
	body, ok := p.views(body)
	return ok && len(body) == 0
}

// views lays the extended headers over b, which is long enough for those of the opcode, and returns
// what is behind. Their order is fixed: IBTA 9.3.
func (p *Packet) views(b []byte) (rest []byte, ok bool) {
	has := &p.Info.Has
	if has.DETH {
		p.DETH, b = (*DETH)(b), b[DETHLen:]
	}
	if has.RETH {
		p.RETH, b = (*RETH)(b), b[RETHLen:]
	}
	if has.AtomicETH {
		p.Atomic, b = (*AtomicETH)(b), b[AtomicETHLen:]
	}
	if has.AETH {
		p.AETH, b = (*AETH)(b), b[AETHLen:]
	}
	if has.AtomicAckETH {
		p.AtomicAck, b = (*AtomicAckETH)(b), b[AtomicAckETHLen:]
	}
	if has.Imm {
		p.Imm, b = (*ImmDt)(b), b[ImmDtLen:]
	}
	if has.Reserved {
		p.Receiver, b = (*Notification)(b), b[CNPReservedLen:]
	}
	if has.IETH {
		p.IETH, b = (*IETH)(b), b[IETHLen:]
	}
	if has.Feedback {
		p.Feedback, b = (*Feedback)(b), b[FeedbackLen:]
	}
	if !p.BTH.HasTransit() {
		return b, true
	}
	if !p.Info.Transits() || len(b) < TransitLen {
		return b, false
	}
	p.Transit = (*Transit)(b)
	return b[TransitLen:], p.Transit.Valid()
}

// NetworkHeader is the IP header.
func (p *Packet) NetworkHeader() []byte { return p.ip[:p.udp] }

// CheckICRC reports whether the packet's invariant CRC is right. If the payload was not stored, it
// is not computed yet, and will be right.
func (p *Packet) CheckICRC() bool {
	if p.Zeros > 0 {
		return true
	}
	end := len(p.ip) - ICRCLen
	return ICRC(p.ip[:end], p.udp) == getICRC(p.ip[end:])
}
