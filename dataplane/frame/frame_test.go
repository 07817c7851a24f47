package frame

import (
	"bytes"
	"testing"
)

func TestPoolIsBoundedAndFramesHaveOneOwner(t *testing.T) {
	p := NewPool(2, 100)
	a, b := p.Get(), p.Get()
	if a == nil || b == nil || p.Get() != nil || p.InUse() != 2 {
		t.Fatalf("a pool of 2 gave %v, %v, in use %d", a, b, p.InUse())
	}
	a.Meta.Flow = 7
	a.Release()
	if c := p.Get(); c != a || c.Meta != (Meta{}) || c.Len() != 0 {
		t.Errorf("a frame comes back with metadata %+v and %d bytes", c.Meta, c.Len())
	}
	b.Release()
	defer func() {
		if recover() == nil {
			t.Error("a second release does not panic")
		}
	}()
	b.Release()
}

func TestFrameBytes(t *testing.T) {
	f := NewPool(1, 64).Get()
	if !f.Set(bytes.Repeat([]byte{1}, 64)) || f.Len() != 64 || f.Cap() != 64 {
		t.Fatalf("64 bytes into 64: length %d, capacity %d", f.Len(), f.Cap())
	}
	if f.Set(make([]byte, 65)) || f.Len() != 64 {
		t.Errorf("65 bytes fit into 64, length %d", f.Len())
	}
	f.Resize(10)
	if !bytes.Equal(f.Bytes(), bytes.Repeat([]byte{1}, 10)) {
		t.Errorf("after Resize: % x", f.Bytes())
	}
}

func TestNamesAreComplete(t *testing.T) {
	for r := range ReasonCount {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
	for k := Unclassified; k <= CNM; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
