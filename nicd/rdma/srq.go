package rdma

import (
	"sync/atomic"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// SRQ is a shared receive queue.
type SRQ struct {
	pd     *PD
	handle uint32
	depth  int
	posted uint32        // receives so far; under Device.post
	taken  atomic.Uint32 // of those, that QPs have taken
}

// CreateSRQ makes a shared receive queue for depth receives.
func (p *PD) CreateSRQ(depth int) (*SRQ, error) {
	var h abi.Handle
	err := p.dev.do(abi.CallCreateSRQ, abi.CreateSRQ{PD: p.handle, Depth: depth}, &h)
	if err != nil {
		return nil, err
	}
	s := &SRQ{pd: p, handle: h.Handle, depth: depth}
	p.dev.mu.Lock()
	p.dev.srqs[s.handle] = s
	p.dev.mu.Unlock()
	return s, nil
}

// Arm asks for one event when fewer than limit receives are left, as ibv_modify_srq(3) does
// with IBV_SRQ_LIMIT.
func (s *SRQ) Arm(limit int) error {
	return s.pd.dev.do(abi.CallArmSRQ, abi.ArmSRQ{Handle: s.handle, Limit: limit}, nil)
}

// Free ends the queue. It fails while QPs use it.
func (s *SRQ) Free() error {
	if err := s.pd.dev.do(abi.CallDestroySRQ, abi.Handle{Handle: s.handle}, nil); err != nil {
		return err
	}
	s.pd.dev.mu.Lock()
	delete(s.pd.dev.srqs, s.handle)
	s.pd.dev.mu.Unlock()
	return nil
}
