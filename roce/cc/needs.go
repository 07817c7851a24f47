package cc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Needs is what an algorithm wants of its peer beyond standard RoCE. A QP can use it only with a
// peer that has agreed to give congestion feedback.
type Needs struct {
	// Feedback: the peer tells of every packet of data, answers to READs included, and whether
	// it was marked. Ack events come from that, not from the transport, and windows count it.
	Feedback bool
	Every    int  // for at most so many packets at a time, marked ones at once; 1 to 255
	Probe    bool // it answers RTT probes
}

// Any reports whether anything is needed.
func (n Needs) Any() bool { return n.Feedback || n.Probe }

// NeedsOf is what an algorithm needs.
func NeedsOf(p Params) Needs {
	if s, ok := p.(interface{ Needs() Needs }); ok {
		return s.Needs()
	}
	return Needs{}
}

// TokenBucket is the rate limiter that an algorithm was published with. The zero value is the
// NIC's own, which is filled all the time.
type TokenBucket struct {
	Depth  unit.Bytes
	Refill time.Duration // between two fillings
}

// BucketOf is the rate limiter that an algorithm asks for.
func BucketOf(p Params) TokenBucket {
	if s, ok := p.(interface{ TokenBucket() TokenBucket }); ok {
		return s.TokenBucket()
	}
	return TokenBucket{}
}
