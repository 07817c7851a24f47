package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Algorithm is the reaction point of one QP. It is a pure machine: time comes in with each call.
type Algorithm interface {
	// Sent tells that a data packet of n bytes (whole frame) left for the wire.
	Sent(now unit.Time, n unit.Bytes)
	// Ack tells that the receiver acknowledged new data.
	Ack(now unit.Time, a Ack)
	// Nack tells of a NAK sequence error: data was lost.
	Nack(now unit.Time)
	// CNP tells of a congestion notification packet for this QP.
	CNP(now unit.Time, c CNP)
	// CNM tells of a congestion notification message about a packet of this QP.
	CNM(now unit.Time, c CNM)
	// RTT delivers the answer to a probe that Limit asked for.
	RTT(now unit.Time, rtt time.Duration)
	// Timeout tells that the retransmission timer ran out.
	Timeout(now unit.Time)

	// NextWake is when Wake must be called; unit.Never if the algorithm waits for nothing.
	NextWake() unit.Time
	Wake(now unit.Time)

	// Limit is what the QP may do from now on. It changes only inside the calls above.
	Limit() Limit
	// State shows the inside for counters, logs and plots; same names, same order, every time.
	State() []Value
}

// Limit is the outcome of an algorithm.
type Limit struct {
	Rate   unit.Rate  // of whole frames; at most the line rate
	Window unit.Bytes // bytes in flight at most; 0 means no window
	Probe  bool       // an RTT probe is wanted
	// Plain is how many bytes may still go in packets that are not ECN-capable, which a switch
	// drops where it would mark others. The last packet of them is ECN-capable, and so is the
	// last of a message: a loss before it is noticed. [LDCP] 2.3, 3.1.
	Plain unit.Bytes
}

// Ack describes newly acknowledged data.
type Ack struct {
	Bytes   unit.Bytes // newly acknowledged
	Packets int
	// The rest is known where the peer gives congestion feedback: see Needs.
	Marked int           // packets of these that carried CE
	RTT    time.Duration // since the last of them left; 0 if that cannot be told
	Hops   []byte        // telemetry of its way, records of wire.TelemetryHop; valid in the call
}

// CNP describes a congestion notification packet. The zero value is a plain one; algorithms
// whose receiver says more in it ([DCQCN+] section 5) read the other fields.
type CNP struct {
	Interval time.Duration // the receiver's current CNP interval, 0 if it did not say
	Flows    int           // congested flows the receiver sees, 0 if it did not say
}

// CNM is what a QCN congestion point says of one queue. [QCN] section 2, IEEE 802.1Q-2022 33.4.
type CNM struct {
	Feedback uint8      // -Fb quantized to 6 bits, 0 to 63
	QOffset  unit.Bytes // Qeq - Q: negative when the queue is too long
	QDelta   unit.Bytes // by how much the queue grew since the last sample
}

// Setup is what a reaction point is told about its QP when it is made.
type Setup struct {
	Line unit.Rate  // of the port
	MTU  unit.Bytes // largest whole frame of the QP's data
	Seed uint64     // of the reaction point's dice; another one for each QP
}

// Value is one named number of an algorithm's state.
type Value struct {
	Name  string // e.g. "alpha", "target_rate_bps"
	Value float64
}
