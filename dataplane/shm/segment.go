package shm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Segment is memory that two processes share by passing its descriptor. Its size is sealed, so
// that neither can take pages away under the other's feet: memfd_create(2), fcntl(2) F_ADD_SEALS.
type Segment struct {
	mem   []byte
	words []atomic.Uint64
}

const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// pageBytes is what sizes are rounded up to.
const pageBytes = 4096

// SegmentSize is how many bytes a segment for n really takes.
func SegmentSize(n int) int { return (n + pageBytes - 1) &^ (pageBytes - 1) }

// NewSegment makes a segment of n zero bytes and returns it mapped, with the descriptor to pass
// on, which is the caller's to close. Its pages are there at once: who is short of memory learns it
// here, not by a signal later.
func NewSegment(name string, n int) (s *Segment, fd int, err error) {
	size := SegmentSize(n)
	if n <= 0 {
		return nil, -1, fmt.Errorf("shared memory %s: %d bytes", name, n)
	}
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, -1, fmt.Errorf("memfd_create %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err = unix.Fallocate(fd, 0, 0, int64(size)); err != nil {
		return nil, -1, fmt.Errorf("shared memory %s of %d bytes: %w", name, size, err)
	}
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, -1, fmt.Errorf("seal shared memory %s: %w", name, err)
	}
	if s, err = mapSegment(fd, n, size, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return nil, -1, err
	}
	return s, fd, nil
}

// MapSegment maps a segment of n bytes that somebody else made. It refuses one that could shrink.
func MapSegment(fd, n int) (*Segment, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	size := SegmentSize(n)
	if st.Size != int64(size) || got&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("shared memory of %d bytes, seals %#x: want %d sealed bytes",
			st.Size, got, size)
	}
	return mapSegment(fd, n, size, unix.MAP_SHARED)
}

func mapSegment(fd, n, size, flags int) (*Segment, error) {
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	// The mapping is page-aligned and lives until Close, so the words are aligned and stay put.
	words := unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&mem[0])), size/8)
	return &Segment{mem: mem[:n:size], words: words}, nil
}

// Bytes is the memory.
func (s *Segment) Bytes() []byte { return s.mem }

// At returns word i of it.
func (s *Segment) At(i int) *atomic.Uint64 { return &s.words[i] }

// Close unmaps. Nothing of it may be touched afterwards.
func (s *Segment) Close() error {
	mem := s.mem
	s.mem, s.words = nil, nil
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem[:cap(mem)])
}
