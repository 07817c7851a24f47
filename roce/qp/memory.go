package qp

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/rocelab/rocelab/roce/ib"
)

// PD is a protection domain: QPs reach only regions of their own. IBTA 10.2.3.
type PD uint32

// Access is what may be done with a region beside reading it locally. IBTA 10.6.3.1.
type Access struct {
	LocalWrite, RemoteWrite, RemoteRead, RemoteAtomic bool
}

// Region is a registered piece of memory: real bytes, or void. What is read of a void region is
// zeros, of which packets keep only the length, and what is written there is forgotten.
type Region struct {
	PD     PD
	VA     uint64 // address of the first byte, as peers name it
	Key    uint32 // both the local and the remote key
	Access Access
	Bytes  []byte // nil: it is void
	size   int
	gone   bool // deregistered
}

// Len is how many bytes the region has.
func (r *Region) Len() int { return r.size }

// Memory is all the regions of one NIC.
type Memory struct {
	random rand.Source
	byKey  map[uint32]*Region
	limit  int
	nextVA uint64
}

// Regions start on pages, and between two lies an unmapped page, so that an overrun never hits
// the neighbour.
const (
	pageSize = 4096
	firstVA  = 0x7f00_0000_0000
)

// MaxRegion bounds one region: message lengths are 31 bits. IBTA 9.7.7.3.
const MaxRegion = 1 << 31

// ErrMemory is the family of errors about regions.
var ErrMemory = errors.New("memory region")

// NewMemory makes room for up to limit regions. Keys are drawn from random, which must not be
// predictable by peers if they are not to be trusted.
func NewMemory(random rand.Source, limit int) *Memory {
	return &Memory{random: random, byKey: make(map[uint32]*Region), limit: limit,
		nextVA: firstVA}
}

// Register makes a region of size zero bytes.
func (m *Memory) Register(pd PD, size int, a Access) (*Region, error) {
	if err := m.room(size); err != nil {
		return nil, err
	}
	return m.RegisterBytes(pd, make([]byte, size), a)
}

// RegisterBytes makes a region of memory that is the caller's: what peers write appears in b, and
// what is in b when it is sent is what they get. b must stay as it is until Deregister.
func (m *Memory) RegisterBytes(pd PD, b []byte, a Access) (*Region, error) {
	return m.register(Region{PD: pd, Access: a, Bytes: b, size: len(b)})
}

// RegisterVoid makes a void region. It is for the payload of RC QPs, whose bytes nobody looks at:
// atomics and datagrams find no memory there.
func (m *Memory) RegisterVoid(pd PD, size int, a Access) (*Region, error) {
	return m.register(Region{PD: pd, Access: a, size: size})
}

// register gives a region its key and its address.
func (m *Memory) register(r Region) (*Region, error) {
	if err := m.room(r.size); err != nil {
		return nil, err
	}
	r.Key = uint32(m.random.Uint64() >> 32)
	for r.Key == 0 || m.byKey[r.Key] != nil {
		r.Key = uint32(m.random.Uint64() >> 32)
	}
	r.VA = m.nextVA
	m.nextVA += (uint64(r.size)+pageSize-1)/pageSize*pageSize + pageSize
	m.byKey[r.Key] = &r
	return &r, nil
}

// room reports whether a region of that size may be made.
func (m *Memory) room(size int) error {
	if size <= 0 || size > MaxRegion {
		return fmt.Errorf("%w of %d bytes: want 1 to %d", ErrMemory, size, MaxRegion)
	}
	if len(m.byKey) >= m.limit {
		return fmt.Errorf("%w: all %d are in use", ErrMemory, m.limit)
	}
	return nil
}

// Deregister forgets a region; its key is invalid from now on, and work that is under way in it
// fails with its next packet.
func (m *Memory) Deregister(r *Region) {
	r.gone = true
	delete(m.byKey, r.Key)
}

// Len is the number of regions.
func (m *Memory) Len() int { return len(m.byKey) }

// remote finds what a peer names, if it may do that there.
func (m *Memory) remote(pd PD, at Remote, n int, verb ib.Verb) (span, bool) {
	s, ok := m.span(pd, at.RKey, at.VA, n)
	return s, ok && (s.mr == nil || s.mr.Access.allows(verb))
}

// allows: IBTA 10.6.3.1.
func (a Access) allows(v ib.Verb) bool {
	switch v {
	case ib.Write:
		return a.RemoteWrite
	case ib.Read:
		return a.RemoteRead
	case ib.Atomic:
		return a.RemoteAtomic
	}
	return false
}

// local finds what the owner of a QP names. Writing there needs the right to.
func (m *Memory) local(pd PD, l Local, write bool) (span, bool) {
	s, ok := m.span(pd, l.Key, l.VA, l.Length)
	return s, ok && (!write || s.mr == nil || s.mr.Access.LocalWrite)
}
