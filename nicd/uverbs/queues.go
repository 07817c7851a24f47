package uverbs

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// What things take of the daemon's memory at most, for the account: a send queue entry with its
// completion, a receive, a READ or atomic of the peer whose answer is kept, a connection of the
// connection manager with the message that it repeats.
const (
	sendBytes       = 256
	receiveBytes    = 128
	resourceBytes   = 64
	connectionBytes = 1024
	queueBytes      = 2048 // of a queue pair without its queues
)

// queuePair is a QP of a program, and the owner of its completions.
type queuePair struct {
	program    *program
	handle     uint32
	qpn        ib.QPN
	ud         bool
	qkey       uint32 // of datagrams
	connection cm.ID  // 0: not by the connection manager
	send       *completionQueue
	receive    *completionQueue
	srq        *sharedQueue // nil: none
	charge     int64

	quiet        []bool      // by place in the send queue: no completion if it succeeds
	taken        []unit.Time // by place in the send queue: when the NIC took it
	sent, ended  uint32      // requests taken into the send queue, and out of it
	receivesDone uint32
}

// sharedQueue is a shared receive queue of a program.
type sharedQueue struct {
	program *program
	handle  uint32
	srq     *nic.SRQ
	posted  uint32 // receives so far
	charge  int64
}

// depths fills in what the program left to us, and judges the rest.
func (p *program) depths(c *abi.CreateQP) error {
	s := p.server
	def := s.cfg.Host.NIC().QPConfig()
	if c.SendDepth == 0 {
		c.SendDepth = def.SendQueue
	}
	if c.ReceiveDepth == 0 || c.SRQ != 0 {
		c.ReceiveDepth = def.ReceiveQueue
	}
	if c.MTU == 0 {
		c.MTU = def.MTU
	}
	most := s.cfg.Limits.Depth
	for _, d := range []struct {
		name string
		n    int
	}{{"send_depth", c.SendDepth}, {"receive_depth", c.ReceiveDepth}} {
		if d.n < 1 || d.n > most {
			return fmt.Errorf("%w: %s %d is not in 1..%d", errInvalid, d.name, d.n, most)
		}
	}
	if c.MaxInline < 0 || c.MaxInline > abi.MaxInline {
		return fmt.Errorf("%w: max_inline %d is not in 0..%d", errInvalid, c.MaxInline,
			abi.MaxInline)
	}
	return nil
}

// service is what the NIC shall do for this QP differently than for others.
func (p *program) service(c *abi.CreateQP) (s nic.Service, err error) {
	s.DSCP = c.DSCP
	if c.Algorithm == "" {
		return s, nil
	}
	if s.CC, err = p.server.cfg.Algorithms.Params(c.Algorithm, ""); err != nil {
		return s, fmt.Errorf("%w: %w", errInvalid, err)
	}
	rate := p.server.cfg.Host.NIC().Config().Rate
	if err := errors.Join(s.CC.Validate(rate)...); err != nil {
		return s, fmt.Errorf("%w: %s: %w", errInvalid, c.Algorithm, err)
	}
	return s, nil
}

func (p *program) createQP(c abi.CreateQP) (made abi.CreatedQP, err error) {
	if err := p.depths(&c); err != nil {
		return made, err
	}
	s, err := p.service(&c)
	if err != nil {
		return made, err
	}
	q := &queuePair{program: p, ud: c.UD, qkey: c.QKey, quiet: make([]bool, c.SendDepth),
		taken: make([]unit.Time, c.SendDepth),
		charge: queueBytes + int64(c.SendDepth)*int64(sendBytes+c.MaxInline) +
			int64(c.ReceiveDepth)*receiveBytes}
	if !c.UD { // how many it wants is known when it is connected
		q.charge += qp.MaxResources * resourceBytes
	}
	if err := p.charge(q.charge); err != nil {
		return made, err
	}
	err = p.do(func(unit.Time) error {
		made, err = p.create(&c, s, q)
		return err
	})
	if err != nil {
		p.memory.Add(-q.charge)
	}
	return made, err
}

// create makes the QP on the loop's thread.
func (p *program) create(c *abi.CreateQP, s nic.Service, q *queuePair) (made abi.CreatedQP,
	err error) {
	if most := p.server.cfg.Limits.Queues; len(p.queues) >= most {
		return made, fmt.Errorf("%w: %d queue pairs", errLimit, most)
	}
	pd, ok := p.pds[c.PD]
	if !ok {
		return made, missing("protection domain", c.PD)
	}
	if q.send = p.cqs[c.SendCQ]; q.send == nil {
		return made, missing("completion queue", c.SendCQ)
	}
	if q.receive = p.cqs[c.ReceiveCQ]; q.receive == nil {
		return made, missing("completion queue", c.ReceiveCQ)
	}
	if c.SRQ != 0 {
		if q.srq = p.srqs[c.SRQ]; q.srq == nil {
			return made, missing("shared receive queue", c.SRQ)
		}
		s.SRQ = q.srq.srq
	}
	local, err := p.createIn(pd, c, s, &made)
	if err != nil {
		return made, err
	}
	q.qpn, q.handle = local.QPN, p.next()
	q.send.users++
	q.receive.users++
	p.queues[q.handle], p.server.queues[q.qpn] = q, q
	p.server.cfg.Host.Own(q.qpn, q)
	made.Handle, made.QPN, made.PSN = q.handle, local.QPN, local.PSN
	made.Send, made.Receive, made.MTU = c.SendDepth, c.ReceiveDepth, c.MTU
	if q.srq != nil {
		made.Receive = 0
	}
	return made, nil
}

// createIn makes the NIC's QP.
func (p *program) createIn(pd qp.PD, c *abi.CreateQP, s nic.Service,
	made *abi.CreatedQP) (nic.Local, error) {
	n := p.server.cfg.Host.NIC()
	if c.UD {
		return n.CreateUD(qp.UDConfig{PD: pd, MTU: c.MTU, SendQueue: c.SendDepth,
			ReceiveQueue: c.ReceiveDepth, QKey: c.QKey}, s)
	}
	cfg := n.QPConfig()
	cfg.PD, cfg.SendQueue, cfg.ReceiveQueue = pd, c.SendDepth, c.ReceiveDepth
	cfg.MTU, cfg.MaxInline = c.MTU, c.MaxInline
	made.In, made.Out = cfg.ReceiveAttributes(), cfg.SendAttributes()
	return n.CreateRC(cfg, s)
}

// reliable finds an RC QP of the program.
func (p *program) reliable(h uint32) (*queuePair, error) {
	q := p.queues[h]
	switch {
	case q == nil:
		return nil, missing("queue pair", h)
	case q.ud:
		return nil, fmt.Errorf("%w: datagrams need no connection", errInvalid)
	}
	return q, nil
}

func (p *program) readyReceive(r abi.ReadyReceive) (none, error) {
	path, err := p.path(r.Path)
	if err != nil {
		return none{}, err
	}
	return none{}, p.do(func(unit.Time) error {
		q, err := p.reliable(r.Handle)
		if err != nil {
			return err
		}
		return p.server.cfg.Host.NIC().ReadyToReceive(q.qpn, nic.Remote{QPN: r.QPN, PSN: r.PSN,
			IP: path.IP, MAC: path.MAC, VLAN: path.VLAN, Source: path.Source, DSCP: path.DSCP,
			Resolved: path.Resolved},
			r.Attributes)
	})
}

func (p *program) readySend(r abi.ReadySend) (none, error) {
	return none{}, p.do(func(unit.Time) error {
		q, err := p.reliable(r.Handle)
		if err != nil {
			return err
		}
		return p.server.cfg.Host.NIC().ReadyToSend(q.qpn, r.Attributes)
	})
}

func (p *program) failQP(h abi.Handle) (none, error) {
	return none{}, p.do(func(now unit.Time) error {
		q := p.queues[h.Handle]
		if q == nil {
			return missing("queue pair", h.Handle)
		}
		err := p.server.cfg.Host.NIC().Fail(now, q.qpn)
		p.server.cfg.Host.Serve(now)
		return err
	})
}

func (p *program) queryQP(h abi.Handle) (st abi.QPState, err error) {
	return st, p.do(func(unit.Time) error {
		q := p.queues[h.Handle]
		if q == nil {
			return missing("queue pair", h.Handle)
		}
		v, _ := p.server.cfg.Host.NIC().View(q.qpn)
		st.State = v.State
		return nil
	})
}

func (p *program) destroyQP(h abi.Handle) (none, error) {
	var q *queuePair
	err := p.do(func(now unit.Time) error {
		if q = p.queues[h.Handle]; q == nil {
			return missing("queue pair", h.Handle)
		}
		p.destroy(now, q)
		return nil
	})
	if err == nil {
		p.memory.Add(-q.charge)
	}
	return none{}, err
}

// destroy takes a QP from the NIC. Nothing more is heard of it.
func (p *program) destroy(now unit.Time, q *queuePair) {
	p.connections.disown(now, q)
	s := p.server
	s.cfg.Host.Own(q.qpn, nil)
	_ = s.cfg.Host.NIC().DestroyQP(q.qpn)
	delete(s.queues, q.qpn)
	delete(p.queues, q.handle)
	q.send.users--
	q.receive.users--
}
