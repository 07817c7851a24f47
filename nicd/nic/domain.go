package nic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Errors of protection domains and what is in them.
var (
	ErrNoPD  = errors.New("no such protection domain")
	ErrInUse = errors.New("is in use")
)

// domains counts what is in each protection domain. DefaultPD is always there.
type domains struct {
	used map[qp.PD]int
	last qp.PD
}

func newDomains() domains {
	return domains{used: map[qp.PD]int{DefaultPD: 0}, last: DefaultPD}
}

// hold notes that something more is in a domain.
func (d *domains) hold(pd qp.PD) error {
	if _, ok := d.used[pd]; !ok {
		return fmt.Errorf("%w: %d", ErrNoPD, pd)
	}
	d.used[pd]++
	return nil
}

func (d *domains) release(pd qp.PD) { d.used[pd]-- }

// AllocPD makes a protection domain. IBTA 10.2.3.
func (n *NIC) AllocPD() qp.PD {
	d := &n.pds
	for _, taken := d.used[d.last]; taken; _, taken = d.used[d.last] {
		d.last++
	}
	d.used[d.last] = 0
	return d.last
}

// FreePD ends a protection domain, in which nothing may be any more.
func (n *NIC) FreePD(pd qp.PD) error {
	used, ok := n.pds.used[pd]
	switch {
	case !ok || pd == DefaultPD:
		return fmt.Errorf("%w: %d", ErrNoPD, pd)
	case used != 0:
		return fmt.Errorf("protection domain %d %w", pd, ErrInUse)
	}
	delete(n.pds.used, pd)
	return nil
}

// RegisterMemory makes a region of the caller's bytes, which must stay where they are until
// DeregisterMR: packets are sent from there and placed there.
func (n *NIC) RegisterMemory(pd qp.PD, b []byte, access qp.Access) (*qp.Region, error) {
	return n.register(pd, func() (*qp.Region, error) {
		return n.memory.RegisterBytes(pd, b, access)
	})
}

// RegisterVoid makes a void region in the default domain: its payload is zeros of which frames keep
// only the length, as long as nobody asks for their bytes.
func (n *NIC) RegisterVoid(size int, access qp.Access) (*qp.Region, error) {
	return n.register(DefaultPD, func() (*qp.Region, error) {
		return n.memory.RegisterVoid(DefaultPD, size, access)
	})
}

func (n *NIC) register(pd qp.PD, make func() (*qp.Region, error)) (*qp.Region, error) {
	if err := n.pds.hold(pd); err != nil {
		return nil, err
	}
	r, err := make()
	if err != nil {
		n.pds.release(pd)
		return nil, err
	}
	return r, nil
}

// SRQ is a shared receive queue of a NIC.
type SRQ struct {
	queue *qp.SRQ
	pd    qp.PD
	users int // QPs
	low   bool
}

// Left is how many receives no QP has taken yet.
func (s *SRQ) Left() int { return s.queue.Len() }

// CreateSRQ makes a shared receive queue for depth receives into regions of a domain.
func (n *NIC) CreateSRQ(pd qp.PD, depth int) (*SRQ, error) {
	if depth < 1 {
		return nil, fmt.Errorf("create SRQ: depth: %d is not positive", depth)
	}
	if err := n.pds.hold(pd); err != nil {
		return nil, fmt.Errorf("create SRQ: %w", err)
	}
	return &SRQ{queue: qp.NewSRQ(n.memory, pd, depth), pd: pd}, nil
}

// PostSRQ appends a receive.
func (n *NIC) PostSRQ(s *SRQ, wr qp.ReceiveWR) error { return s.queue.Post(wr) }

// ArmSRQ asks for an event when fewer than limit receives are left, as ibv_modify_srq(3)
// does with IBV_SRQ_LIMIT.
func (n *NIC) ArmSRQ(s *SRQ, limit int) { s.queue.Arm(limit) }

// DestroySRQ ends a queue that no QP uses. Its receives vanish.
func (n *NIC) DestroySRQ(s *SRQ) error {
	if s.users != 0 {
		return fmt.Errorf("shared receive queue %w by %d QPs", ErrInUse, s.users)
	}
	n.pds.release(s.pd)
	n.low = slices.DeleteFunc(n.low, func(l *SRQ) bool { return l == s })
	return nil
}

// Fail takes a QP to ERR: all its work completes as flushed. No event tells of it.
func (n *NIC) Fail(now unit.Time, qpn ib.QPN) error {
	n.now = now
	c := n.conn(qpn)
	if c == nil {
		return fmt.Errorf("fail QP %v: %w", qpn, ErrNoQP)
	}
	c.fatal = true
	if c.ud != nil {
		c.ud.Fail(now)
	} else {
		c.qp.Fail(now)
	}
	n.settle(now, c)
	return nil
}
