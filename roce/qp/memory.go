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

// Region is a registered piece of memory, real bytes.
type Region struct {
	PD     PD
	VA     uint64 // address of the first byte, as peers name it
	Key    uint32 // both the local and the remote key
	Access Access
	Bytes  []byte
	gone   bool // deregistered
}

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
	return &Memory{random: random, byKey: make(map[uint32]*Region, limit), limit: limit,
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
	if err := m.room(len(b)); err != nil {
		return nil, err
	}
	key := uint32(m.random.Uint64() >> 32)
	for key == 0 || m.byKey[key] != nil {
		key = uint32(m.random.Uint64() >> 32)
	}
	r := &Region{PD: pd, VA: m.nextVA, Key: key, Access: a, Bytes: b}
	m.nextVA += (uint64(len(b))+pageSize-1)/pageSize*pageSize + pageSize
	m.byKey[key] = r
	return r, nil
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

// span is bytes of a region, found once by key and address and checked again at each use.
type span struct {
	mr    *Region // nil: the bytes are nobody's, or there are none
	bytes []byte
	off   uint64 // of them in the region, when the span was found
}

// live reports whether the region still exists.
func (s *span) live() bool { return s.mr == nil || !s.mr.gone }

// span returns the n bytes at va of the region with that key, and false if there are not such,
// or not in that domain. A zero length needs no region: IBTA 9.7.5.2.4 checks no key for it.
func (m *Memory) span(pd PD, key uint32, va uint64, n int) (span, bool) {
	if n == 0 {
		return span{}, true
	}
	r := m.byKey[key]
	if r == nil || r.PD != pd || va < r.VA || n < 0 {
		return span{}, false
	}
	off := va - r.VA
	if off > uint64(len(r.Bytes)) || uint64(n) > uint64(len(r.Bytes))-off {
		return span{}, false
	}
	return span{r, r.Bytes[off : off+uint64(n) : off+uint64(n)], off}, true
}

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
