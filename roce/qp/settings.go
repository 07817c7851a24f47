package qp

import (
	"time"

	"github.com/rocelab/rocelab/roce/ib"
)

// settings is a Config in the types that its ranges need: there may be ten thousand QPs. The
// lengths of the queues are those of the queues.
type settings struct {
	ackDelay, nakDelay, retransmitDelay time.Duration

	qpn            ib.QPN
	pd             PD
	maxOutstanding int32
	ackEvery       int32
	ackPackets     int32
	mtu            uint16
	maxInline      uint16
	pkey           uint16
	readDepth      uint8
	resources      uint8
	timeout        uint8
	retryCount     uint8
	rnrRetry       uint8
	minRNRTimer    ib.RNRTimer
	outOfOrder     OutOfOrder
	recovery       Recovery
	credits        bool
}

func (c *Config) pack() settings {
	return settings{qpn: c.QPN, pd: c.PD, mtu: uint16(c.MTU),
		maxOutstanding: int32(c.MaxOutstanding), ackEvery: int32(c.AckEvery),
		readDepth: uint8(c.ReadDepth), resources: uint8(c.Resources), timeout: c.Timeout,
		retryCount: c.RetryCount, rnrRetry: c.RNRRetry, maxInline: uint16(c.MaxInline),
		credits: c.Credits, pkey: c.PKey, minRNRTimer: c.MinRNRTimer,
		ackPackets: int32(c.AckCoalesce.Packets), ackDelay: c.AckCoalesce.Delay,
		nakDelay: c.NAKDelay, retransmitDelay: c.RetransmitDelay, outOfOrder: c.OutOfOrder,
		recovery: c.Recovery}
}

// Config is what the QP was made with, and what its transitions changed of it.
func (q *QP) Config() Config {
	s := &q.cfg
	return Config{QPN: s.qpn, PD: s.pd, MTU: int(s.mtu), SendQueue: len(q.req.queue.slots),
		ReceiveQueue: len(q.resp.queue.slots), MaxOutstanding: int(s.maxOutstanding),
		ReadDepth: int(s.readDepth), Resources: int(s.resources), AckEvery: int(s.ackEvery),
		Timeout: s.timeout, RetryCount: s.retryCount, RNRRetry: s.rnrRetry,
		MaxInline: int(s.maxInline), Credits: s.credits, PKey: s.pkey,
		MinRNRTimer: s.minRNRTimer,
		Personality: Personality{AckCoalesce: AckCoalesce{int(s.ackPackets), s.ackDelay},
			NAKDelay: s.nakDelay, RetransmitDelay: s.retransmitDelay, OutOfOrder: s.outOfOrder,
			Recovery: s.recovery}}
}

// ackTimeout is that of the QP; zero if the timer is off.
func (s *settings) ackTimeout() time.Duration { return AckTimeout(s.timeout) }

// AckTimeout is the time of a timeout code: 4.096 us x 2^code; zero, which is never, for code 0.
// IBTA 9.7.6.1.3.
func AckTimeout(code uint8) time.Duration {
	if code == 0 {
		return 0
	}
	return time.Duration(4096) << (code & 31)
}

// AckTimeout is how long the QP waits for an acknowledgement; zero is for ever.
func (q *QP) AckTimeout() time.Duration { return q.cfg.ackTimeout() }
