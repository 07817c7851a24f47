package qos

import (
	"fmt"

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
	maxQeq     unit.Bytes = 1 << 31
	maxW                  = 1024
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
