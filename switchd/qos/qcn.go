package qos

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// QCNConfig is a QCN congestion point. [QCN] section 2, "The CP Algorithm"; IEEE 802.1Q-2022 32.8.
// The zero value is none.
type QCNConfig struct {
	// Qeq is the queue length to hold, cpQSp in the standard; 0 switches the point off.
	Qeq unit.Bytes
	// W weighs how fast the queue grows against how long it is: not negative, cpW.
	W float64
	// Base is how much is enqueued between two samples when there is no congestion,
	// cpSampleBase; [QCN] table 1 divides it when there is.
	Base unit.Bytes
	// Jitter is the part of the sampling period by which each period is lengthened or shortened
	// at random, 0 to below 1.
	Jitter float64
	// Headers is how much of the sampled frame goes into a CNM behind its addresses and tags:
	// cpMinHeaderOctets, 0 to 64 bytes.
	Headers int
}

// NetFPGA is the congestion point of [QCN]: table 2, table 1 and "jittered by +/- 15%".
func NetFPGA() QCNConfig {
	return QCNConfig{Qeq: 33 * unit.KB, W: 2, Base: sampleBase, Jitter: 0.15}
}

// On reports whether there is a congestion point.
func (c *QCNConfig) On() bool { return c.Qeq != 0 }

// sampleBase is the first row of [QCN] table 1.
const sampleBase = 150 * unit.KB

// The largest values, so that a feedback fits 64 bits in fixed point.
const (
	maxQeq     unit.Bytes = 1 << 30
	maxW                  = 256
	maxHeaders            = 64 // IEEE 802.1Q-2022 33.4.10
)

// Validate says what is wrong with the configuration.
func (c *QCNConfig) Validate() error {
	switch {
	case *c == QCNConfig{}:
		return nil
	case c.Qeq <= 0 || c.Qeq > maxQeq:
		return fmt.Errorf("QCN: equilibrium %v, want above 0, to %v", c.Qeq, maxQeq)
	case !(c.W >= 0 && c.W <= maxW):
		return fmt.Errorf("QCN: W %v, want 0 to %d", c.W, maxW)
	case c.Base <= 0 || c.Base > maxQeq:
		return fmt.Errorf("QCN: sampling base %v, want above 0, to %v", c.Base, maxQeq)
	case !(c.Jitter >= 0 && c.Jitter < 1):
		return fmt.Errorf("QCN: jitter %v, want 0 to below 1", c.Jitter)
	case c.Headers < 0 || c.Headers > maxHeaders:
		return fmt.Errorf("QCN: %d bytes of the sampled frame, want 0 to %d", c.Headers, maxHeaders)
	}
	return nil
}

// Feedback is what a congestion point found when it sampled a frame.
type Feedback struct {
	// Congested reports that Fb was negative, which is when the source is told.
	Congested bool
	// Quantized is -Fb in 6 bits, 0 to 63. [QCN] section 2 leaves the scale open; as in the
	// published algorithm 63 is the least Fb that a queue of twice Qeq reaches which was empty at
	// the last sample, -Qeq(2W+1), and everything below it.
	Quantized uint8
	// Qoff is Q - Qeq, and Qdelta is Q - Qold. [QCN] section 2.
	Qoff, Qdelta unit.Bytes
}

// Sampling counts what a congestion point did.
type Sampling struct {
	Samples   uint64
	Congested uint64 // samples with negative Fb
}

// wBits is the fixed point of W.
const wBits = 16

// CongestionPoint is the machine of one queue. The zero value is off.
type CongestionPoint struct {
	Sampling

	qeq, qold unit.Bytes
	w         int64      // in fixed point
	left      unit.Bytes // to be enqueued before the next sample
	period    [feedbacks / perRow]unit.Bytes
	jitter    [feedbacks / perRow]unit.Bytes
}

// feedbacks is how many values 6 bits have; table 1 has a row for each perRow of them.
const (
	feedbacks = 64
	perRow    = 8
)

// table1 is [QCN] table 1: how much is enqueued between two samples, by Quantized / 8.
var table1 = [feedbacks / perRow]unit.Bytes{150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500,
	18_500}

// NewCongestionPoint returns the machine of a valid configuration.
func NewCongestionPoint(c QCNConfig) CongestionPoint {
	p := CongestionPoint{qeq: c.Qeq, w: int64(math.Round(c.W * (1 << wBits))), left: c.Base}
	for i, period := range table1 {
		p.period[i] = max(1, period*c.Base/sampleBase)
		p.jitter[i] = unit.Bytes(float64(p.period[i]) * c.Jitter)
	}
	return p
}

// On reports whether there is a congestion point.
func (c *CongestionPoint) On() bool { return c.qeq != 0 }

// Enqueued tells that a frame of n bytes came into the queue, which with it is of a length. It
// reports whether this is the frame to sample, and what the sample says.
func (c *CongestionPoint) Enqueued(n, queue unit.Bytes, rng *rand.Rand) (Feedback, bool) {
	if c.left -= n; c.left > 0 {
		return Feedback{}, false
	}
	fb := c.feedback(queue)
	// [QCN] section 3.2: Qold is the queue at the last sample, whether or not it made a message.
	c.qold = queue
	row := fb.Quantized / perRow
	c.left = c.period[row]
	if j := c.jitter[row]; j > 0 {
		c.left += unit.Bytes(rng.Uint64N(uint64(2*j+1))) - j
	}
	c.Samples++
	if fb.Congested {
		c.Congested++
	}
	return fb, true
}

// feedback is [QCN] equation 1, Fb = -(Qoff + W Qdelta), and its quantization.
func (c *CongestionPoint) feedback(queue unit.Bytes) Feedback {
	f := Feedback{Qoff: queue - c.qeq, Qdelta: queue - c.qold}
	minus := int64(f.Qoff)<<wBits + c.w*int64(f.Qdelta) // -Fb
	if minus <= 0 {
		return f // "When Fb >= 0, there is no congestion and no feedback messages are sent."
	}
	most := int64(c.qeq) * (2*c.w + 1<<wBits)
	f.Congested = true
	f.Quantized = uint8(min(minus, most) * (feedbacks - 1) / most)
	return f
}
