package wire

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// In-band telemetry is a trailer of the Ethernet frame, behind the last byte that the IP header
// counts: IP stacks, the ICRC and the UDP checksum do not cover it, and what captures frames
// shows it as the trailer that Ethernet allows. Each hop puts its record behind those before it,
// and the foot moves on to the new end, where it is found without reading anything else:
//
//	| IP packet | padding | hop 1 | hop 2 | ... | foot |
//
// No standard fixes this format. P4's INT and HPCC put the same facts behind the UDP header,
// where the length fields and the ICRC would have to change at every hop.
const (
	TelemetryFootLen = 4
	TelemetryHopLen  = 32
)

// TelemetryMaxHops is how many records a foot can count.
const TelemetryMaxHops = 15

// Telemetry is a view of the foot.
//
//	bytes 2 magic | bits 4 version, 4 hops | byte 1 record length in units of 4 bytes
type Telemetry [TelemetryFootLen]byte

const (
	telemetryMagic   = 0x1e7a
	telemetryVersion = 1
	lengthUnit       = 4
)

// AsTelemetry views the foot at the end of b, which is what a frame has behind its IP packet;
// false if there is none, or not with all its records.
func AsTelemetry(b []byte) (*Telemetry, bool) {
	at := len(b) - TelemetryFootLen
	if at < 0 {
		return nil, false
	}
	h := (*Telemetry)(b[at:])
	if binary.BigEndian.Uint16(h[0:2]) != telemetryMagic || h[2]>>4 != telemetryVersion ||
		h[3] != TelemetryHopLen/lengthUnit || h.Hops()*TelemetryHopLen > at {
		return nil, false
	}
	return h, true
}

// Init makes a foot with no records.
func (h *Telemetry) Init() {
	binary.BigEndian.PutUint16(h[0:2], telemetryMagic)
	h[2], h[3] = telemetryVersion<<4, TelemetryHopLen/lengthUnit
}

// Hops is how many records there are, 0 to 15.
func (h *Telemetry) Hops() int { return int(h[2] & 0xf) }

// SetHops sets the number of records to the low four bits of n.
func (h *Telemetry) SetHops(n int) { h[2] = h[2]&0xf0 | uint8(n)&0xf }

// TelemetryHops returns the records of a foot that AsTelemetry found in b, the first hop first.
func TelemetryHops(b []byte, h *Telemetry) []byte {
	end := len(b) - TelemetryFootLen
	return b[end-h.Hops()*TelemetryHopLen : end]
}

// TelemetryHop is a view of one hop's record: what the frame met when it was taken out of its
// queue. All are the switch's own counts, so a reader compares records of the same hop.
//
//	bytes 4 switch | 2 port | 1 queue | 1 zero | 8 time | 8 sent bytes | 4 queue length | 4 rate
type TelemetryHop [TelemetryHopLen]byte

// AsTelemetryHop views the first bytes of b; false if there are too few.
func AsTelemetryHop(b []byte) (*TelemetryHop, bool) {
	if len(b) < TelemetryHopLen {
		return nil, false
	}
	return (*TelemetryHop)(b), true
}

// Init makes an empty record.
func (h *TelemetryHop) Init() { *h = TelemetryHop{} }

// Switch names the switch.
func (h *TelemetryHop) Switch() uint32 { return binary.BigEndian.Uint32(h[0:4]) }

// SetSwitch sets the name of the switch.
func (h *TelemetryHop) SetSwitch(id uint32) { binary.BigEndian.PutUint32(h[0:4], id) }

// Port is the number of the egress port.
func (h *TelemetryHop) Port() uint16 { return binary.BigEndian.Uint16(h[4:6]) }

// SetPort sets the number of the egress port.
func (h *TelemetryHop) SetPort(p uint16) { binary.BigEndian.PutUint16(h[4:6], p) }

// Queue is the number of the egress queue.
func (h *TelemetryHop) Queue() uint8 { return h[6] }

// SetQueue sets the number of the egress queue.
func (h *TelemetryHop) SetQueue(q uint8) { h[6] = q }

// Time is when the frame was taken out of its queue, on the lab's clock.
func (h *TelemetryHop) Time() unit.Time { return unit.Time(binary.BigEndian.Uint64(h[8:16])) }

// SetTime sets the time.
func (h *TelemetryHop) SetTime(t unit.Time) { binary.BigEndian.PutUint64(h[8:16], uint64(t)) }

// Sent is what the port had sent before this frame, in bytes of frames without FCS, those of MAC
// control included. It never goes back, so two records tell the port's rate between them.
func (h *TelemetryHop) Sent() uint64 { return binary.BigEndian.Uint64(h[16:24]) }

// SetSent sets it.
func (h *TelemetryHop) SetSent(n uint64) { binary.BigEndian.PutUint64(h[16:24], n) }

// QueueLen is the length of the queue behind the frame, in bytes.
func (h *TelemetryHop) QueueLen() unit.Bytes {
	return unit.Bytes(binary.BigEndian.Uint32(h[24:28]))
}

// SetQueueLen sets the length of the queue; one that does not fit becomes the longest that does.
func (h *TelemetryHop) SetQueueLen(n unit.Bytes) {
	binary.BigEndian.PutUint32(h[24:28], uint32(min(max(n, 0), 1<<32-1)))
}

// Rate is the rate of the link, to 1 kb/s.
func (h *TelemetryHop) Rate() unit.Rate {
	return unit.Rate(binary.BigEndian.Uint32(h[28:32])) * unit.KbPerSecond
}

// SetRate sets the rate of the link; one above 4 Tb/s becomes the highest that fits.
func (h *TelemetryHop) SetRate(r unit.Rate) {
	binary.BigEndian.PutUint32(h[28:32], uint32(min(max(r/unit.KbPerSecond, 0), 1<<32-1)))
}
