package cc

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// maxFeedback is the largest quantized feedback: 6 bits. [QCN] section 2.
const maxFeedback = 63

// Target rate reduction: [QCN] section 2, "If TR is greater than CR by 10 times, decrease TR by a
// factor of 8."
const (
	farTarget    = 10
	targetFactor = 8
)

// QCN is the reaction point of [QCN] section 2, "The RP Algorithm".
//
//	                CNM: eq 2, 3, cycles anew
//	+----------+ ----------------------------> +--------------------------------------------+
//	| released |                               | limited                                    |
//	| at line  | <---------------------------- |  both counters in FR  fast recovery, eq 4   |
//	+----------+  the current rate is the      |  one of them in AI    active, eq 5, 6       |
//	              line's                       |  both in AI           hyper-active, eq 7, 8 |
//	                                           +--------------------------------------------+
//
// The byte counter and the timer each count cycles: five of fast recovery, then shorter ones. The
// end of any cycle raises the rate, by what the cycle that ended was.
//
// Where [QCN] leaves a choice:
//   - Equations 2 and 3 stand in an order that would make TR the lowered CR. We take the
//     definition of TR in the same section, "just before the arrival of the last feedback".
//   - Target rate reduction has no time. CR is at least TR/2 after any increase, so only a decrease
//     can bring it about, and that is where we look.
//   - The i of equation 7 counts cycles that ended in hyper-active increase since the last CNM.
//   - A limiter at the line's rate is none: it is released, as DCQCN's is.
//
// The token bucket of section 3.2 is the NIC's to have: see TokenBucket. It says nothing of what a
// packet must find there; a packet may go, as everywhere in the NIC, when the bucket owes nothing,
// and is then charged in full.
type QCN struct {
	p    QCNParams
	line float64
	dice rand.PCG

	limited bool
	current float64 // CR, bits per second
	target  float64 // TR
	raised  bool    // CR rose since the last CNM, or there was none

	timerAt    unit.Time  // end of the timer's cycle
	bytes      unit.Bytes // left of the byte counter's cycle
	timerStage int        // cycles that ended
	byteStage  int
	hyper      int // i of eq 7

	values [7]Value
}

// New makes a reaction point.
func (p *QCNParams) New(s Setup) Algorithm {
	q := &QCN{p: *p, line: float64(s.Line)}
	q.dice.Seed(s.Seed, 0)
	q.release()
	return q
}

// release ends the limitation and forgets everything.
func (q *QCN) release() {
	q.limited, q.raised = false, true
	q.current, q.target = q.line, q.line
	q.timerAt, q.bytes = unit.Never, 0
	q.timerStage, q.byteStage, q.hyper = 0, 0, 0
}

// CNM decreases the rate: [QCN] eq 2 and 3.
func (q *QCN) CNM(now unit.Time, c CNM) {
	q.advance(now)
	// "Extra Fast Recovery: ... does not decrease TR and does not reset the Byte Counter except
	// for the first Fb. Everything else (CR and Timer reset) functions in the same way as usual."
	if q.raised {
		q.target = q.current
		q.byteStage, q.bytes = 0, q.byteCycle(0)
	}
	fb := float64(min(c.Feedback, maxFeedback))
	q.current = max(q.current*(1-float64(q.p.Gd*fb)), float64(q.p.MinRate))
	if q.target > q.current*farTarget {
		q.target /= targetFactor
	}
	q.limited, q.raised = true, false
	q.timerStage, q.hyper = 0, 0
	q.timerAt = now.Add(q.timerCycle(0))
}

// Sent runs the byte counter, in whole frames as they use the wire.
func (q *QCN) Sent(now unit.Time, n unit.Bytes) {
	q.advance(now)
	if !q.limited {
		return
	}
	for q.bytes -= n; q.limited && q.bytes <= 0; {
		stage := q.byteStage
		q.byteStage++
		q.bytes += q.byteCycle(q.byteStage)
		q.increase(stage, q.timerStage)
	}
}

// NextWake is the end of the timer's cycle, which runs only while the QP is limited.
func (q *QCN) NextWake() unit.Time { return q.timerAt }

// Wake runs the timer.
func (q *QCN) Wake(now unit.Time) { q.advance(now) }

// advance ends all cycles of the timer up to now, as if each had been on time.
func (q *QCN) advance(now unit.Time) {
	for q.timerAt <= now {
		stage := q.timerStage
		q.timerStage++
		q.timerAt = q.timerAt.Add(q.timerCycle(q.timerStage))
		q.increase(q.byteStage, stage)
	}
}

// increase is [QCN] figure 3, with the stages before the cycle ended.
func (q *QCN) increase(byteStage, timerStage int) {
	switch f := q.p.FastRecovery; {
	case byteStage < f && timerStage < f: // eq 4: the target stays
	case byteStage >= f && timerStage >= f: // eq 7
		q.hyper++
		q.target += float64(float64(q.hyper) * float64(q.p.RateHAI))
	default: // eq 5
		q.target += float64(q.p.RateAI)
	}
	q.target = min(q.target, q.line)
	q.current = (q.current + q.target) / 2 // eq 4, 6, 8
	q.raised = true
	// The mean approaches the line rate without end; less than half a bit per second is there.
	if q.current > q.line-0.5 {
		q.release()
	}
}

// byteCycle draws a cycle of the byte counter: half as long once fast recovery is over.
func (q *QCN) byteCycle(stage int) unit.Bytes {
	return unit.Bytes(q.cycle(int64(q.p.ByteCounter), stage))
}

// timerCycle draws a cycle of the timer: likewise.
func (q *QCN) timerCycle(stage int) time.Duration {
	return time.Duration(q.cycle(int64(q.p.Timer), stage))
}

// cycle is a period with its jitter, even on both sides: [QCN] section 2, "jittered by +/- 15%".
func (q *QCN) cycle(period int64, stage int) int64 {
	if stage >= q.p.FastRecovery {
		period /= 2
	}
	part := int64(float64(period) * q.p.Jitter)
	if part == 0 {
		return period
	}
	off, _ := bits.Mul64(q.dice.Uint64(), uint64(2*part+1))
	return period - part + int64(off)
}

// CNP means nothing to QCN: it listens to switches only.
func (q *QCN) CNP(now unit.Time, _ CNP) { q.advance(now) }

// Ack means nothing to QCN: there are none in Ethernet.
func (q *QCN) Ack(now unit.Time, _ Ack) { q.advance(now) }

// Nack means nothing to QCN.
func (q *QCN) Nack(now unit.Time) { q.advance(now) }

// RTT means nothing to QCN, which never asks for it.
func (q *QCN) RTT(now unit.Time, _ time.Duration) { q.advance(now) }

// Timeout means nothing to QCN.
func (q *QCN) Timeout(now unit.Time) { q.advance(now) }

// Limit is the current rate.
func (q *QCN) Limit() Limit { return Limit{Rate: unit.Rate(q.current)} }

// State shows the section's variables. The slice is overwritten by the next call.
func (q *QCN) State() []Value {
	limited := 0.0
	if q.limited {
		limited = 1
	}
	q.values = [...]Value{
		{"current_rate_bps", q.current}, {"target_rate_bps", q.target},
		{"timer_stage", float64(q.timerStage)}, {"byte_stage", float64(q.byteStage)},
		{"byte_counter", float64(q.bytes)}, {"hyper_increases", float64(q.hyper)},
		{"limited", limited},
	}
	return q.values[:]
}
