package uverbs

import (
	"errors"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// submit takes what the program has put into its ring, and returns how many entries. Each is copied
// before anything in it is looked at.
func (p *program) submit(now unit.Time) (taken int) {
	ready, ok := p.ring.Ready()
	if p.ended {
		return 0
	}
	if !ok {
		p.kill("submission ring: its index is ahead of its size")
		return 0
	}
	for taken < min(ready, burst) {
		var e abi.Submission
		p.ring.Take(taken, p.entry[:])
		e.Decode(p.entry[:])
		taken++
		var inline []byte
		if e.Flags&abi.FlagInline != 0 {
			n := int(e.Length)
			if e.Length > abi.MaxInline || taken+abi.InlineEntries(n) > ready {
				p.kill("submission ring: inline data that does not fit")
				return taken
			}
			inline = p.inlined(&taken, n)
		}
		p.accept(now, &e, inline)
	}
	if taken > 0 {
		p.ring.Release(taken)
	}
	return taken
}

// inlined copies the n bytes in the entries from taken on.
func (p *program) inlined(taken *int, n int) []byte {
	for at := 0; at < n; at += abi.SubmissionSize {
		p.ring.Take(*taken, p.inline[at:min(at+abi.SubmissionSize, len(p.inline))])
		*taken++
	}
	return p.inline[:n]
}

// accept hands one entry to the NIC.
func (p *program) accept(now unit.Time, e *abi.Submission, inline []byte) {
	n := p.server.cfg.Host.NIC()
	receive := qp.ReceiveWR{ID: e.ID, Local: local(e)}
	if e.Kind == abi.KindShared {
		q := p.srqs[e.Handle]
		if q == nil || n.PostSRQ(q.srq, receive) != nil {
			p.server.stats.Refused++
			return
		}
		q.posted++
		return
	}
	q := p.queues[e.Handle]
	switch {
	case q == nil:
		p.server.stats.Refused++
	case e.Kind == abi.KindReceive:
		if err := n.PostReceive(now, q.qpn, receive); err != nil {
			p.refuse(now, q, e, err)
		}
	case e.Kind == abi.KindSend:
		p.post(now, q, e, inline)
	default:
		p.server.stats.Refused++
	}
}

// post appends work to a send queue.
func (p *program) post(now unit.Time, q *queuePair, e *abi.Submission, inline []byte) {
	n, err := p.server.cfg.Host.NIC(), error(nil)
	if q.ud {
		err = p.postUD(now, q, e, inline)
	} else {
		err = n.Post(now, q.qpn, qp.WR{ID: e.ID, Op: qp.Op(e.Op), Local: local(e),
			Remote: qp.Remote{VA: e.Remote, RKey: e.RKey}, Imm: e.Imm, Inline: inline,
			Atomic:    ib.AtomicOperands{SwapAdd: e.SwapAdd, Compare: e.Compare},
			Solicited: e.Flags&abi.FlagSolicited != 0, Fence: e.Flags&abi.FlagFence != 0})
	}
	if err != nil {
		p.refuse(now, q, e, err)
		return
	}
	q.note(now, e.Flags&abi.FlagUnsignaled != 0)
}

// note keeps what the completion of a request will need.
func (q *queuePair) note(now unit.Time, quiet bool) {
	at := q.sent % uint32(len(q.quiet))
	q.quiet[at], q.taken[at] = quiet, now
	q.sent++
}

// postUD appends a datagram.
func (p *program) postUD(now unit.Time, q *queuePair, e *abi.Submission, inline []byte) error {
	a, ok := p.ahs[e.Address]
	if op := qp.Op(e.Op); !ok || inline != nil || op != qp.Send && op != qp.SendImm {
		return qp.ErrOp
	}
	return p.server.cfg.Host.NIC().PostUD(now, q.qpn, qp.UDWR{ID: e.ID, Local: local(e),
		To:  qp.Address{Handle: uint32(a.ah), QPN: ib.QPN(e.QPN), QKey: e.QKey},
		Imm: e.Imm, HasImm: qp.Op(e.Op) == qp.SendImm,
		Solicited: e.Flags&abi.FlagSolicited != 0})
}

// refuse ends a request that the NIC does not take, and its QP with it. IBTA lets a QP
// finish the requests before; we deviate: they are flushed, because a correct program never gets
// here, rdma.QP.Post judges first.
func (p *program) refuse(now unit.Time, q *queuePair, e *abi.Submission, err error) {
	host := p.server.cfg.Host
	_ = host.NIC().Fail(now, q.qpn)
	host.Serve(now)
	c := qp.Completion{ID: e.ID, QPN: q.qpn, Op: qp.Receive, Status: qp.LocalOperation, At: now}
	if e.Kind == abi.KindSend {
		if c.Op = qp.Op(e.Op); c.Op >= qp.Receive {
			c.Op = qp.Send
		}
		q.note(now, false)
	}
	switch {
	case errors.Is(err, qp.ErrLocal):
		c.Status = qp.LocalProtection
	case errors.Is(err, qp.ErrLength):
		c.Status = qp.LocalLength
	}
	q.Completed(now, &c)
}

func local(e *abi.Submission) qp.Local {
	return qp.Local{Key: e.Key, VA: e.VA, Length: int(e.Length)}
}
