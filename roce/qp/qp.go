package qp

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Config is what a QP is made with. What the peers agree on (see ReceiveAttributes and
// SendAttributes) stands here as the default, and is replaced by each transition.
type Config struct {
	QPN            ib.QPN
	PD             PD
	MTU            int // path MTU: payload of a full packet, 256 to 4096
	SendQueue      int // work requests
	ReceiveQueue   int
	MaxOutstanding int         // packets sent and not acknowledged
	ReadDepth      int         // READs and atomics in flight, as requester; 0 refuses them
	Resources      int         // READs and atomics of the peer that are kept, as responder
	AckEvery       int         // ask for an acknowledgement every so many packets
	Timeout        uint8       // code: 4.096 us x 2^Timeout; 0 is never. IBTA 9.7.6.1.3
	RetryCount     uint8       // retransmissions without progress, 0 to 7
	RNRRetry       uint8       // the same for receiver not ready; 7 is for ever
	MaxInline      int         // bytes that a work request may carry itself
	Credits        bool        // tell the peer how many receives there are; rxe does not
	PKey           uint16      // partition
	MinRNRTimer    ib.RNRTimer // what we tell a peer when no receive is posted

	Personality
}

// DefaultConfig has perftest's values where it has any and rxe's distance of acknowledgements. The
// depth of READs and atomics is our choice; perftest and rxe use up to 128.
func DefaultConfig() Config {
	return Config{MTU: 1024, SendQueue: 128, ReceiveQueue: 128, MaxOutstanding: 8192,
		ReadDepth: 16, Resources: 16, AckEvery: 64, Timeout: 14, RetryCount: 7, RNRRetry: 7,
		PKey: ib.DefaultPKey, MinRNRTimer: 12}
}

// maxInline bounds what a send queue takes of memory. Our choice: no standard names one.
const maxInline = 1024

// rnrForEver is the retry count that never runs out. IBTA 9.7.5.2.8.
const rnrForEver = 7

// QP is a reliable connected queue pair. Make it with New.
type QP struct {
	cfg      settings
	mem      *Memory
	cq       *CQ
	srq      *SRQ // nil: receives are its own
	counters *Counters
	state    State
	remote   ib.QPN
	now      unit.Time // of the call under way, for completions

	Stats Stats

	req  requester
	resp responder
}

// New makes a QP in RESET.
func New(cfg Config, mem *Memory, cq *CQ, counters *Counters) *QP {
	q := &QP{cfg: cfg.pack(), mem: mem, cq: cq, counters: counters}
	q.req.queue = newQueue[sendWQE](cfg.SendQueue)
	q.req.inline = make([]byte, cfg.SendQueue*cfg.MaxInline)
	q.resp.queue = newQueue[receiveWQE](cfg.ReceiveQueue)
	q.clear()
	return q
}

func (q *QP) clear() {
	q.req = requester{queue: q.req.queue, sending: q.req.queue.tail, inline: q.req.inline,
		deadline: unit.Never, heldUntil: unit.Never}
	q.resp.kept.head = q.resp.kept.tail
	q.resp = responder{queue: q.resp.queue, kept: q.resp.kept, due: q.resp.kept.tail,
		ackAt: unit.Never, nakAt: unit.Never}
}

// QPN is the queue pair's number.
func (q *QP) QPN() ib.QPN { return q.cfg.qpn }

// Remote is the peer's number.
func (q *QP) Remote() ib.QPN { return q.remote }

// State is where in its life the QP is.
func (q *QP) State() State { return q.state }

// mtu is the path MTU.
func (q *QP) mtu() int { return int(q.cfg.mtu) }

// CQ is where completions go.
func (q *QP) CQ() *CQ { return q.cq }

// flush ends all work: the state is ERR and no timer runs. A NAK that is owed still goes out, and
// so do the answers to what came before.
func (q *QP) flush() {
	q.state = StateErr
	q.req.deadline, q.req.heldUntil, q.resp.nakAt = unit.Never, unit.Never, unit.Never
	q.resp.ackOwed, q.resp.ackAt = q.resp.ackOwed || q.resp.ackAt != unit.Never, unit.Never
	for q.req.queue.len() > 0 {
		q.completeSend(Flushed)
	}
	if q.resp.holds {
		q.completeReceive(Flushed, nil)
	}
	for q.resp.queue.len() > 0 {
		q.resp.take(&q.resp.queue)
		q.completeReceive(Flushed, nil)
	}
}

// Deadline is when Wake must be called; unit.Never if the QP waits for nothing.
func (q *QP) Deadline() unit.Time {
	return min(q.req.deadline, q.req.heldUntil, q.resp.ackAt, q.resp.nakAt)
}

// Validate returns every fault, each starting with the field's name in configuration.
func (c *Config) Validate() (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(c.MTU == 256 || c.MTU == 512 || c.MTU == 1024 || c.MTU == 2048 || c.MTU == 4096,
		"mtu: %d is not 256, 512, 1024, 2048 or 4096", c.MTU) // IBTA 9.4.3
	must(c.SendQueue > 0, "send_queue: %d is not positive", c.SendQueue)
	must(c.ReceiveQueue > 0, "receive_queue: %d is not positive", c.ReceiveQueue)
	must(c.MaxOutstanding > 0 && c.MaxOutstanding < ib.MaxPSNWindow,
		"max_outstanding: %d is not in 1..%d", c.MaxOutstanding, ib.MaxPSNWindow-1)
	must(c.ReadDepth >= 0 && c.ReadDepth <= MaxResources,
		"read_depth: %d is not in 0..%d", c.ReadDepth, MaxResources)
	must(c.Resources >= 0 && c.Resources <= MaxResources,
		"resources: %d is not in 0..%d", c.Resources, MaxResources)
	must(c.AckEvery > 0 && c.AckEvery < ib.MaxPSNWindow,
		"ack_every: %d is not in 1..%d", c.AckEvery, ib.MaxPSNWindow-1)
	must(c.Timeout < 32, "timeout: code %d is not in 0..31", c.Timeout)
	must(c.RetryCount < 8, "retry_count: %d is not in 0..7", c.RetryCount)
	must(c.RNRRetry < 8, "rnr_retry: %d is not in 0..7", c.RNRRetry)
	must(c.MaxInline >= 0 && c.MaxInline <= maxInline,
		"max_inline: %d is not in 0..%d", c.MaxInline, maxInline)
	must(c.AckCoalesce.Packets >= 0 && c.AckCoalesce.Packets < ib.MaxPSNWindow,
		"ack_coalesce.packets: %d is not in 0..%d", c.AckCoalesce.Packets, ib.MaxPSNWindow-1)
	must(c.AckCoalesce.Delay >= 0, "ack_coalesce.delay: %v is negative", c.AckCoalesce.Delay)
	must(c.AckCoalesce.Packets <= 1 || c.AckCoalesce.Delay > 0,
		"ack_coalesce.delay: is needed with ack_coalesce.packets, or the last ACK never goes out")
	must(c.NAKDelay >= 0, "nak_delay: %v is negative", c.NAKDelay)
	must(c.RetransmitDelay >= 0, "retransmit_delay: %v is negative", c.RetransmitDelay)
	must(c.OutOfOrder < outOfOrders, "out_of_order: %d is unknown", c.OutOfOrder)
	must(c.Recovery < recoveries, "recovery: %d is unknown", c.Recovery)
	must(c.PKey&^ib.FullMember != 0, "pkey: %#04x is not valid", c.PKey) // IBTA 10.9.1.1
	must(c.MinRNRTimer < 32, "min_rnr_timer: code %d is not in 0..31", c.MinRNRTimer)
	return faults
}
