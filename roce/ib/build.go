package ib

import "github.com/rocelab/rocelab/dataplane/wire"

// Outgoing is one packet to build. Fields that the opcode does not have are ignored.
type Outgoing struct {
	Opcode     Opcode
	TOS        uint8  // DSCP and ECN
	ID         uint16 // IPv4 identification
	AckReq     bool
	Solicited  bool
	PSN        PSN
	RDMA       RDMA
	AETH       Acknowledgement
	Imm        uint32
	Invalidate uint32 // R_Key of the IETH
	Atomic     AtomicOperands
	UD         Datagram
	Receiver   Receiver // in a CNP
	Transit    Passage  // in a data packet
	Report     Report   // in congestion feedback
	Payload    []byte
	Zeros      int // in place of Payload: so many bytes of zero
}

// PayloadLen is how many bytes of payload the packet has.
func (o *Outgoing) PayloadLen() int { return len(o.Payload) + o.Zeros }

// RDMA is the content of a RETH.
type RDMA struct {
	VA     uint64
	RKey   uint32
	Length uint32
}

// Acknowledgement is the content of an AETH, and of the atomic's answer behind it.
type Acknowledgement struct {
	Syndrome Syndrome
	MSN      MSN
	Original uint64
}

// AtomicOperands is the content of an AtomicETH beside address and key, which stand in RDMA.
type AtomicOperands struct{ SwapAdd, Compare uint64 }

// Datagram is the content of a DETH.
type Datagram struct {
	QKey     uint32
	SourceQP QPN
}

// Size is how many bytes Build will write for o.
func (h *Headers) Size(o *Outgoing) int {
	return h.PayloadAt(o) + (o.PayloadLen()+maxPad)&^maxPad + ICRCLen
}

// PayloadAt is the offset of the payload in what Build will write for o.
func (h *Headers) PayloadAt(o *Outgoing) int {
	n := h.l4 + wire.UDPLen + BTHLen + o.Opcode.Info().Extended
	if o.Transit.On {
		n += TransitLen
	}
	return n
}

// Build writes the whole packet into dst, from the destination MAC to the ICRC, and returns its
// size. dst must have room for it.
func (h *Headers) Build(dst []byte, o *Outgoing) int {
	n, at := h.Size(o), h.PayloadAt(o)
	dst = dst[:n]
	h.write(dst[:at], n, o)
	end := at + copy(dst[at:], o.Payload)
	clear(dst[end : n-ICRCLen]) // zeros and padding
	putICRC(dst[n-ICRCLen:], ICRC(dst[h.l3:n-ICRCLen], h.l4-h.l3))
	return n
}

// BuildAround writes what is before and behind a payload of zeros: headers into head, padding into
// tail. The ICRC, which a look at the payload would need, is left for Seal.
func (h *Headers) BuildAround(head, tail []byte, o *Outgoing) {
	h.write(head, h.Size(o), o)
	clear(tail)
}

// write fills in everything before the payload of a packet of n bytes.
func (h *Headers) write(dst []byte, n int, o *Outgoing) {
	h.finish(dst, n-h.l3, o.TOS, o.ID)
	b := dst[h.l4+wire.UDPLen:]
	bth := (*BTH)(b)
	bth.SetOpcode(o.Opcode)
	bth.SetPSN(o.PSN)
	bth.SetAckReq(o.AckReq)
	bth.SetSolicited(o.Solicited)
	bth.SetBECN(o.Opcode == CongestionNotify)
	bth.SetTransit(o.Transit.On)
	bth.SetPadCount(-o.PayloadLen() & maxPad)
	o.extended(b[BTHLen:])
}

// extended writes the extended headers. Order: IBTA 9.3.
func (o *Outgoing) extended(b []byte) {
	has := &o.Opcode.Info().Has
	if has.DETH {
		d := (*DETH)(b)
		d.SetQKey(o.UD.QKey)
		d[4] = 0 // reserved; the buffer may hold anything
		d.SetSourceQP(o.UD.SourceQP)
		b = b[DETHLen:]
	}
	if has.RETH {
		r := (*RETH)(b)
		r.SetVA(o.RDMA.VA)
		r.SetRKey(o.RDMA.RKey)
		r.SetLength(o.RDMA.Length)
		b = b[RETHLen:]
	}
	if has.AtomicETH {
		a := (*AtomicETH)(b)
		a.SetVA(o.RDMA.VA)
		a.SetRKey(o.RDMA.RKey)
		a.SetSwapAdd(o.Atomic.SwapAdd)
		a.SetCompare(o.Atomic.Compare)
		b = b[AtomicETHLen:]
	}
	if has.AETH {
		a := (*AETH)(b)
		a.SetSyndrome(o.AETH.Syndrome)
		a.SetMSN(o.AETH.MSN)
		b = b[AETHLen:]
	}
	if has.AtomicAckETH {
		(*AtomicAckETH)(b).SetOriginal(o.AETH.Original)
		b = b[AtomicAckETHLen:]
	}
	if has.Imm {
		(*ImmDt)(b).SetValue(o.Imm)
		b = b[ImmDtLen:]
	}
	if has.IETH {
		(*IETH)(b).SetRKey(o.Invalidate)
		b = b[IETHLen:]
	}
	if has.Reserved {
		clear(b[:CNPReservedLen])
		v := (*Notification)(b)
		v.SetIntervalNs(o.Receiver.IntervalNs)
		v.SetFlows(o.Receiver.Flows)
		b = b[CNPReservedLen:]
	}
	if has.Feedback {
		(*Feedback)(b).set(&o.Report)
		b = b[FeedbackLen:]
	}
	if o.Transit.On {
		(*Transit)(b).set(&o.Transit)
	}
}
