package qp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// sparse registers a region of n bytes of which only those that are touched take memory.
func sparse(t *testing.T, m *Memory, n int, a Access) *Region {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	r, err := m.RegisterBytes(1, b, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
