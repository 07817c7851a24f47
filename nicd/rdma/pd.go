package rdma

import (
	"context"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/ib"
)

// PD is a protection domain: QPs reach only memory of their own. IBTA 10.2.3.
type PD struct {
	dev    *Device
	handle uint32
}

// AllocPD makes a protection domain.
func (d *Device) AllocPD() (*PD, error) {
	var h abi.Handle
	if err := d.do(abi.CallAllocPD, struct{}{}, &h); err != nil {
		return nil, err
	}
	return &PD{dev: d, handle: h.Handle}, nil
}

// Free ends the domain. It fails while there are QPs, SRQs, memory or addresses in it.
func (p *PD) Free() error { return p.dev.do(abi.CallFreePD, abi.Handle{Handle: p.handle}, nil) }

// Memory is registered memory, shared with the daemon. Its bytes are zero at first. They stay
// readable and writable when the daemon has gone.
type Memory struct {
	Bytes []byte
	VA    uint64 // address of the first byte, as work requests and peers name it
	Key   uint32 // both the local and the remote key

	pd     *PD
	seg    *shm.Segment
	access Access
}

// Allocate makes memory of size bytes, 1 to 2^31, rounded up to pages in what counts towards the
// program's limit.
func (p *PD) Allocate(size int, a Access) (*Memory, error) {
	var r abi.Registered
	fds, err := p.dev.call(context.Background(), abi.CallRegister,
		abi.Register{PD: p.handle, Size: size, Access: a}, &r, 1)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fds[0])
	seg, err := shm.MapSegment(fds[0], size)
	if err != nil {
		_ = p.dev.do(abi.CallDeregister, abi.Handle{Handle: r.Key}, nil)
		return nil, err
	}
	m := &Memory{Bytes: seg.Bytes(), VA: r.VA, Key: r.Key, pd: p, seg: seg, access: a}
	p.dev.post.Lock()
	p.dev.keys[m.Key] = m
	p.dev.post.Unlock()
	return m, nil
}

// Segment is n bytes from offset on.
func (m *Memory) Segment(offset, n int) Segment {
	return Segment{Key: m.Key, VA: m.VA + uint64(offset), Length: n}
}

// Target is what a peer names to reach the bytes from offset on.
func (m *Memory) Target(offset int) Target { return Target{VA: m.VA + uint64(offset), RKey: m.Key} }

// Free deregisters the memory. Bytes must not be used any more; work that is under way in it fails.
func (m *Memory) Free() error {
	d := m.pd.dev
	d.post.Lock()
	delete(d.keys, m.Key)
	d.post.Unlock()
	err := d.do(abi.CallDeregister, abi.Handle{Handle: m.Key}, nil)
	if err != nil && d.Err() == nil {
		return err
	}
	m.Bytes = nil
	m.seg.Close()
	return err
}

// holds reports whether s is bytes of registered memory of the domain, that may be written if
// asked. d.post is held.
func (p *PD) holds(s Segment, write bool) bool {
	if s.Length == 0 {
		return true
	}
	m := p.dev.keys[s.Key]
	return m != nil && m.pd.handle == p.handle && s.Length > 0 && s.VA >= m.VA &&
		s.VA-m.VA <= uint64(len(m.seg.Bytes())) &&
		uint64(s.Length) <= uint64(len(m.seg.Bytes()))-(s.VA-m.VA) &&
		(!write || m.access.LocalWrite)
}

// Path is how to reach a host. Only IP must be given.
type Path struct {
	IP     netip.Addr
	Source netip.Addr // one of the NIC's addresses; zero: what the route says
	MAC    wire.MAC   // of the peer or the router; zero: the daemon asks the kernel's neighbours
	VLAN   ib.VLAN    // counts if MAC is given; else the route says
	DSCP   *uint8     // nil: the QP's
}

// Address is whom datagrams can be sent to: an address handle, ibv_create_ah(3).
type Address struct {
	pd     *PD
	handle uint32
}

// CreateAddress makes an address of a host, resolving its link address if need be.
func (p *PD) CreateAddress(ctx context.Context, to Path) (*Address, error) {
	var h abi.Handle
	_, err := p.dev.call(ctx, abi.CallCreateAH, abi.CreateAH{PD: p.handle, Path: abi.Path(to)},
		&h, 0)
	if err != nil {
		return nil, err
	}
	return &Address{pd: p, handle: h.Handle}, nil
}

// Free ends the address. Datagrams to it that have not gone are dropped.
func (a *Address) Free() error {
	return a.pd.dev.do(abi.CallDestroyAH, abi.Handle{Handle: a.handle}, nil)
}
