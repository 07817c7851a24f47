package qp

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/roce/ib"
)

// ErrAttribute is the family of errors about what a transition is given.
var ErrAttribute = errors.New("attribute")

// ReceiveAttributes is what a QP must know of its peer to receive: the attributes of the
// transition from INIT to RTR. ibv_modify_qp(3) names the same.
type ReceiveAttributes struct {
	Remote ib.QPN
	PSN    ib.PSN // of the first packet of the peer's
	MTU    int    // path MTU: 256, 512, 1024, 2048 or 4096

	// Resources is how many READs and atomics the peer may have in flight; 0 refuses them.
	Resources   int
	MinRNRTimer ib.RNRTimer // what we tell the peer when no receive is posted
}

// SendAttributes is what a QP must know of its peer to send: the attributes of the transition from
// RTR to RTS.
type SendAttributes struct {
	PSN        ib.PSN // of our first packet
	Timeout    uint8  // code: 4.096 us x 2^Timeout; 0 is never. IBTA 9.7.6.1.3
	RetryCount uint8  // retransmissions without progress, 0 to 7
	RNRRetry   uint8  // the same for receiver not ready; 7 is for ever
	ReadDepth  int    // READs and atomics in flight: at most the peer's Resources
}

// ReceiveAttributes are the defaults of a configuration; Remote and PSN are the caller's to set.
func (c *Config) ReceiveAttributes() ReceiveAttributes {
	return ReceiveAttributes{MTU: c.MTU, Resources: c.Resources, MinRNRTimer: c.MinRNRTimer}
}

// SendAttributes are the defaults of a configuration; PSN is the caller's to set.
func (c *Config) SendAttributes() SendAttributes {
	return SendAttributes{Timeout: c.Timeout, RetryCount: c.RetryCount, RNRRetry: c.RNRRetry,
		ReadDepth: c.ReadDepth}
}

// attribute makes the error of the first fault, nil if there is none.
func attribute(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w %w", ErrAttribute, faults[0])
}

// adoptReceive takes the attributes over, or says which is wrong and changes nothing.
func (q *QP) adoptReceive(a ReceiveAttributes) error {
	c := q.Config()
	c.MTU, c.Resources, c.MinRNRTimer = a.MTU, a.Resources, a.MinRNRTimer
	if err := attribute(c.Validate()); err != nil {
		return err
	}
	if a.Remote > ib.MaxQPN {
		return fmt.Errorf("%w remote: %v is not a QP number", ErrAttribute, a.Remote)
	}
	q.cfg = c.pack()
	if len(q.resp.kept.slots) != c.Resources {
		q.resp.kept = newQueue[resource](c.Resources)
		q.resp.due = q.resp.kept.tail
	}
	q.remote, q.resp.expected = a.Remote, ib.MakePSN(uint32(a.PSN))
	return nil
}

// adoptSend is the same for sending.
func (q *QP) adoptSend(a SendAttributes) error {
	c := q.Config()
	c.Timeout, c.RetryCount, c.RNRRetry = a.Timeout, a.RetryCount, a.RNRRetry
	c.ReadDepth = a.ReadDepth
	if err := attribute(c.Validate()); err != nil {
		return err
	}
	q.cfg = c.pack()
	r := &q.req
	first := seq(ib.MakePSN(uint32(a.PSN)))
	r.unacked, r.next, r.highest, r.posted = first, first, first, first
	return nil
}
