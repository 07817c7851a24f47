package shm

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What one mapping writes the other reads, and neither end can change the size.
func TestSegment(t *testing.T) {
	a, fd, err := NewSegment("test", 5000)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer unix.Close(fd)
	b, err := MapSegment(fd, 5000)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a.Bytes()[4999] = 7
	a.At(3).Store(9)
	if len(b.Bytes()) != 5000 || b.Bytes()[4999] != 7 || b.At(3).Load() != 9 {
		t.Errorf("%d bytes, %d, %d", len(b.Bytes()), b.Bytes()[4999], b.At(3).Load())
	}
	for _, size := range []int64{0, 4096, 1 << 20} {
		if err := unix.Ftruncate(fd, size); err == nil {
			t.Errorf("truncated to %d", size)
		}
	}
}

// Words behind a descriptor are those of a segment there, and outlive the descriptor.
func TestMap(t *testing.T) {
	a, fd, err := NewSegment("test", 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	w, err := Map(fd, "the segment", 20)
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a.At(19).Store(9)
	w.At(3).Store(7)
	if w.At(19).Load() != 9 || a.At(3).Load() != 7 {
		t.Errorf("word 19 is %d, word 3 is %d", w.At(19).Load(), a.At(3).Load())
	}
	if w, err := Map(fd, "nothing", 1); err == nil {
		w.Close()
		t.Error("mapped a descriptor that is closed")
	}
}

// A segment of another size, and one that could shrink, are refused.
func TestMapSegmentRefuses(t *testing.T) {
	a, fd, err := NewSegment("test", 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer unix.Close(fd)
	if s, err := MapSegment(fd, 4097); err == nil {
		s.Close()
		t.Error("mapped more than there is")
	}
	open, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(open)
	if err := unix.Ftruncate(open, 4096); err != nil {
		t.Fatal(err)
	}
	if s, err := MapSegment(open, 4096); err == nil {
		s.Close()
		t.Error("mapped what is not sealed")
	}
}
