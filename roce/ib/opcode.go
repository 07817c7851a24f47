package ib

import "fmt"

// Opcode is BTH byte 0: the transport in the upper three bits, the operation below. IBTA 9.2.1.
type Opcode uint8

// The opcodes of the reliable connected transport, and those of others that we meet.
const (
	SendFirst          Opcode = 0x00
	SendMiddle         Opcode = 0x01
	SendLast           Opcode = 0x02
	SendLastImm        Opcode = 0x03
	SendOnly           Opcode = 0x04
	SendOnlyImm        Opcode = 0x05
	WriteFirst         Opcode = 0x06
	WriteMiddle        Opcode = 0x07
	WriteLast          Opcode = 0x08
	WriteLastImm       Opcode = 0x09
	WriteOnly          Opcode = 0x0a
	WriteOnlyImm       Opcode = 0x0b
	ReadRequest        Opcode = 0x0c
	ReadResponseFirst  Opcode = 0x0d
	ReadResponseMiddle Opcode = 0x0e
	ReadResponseLast   Opcode = 0x0f
	ReadResponseOnly   Opcode = 0x10
	Acknowledge        Opcode = 0x11
	AtomicAcknowledge  Opcode = 0x12
	CmpSwap            Opcode = 0x13
	FetchAdd           Opcode = 0x14
	SendLastInvalidate Opcode = 0x16
	SendOnlyInvalidate Opcode = 0x17
	UDSendOnly         Opcode = 0x64
	UDSendOnlyImm      Opcode = 0x65
	CongestionNotify   Opcode = 0x81 // A17.9.3
	ucBase             Opcode = 0x20
	ucOperations              = int(WriteOnlyImm) + 1
	transportBits             = 5
)

// Transport is the service type in the upper three bits of an opcode.
type Transport uint8

// The transports. CNP has its own number.
const (
	RC  Transport = 0
	UC  Transport = 1
	RD  Transport = 2
	UD  Transport = 3
	CNP Transport = 4
)

// Verb is what a packet does, wherever in its message it stands.
type Verb uint8

// The verbs. Zero is that of an opcode which nobody defined.
const (
	NoVerb Verb = iota
	Send
	Write
	Read
	ReadReply
	Ack
	AtomicReply
	Atomic
	Notify
	Feed  // congestion feedback, our own
	Probe // request and response of a round trip, our own
)

// Place is where in its message a packet stands.
type Place uint8

// The places.
const (
	Only Place = iota
	First
	Middle
	Last
)

// Starts reports whether a message begins with this packet.
func (p Place) Starts() bool { return p == Only || p == First }

// Ends reports whether a message ends with this packet.
func (p Place) Ends() bool { return p == Only || p == Last }

// Info is what an opcode implies.
type Info struct {
	Name      string
	Transport Transport
	Verb      Verb
	Place     Place
	Has       Has
	Extended  int // bytes of extended headers between BTH and payload
}

// Has names the parts that follow the BTH. IBTA table 38.
type Has struct {
	RETH, AETH, Imm, IETH, DETH, AtomicETH, AtomicAckETH, Reserved, Feedback, Payload bool
}

// Known reports whether the opcode is defined.
func (i *Info) Known() bool { return i.Verb != NoVerb }

// Request reports whether the packet goes from requester to responder.
func (i *Info) Request() bool {
	return i.Verb == Send || i.Verb == Write || i.Verb == Read || i.Verb == Atomic
}

// Transits reports whether a packet may carry a Transit header: requests, and answers to READs.
func (i *Info) Transits() bool { return i.Request() || i.Verb == ReadReply }

// Info returns the facts about o; Known is false for opcodes that are not defined here.
func (o Opcode) Info() *Info { return &opcodes[o] }

func (o Opcode) String() string {
	if i := o.Info(); i.Known() {
		return i.Name
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

var (
	data      = Has{Payload: true}
	dataImm   = Has{Payload: true, Imm: true}
	dataInv   = Has{Payload: true, IETH: true}
	dataReth  = Has{Payload: true, RETH: true}
	dataAeth  = Has{Payload: true, AETH: true}
	writeImm  = Has{Payload: true, RETH: true, Imm: true}
	atomic    = Has{AtomicETH: true}
	atomicAck = Has{AETH: true, AtomicAckETH: true}
)

// opcodes is filled once and never written again.
var opcodes = func() (t [256]Info) {
	set := func(o Opcode, name string, v Verb, p Place, h Has) {
		t[o] = Info{name, Transport(o >> transportBits), v, p, h, h.size()}
	}
	set(SendFirst, "SEND_FIRST", Send, First, data)
	set(SendMiddle, "SEND_MIDDLE", Send, Middle, data)
	set(SendLast, "SEND_LAST", Send, Last, data)
	set(SendLastImm, "SEND_LAST_WITH_IMMEDIATE", Send, Last, dataImm)
	set(SendOnly, "SEND_ONLY", Send, Only, data)
	set(SendOnlyImm, "SEND_ONLY_WITH_IMMEDIATE", Send, Only, dataImm)
	set(WriteFirst, "RDMA_WRITE_FIRST", Write, First, dataReth)
	set(WriteMiddle, "RDMA_WRITE_MIDDLE", Write, Middle, data)
	set(WriteLast, "RDMA_WRITE_LAST", Write, Last, data)
	set(WriteLastImm, "RDMA_WRITE_LAST_WITH_IMMEDIATE", Write, Last, dataImm)
	set(WriteOnly, "RDMA_WRITE_ONLY", Write, Only, dataReth)
	set(WriteOnlyImm, "RDMA_WRITE_ONLY_WITH_IMMEDIATE", Write, Only, writeImm)
	for o := range Opcode(ucOperations) { // the unreliable connection has the same twelve
		t[ucBase+o] = t[o]
		t[ucBase+o].Transport = UC
		t[ucBase+o].Name = "UC_" + t[o].Name
	}
	set(ReadRequest, "RDMA_READ_REQUEST", Read, Only, Has{RETH: true})
	set(ReadResponseFirst, "RDMA_READ_RESPONSE_FIRST", ReadReply, First, dataAeth)
	set(ReadResponseMiddle, "RDMA_READ_RESPONSE_MIDDLE", ReadReply, Middle, data)
	set(ReadResponseLast, "RDMA_READ_RESPONSE_LAST", ReadReply, Last, dataAeth)
	set(ReadResponseOnly, "RDMA_READ_RESPONSE_ONLY", ReadReply, Only, dataAeth)
	set(Acknowledge, "ACKNOWLEDGE", Ack, Only, Has{AETH: true})
	set(AtomicAcknowledge, "ATOMIC_ACKNOWLEDGE", AtomicReply, Only, atomicAck)
	set(CmpSwap, "CMP_SWAP", Atomic, Only, atomic)
	set(FetchAdd, "FETCH_ADD", Atomic, Only, atomic)
	set(SendLastInvalidate, "SEND_LAST_WITH_INVALIDATE", Send, Last, dataInv)
	set(SendOnlyInvalidate, "SEND_ONLY_WITH_INVALIDATE", Send, Only, dataInv)
	set(UDSendOnly, "UD_SEND_ONLY", Send, Only, Has{Payload: true, DETH: true})
	set(UDSendOnlyImm, "UD_SEND_ONLY_WITH_IMMEDIATE", Send, Only,
		Has{Payload: true, DETH: true, Imm: true})
	set(CongestionNotify, "CNP", Notify, Only, Has{Reserved: true})
	set(CongestionFeedback, "CONGESTION_FEEDBACK", Feed, Only, Has{Feedback: true, Payload: true})
	set(RTTRequest, "RTT_REQUEST", Probe, Only, Has{Feedback: true})
	set(RTTResponse, "RTT_RESPONSE", Probe, Only, Has{Feedback: true})
	return t
}()

func (h Has) size() (n int) {
	for _, part := range []struct {
		has  bool
		size int
	}{
		{h.DETH, DETHLen}, {h.RETH, RETHLen}, {h.AtomicETH, AtomicETHLen}, {h.AETH, AETHLen},
		{h.AtomicAckETH, AtomicAckETHLen}, {h.Imm, ImmDtLen}, {h.IETH, IETHLen},
		{h.Reserved, CNPReservedLen}, {h.Feedback, FeedbackLen},
	} {
		if part.has {
			n += part.size
		}
	}
	return n
}
