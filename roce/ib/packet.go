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

	ip  []byte // IP header to ICRC included
	udp int    // offset of the UDP header in ip
}

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
	p.views(body)
	body = body[p.Info.Extended:]
	if p.BTH.HasTransit() {
		if !p.Info.Transits() || len(body) < TransitLen {
			return p, false
		}
		if p.Transit = (*Transit)(body); !p.Transit.Valid() {
			return p, false
		}
		body = body[TransitLen:]
	}
	pad := p.BTH.PadCount()
	if pad > len(body) {
		return p, false
	}
	p.Payload = body[:len(body)-pad]
	return p, p.Info.Has.Payload || len(body) == 0
}

// views lays the extended headers over b, which is long enough. Their order is fixed: IBTA 9.3.
func (p *Packet) views(b []byte) {
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
		p.Receiver = (*Notification)(b)
	}
	if has.IETH {
		p.IETH = (*IETH)(b)
	}
	if has.Feedback {
		p.Feedback = (*Feedback)(b)
	}
}

// NetworkHeader is the IP header.
func (p *Packet) NetworkHeader() []byte { return p.ip[:p.udp] }

// CheckICRC reports whether the packet's invariant CRC is right.
func (p *Packet) CheckICRC() bool {
	end := len(p.ip) - ICRCLen
	return ICRC(p.ip[:end], p.udp) == getICRC(p.ip[end:])
}
