// Package shm maps files into memory as atomic words, and memory without a name. It holds the only
// unsafe of the repository (the ring memory of AF_XDP sockets is handled inside asavie/xdp).
package shm

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words is a shared mapping of a file as 64-bit words, visible to every process that maps it.
type Words struct {
	mem   []byte
	words []atomic.Uint64
}

// Create makes the file at path with n zero words, readable and writable by the owner only.
func Create(path string, n int) (*Words, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("shared words: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(n) * 8); err != nil {
		return nil, fmt.Errorf("shared words %s: %w", path, err)
	}
	return Map(int(f.Fd()), path, n)
}

// Open maps the existing file at path, which must hold exactly n words.
func Open(path string, n int) (*Words, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("shared words: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("shared words %s: %w", path, err)
	}
	if st.Size() != int64(n)*8 {
		return nil, fmt.Errorf("shared words %s: %d bytes, want %d", path, st.Size(), n*8)
	}
	return Map(int(f.Fd()), path, n)
}

// Map maps the first n words behind a descriptor that may be written, such as that of a BPF map.
// The descriptor may be closed then. name is for errors.
func Map(fd int, name string, n int) (*Words, error) {
	mem, err := unix.Mmap(fd, 0, n*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", name, err)
	}
	// The mapping is page-aligned and lives until Close, so the words are aligned and stay put.
	return &Words{mem: mem, words: unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&mem[0])), n)}, nil
}

// Private returns n words of this process's own, for a clock that nobody shares.
func Private(n int) *Words { return &Words{words: make([]atomic.Uint64, n)} }

// At returns word i.
func (w *Words) At(i int) *atomic.Uint64 { return &w.words[i] }

// Close unmaps. No word may be touched afterwards.
func (w *Words) Close() error {
	w.words = nil
	if w.mem == nil {
		return nil
	}
	mem := w.mem
	w.mem = nil
	return unix.Munmap(mem)
}
