package cm

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// ID names a connection or a SIDR request in its manager: the local communication id, a random
// number that is not given out again while anything is known of the connection.
type ID uint32

// Path is the way of a MAD: between which addresses, and whereto on the link.
type Path struct {
	Source netip.Addr // ours
	Dest   netip.Addr // the peer's
	MAC    wire.MAC   // of the peer, or of the router on the way
	VLAN   ib.VLAN
}

// QP is what one side tells the other of its queue pair.
type QP struct {
	QPN         ib.QPN
	PSN         ib.PSN // the other side sends from here on
	Resources   uint8  // READs and atomics that it keeps as responder
	Depth       uint8  // READs and atomics that it has under way as initiator
	RNRRetry    uint8  // for the other side's requests, 0 to 7; 7 is for ever
	FlowControl bool   // it counts credits as responder
	SRQ         bool
}

// Request is what Connect asks for.
type Request struct {
	Path    Path
	Service ib.ServiceID
	QP      QP
	PKey    uint16         // 0 is ib.DefaultPKey
	MTU     int            // path MTU, 256 to 4096
	Retry   uint8          // retry count of both sides, 0 to 7
	From    netip.AddrPort // if valid, the header of the RDMA connection manager is sent
	Private []byte         // up to 92 bytes, 56 behind that header
}

// Reply is what Accept answers.
type Reply struct {
	QP      QP
	Private []byte // up to 196 bytes
}

// Refusal is what Reject answers.
type Refusal struct {
	Reason  ib.RejectReason // 0 is ib.RejConsumer
	Info    []byte          // additional, up to 72 bytes
	Private []byte          // up to 148 bytes
}

// Lookup is what Resolve asks for by SIDR.
type Lookup struct {
	Path    Path
	Service ib.ServiceID
	PKey    uint16         // 0 is ib.DefaultPKey
	From    netip.AddrPort // if valid, the header of the RDMA connection manager is sent
	Private []byte         // up to 216 bytes, 180 behind that header
}

// Found is what Answer tells a SIDR request.
type Found struct {
	Status  ib.SIDRStatus
	QPN     ib.QPN
	QKey    uint32
	Private []byte // up to 136 bytes
}

// Attributes is what a queue pair needs to run, as both sides have agreed.
type Attributes struct {
	Path       Path
	Local      ib.QPN
	Remote     ib.QPN
	ReceivePSN ib.PSN // the peer sends from here on
	SendPSN    ib.PSN // we send from here on
	MTU        int
	PKey       uint16
	Timeout    uint8 // code of the retransmission timeout
	Retry      uint8
	RNRRetry   uint8
	Resources  uint8 // READs and atomics kept as responder
	Depth      uint8 // READs and atomics under way as initiator
	Credits    bool  // the peer counts credits
}
