package qp

import (
	"fmt"
	"time"
)

// Personality is how a NIC does what the standard leaves to it. The zero value answers at once,
// as rxe does.
type Personality struct {
	AckCoalesce AckCoalesce
	// NAKDelay is how long the responder holds back the NAK of a gap. If what is missing comes
	// meanwhile, as after reordering, no NAK goes out.
	NAKDelay time.Duration
	// RetransmitDelay is how long the requester takes to go back after the NAK of a gap, or a gap
	// in the answer to a READ. It sends nothing meanwhile.
	RetransmitDelay time.Duration
	OutOfOrder      OutOfOrder
	Recovery        Recovery
}

// AckCoalesce is how long a responder holds back an ACK that was asked for, so that one may stand
// for several. Whichever bound is reached first sends it; with none it goes out at once.
type AckCoalesce struct {
	Packets int           // that asked for one; 0 and 1 are at once
	Delay   time.Duration // since the first that asked; 0 is at once
}

// OutOfOrder is what a QP does about packets that come before the one it expects: requests, or
// answers to READs and atomics.
type OutOfOrder uint8

// The reactions.
const (
	OutOfOrderNAK    OutOfOrder = iota // one NAK a gap, asking again for answers: IBTA 9.7.5.1
	OutOfOrderSilent                   // dropped without a word: the requester's timer finds out
	outOfOrders
)

var outOfOrderNames = [...]string{"nak", "silent"}

func (o OutOfOrder) String() string { return outOfOrderNames[o] }

// MarshalText returns the name.
func (o OutOfOrder) MarshalText() ([]byte, error) {
	if o >= outOfOrders {
		return nil, fmt.Errorf("out_of_order %d is unknown", uint8(o))
	}
	return []byte(o.String()), nil
}

// UnmarshalText sets the reaction by its name.
func (o *OutOfOrder) UnmarshalText(b []byte) error {
	for i, name := range outOfOrderNames {
		if string(b) == name {
			*o = OutOfOrder(i)
			return nil
		}
	}
	return fmt.Errorf("out_of_order %q: want nak or silent", b)
}
