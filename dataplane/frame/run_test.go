package frame

import (
	"bytes"
	"testing"
)

// elided is a frame of "head", six zeros and "tail"; once stored, its last byte is '!'.
func elided() *Frame {
	f := NewPool(1, 64).Get()
	f.Elide(4, 6, 4, func(b []byte) { b[len(b)-1] = '!' })
	copy(f.Head(), "head")
	copy(f.Tail(), "tail")
	return f
}

const stored = "head\x00\x00\x00\x00\x00\x00tai!"

// TestRunOfZeros: a run that is not stored counts, and is there when somebody looks at it.
func TestRunOfZeros(t *testing.T) {
	f := elided()
	if string(f.Head()) != "head" || string(f.Tail()) != "tail" || f.Elided() != 6 ||
		f.Len() != 14 || f.Cap() != 64 {
		t.Errorf("%q, %d zeros, %q: %d bytes of %d", f.Head(), f.Elided(), f.Tail(), f.Len(),
			f.Cap())
	}
	if string(f.Bytes()) != stored || f.Elided() != 0 || f.Len() != 14 ||
		!bytes.Equal(f.Head(), f.Bytes()) || !bytes.Equal(f.Tail(), f.Bytes()) {
		t.Errorf("stored: %q, head %q, tail %q", f.Bytes(), f.Head(), f.Tail())
	}
}

// TestRunOfZerosGrows: what is put behind a frame is in the tail.
func TestRunOfZerosGrows(t *testing.T) {
	f := elided()
	if !f.Append([]byte("+")) || string(f.Tail()) != "tail+" || f.Len() != 15 {
		t.Errorf("appended: %q, %d bytes", f.Tail(), f.Len())
	}
	f.Resize(16)
	f.Tail()[5] = '-'
	if string(f.Tail()) != "tail+-" || string(f.Bytes()) != stored[:13]+"l+!" {
		t.Errorf("resized: %q, %q", f.Tail(), f.Bytes())
	}
}

// TestRunOfZerosEnds: what cuts the run stores it, what replaces the frame forgets it.
func TestRunOfZerosEnds(t *testing.T) {
	f := elided()
	f.Resize(7)
	if string(f.Bytes()) != stored[:7] {
		t.Errorf("cut: %q", f.Bytes())
	}
	f = elided()
	if f.Set([]byte("other")); f.Elided() != 0 || string(f.Bytes()) != "other" {
		t.Errorf("replaced: %q", f.Bytes())
	}
	f = elided()
	p := f.pool
	f.Release()
	if f = p.Get(); f.Elided() != 0 || f.Len() != 0 {
		t.Errorf("a new frame has %d zeros", f.Elided())
	}
}

// TestPoolGrows: frames are made as they are needed, up to the bound.
func TestPoolGrows(t *testing.T) {
	const bound = 1000
	p := NewPool(bound, 64)
	if p.made != 0 || p.Free() != bound {
		t.Errorf("%d frames made, %d free", p.made, p.Free())
	}
	var all FIFO
	for f := p.Get(); f != nil; f = p.Get() {
		all.Push(f)
		if p.InUse() != all.Len() || p.Free() != bound-all.Len() || p.made > 2*all.Len()+leastMade {
			t.Fatalf("%d in use, %d free, %d made of %d taken", p.InUse(), p.Free(), p.made,
				all.Len())
		}
	}
	if all.Len() != bound {
		t.Errorf("%d frames", all.Len())
	}
}
