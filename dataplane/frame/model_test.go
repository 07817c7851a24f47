package frame

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestFrameModel compares a frame with the bytes that it has on the wire, whatever is stored of
// them and however large its buffer has become, over the lives of the frame.
func TestFrameModel(t *testing.T) {
	const room = 4 * narrow
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(1, room)
		f, want := p.Get(), []byte{}
		fill := func(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes") }
		size := rapid.IntRange(0, room)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				want = fill(size.Draw(t, "n"))
				if !f.Set(want) {
					t.Fatalf("%d bytes do not fit", len(want))
				}
			},
			"elide": func(t *rapid.T) {
				head := fill(rapid.IntRange(0, 100).Draw(t, "head"))
				tail := fill(rapid.IntRange(0, 100).Draw(t, "tail"))
				zeros := rapid.IntRange(1, room-200).Draw(t, "zeros")
				f.Elide(len(head), zeros, len(tail), func([]byte) {})
				copy(f.Head(), head)
				copy(f.Tail(), tail)
				want = append(append(head, make([]byte, zeros)...), tail...)
			},
			"append": func(t *rapid.T) {
				more := fill(rapid.IntRange(0, 100).Draw(t, "n"))
				if fits := len(want)+len(more) <= room; f.Append(more) != fits {
					t.Fatalf("appended %d bytes to %d of %d: %v", len(more), len(want), room, !fits)
				} else if fits {
					want = append(want, more...)
				}
			},
			"resize": func(t *rapid.T) {
				n := size.Draw(t, "n")
				old := len(want)
				if f.Resize(n); n > old { // the new bytes are of nobody
					clear(f.Bytes()[old:])
				}
				want = append(want[:min(n, old):min(n, old)], make([]byte, max(0, n-old))...)
			},
			"look": func(t *rapid.T) { f.Bytes() },
			"renew": func(t *rapid.T) {
				f.Release()
				f, want = p.Get(), want[:0]
			},
			"": func(t *rapid.T) {
				n := f.Elided()
				got := append(append(bytes.Clone(f.Head()), make([]byte, n)...), f.Tail()...)
				if n == 0 {
					got = f.Bytes()
				}
				if !bytes.Equal(got, want) || int(f.Len()) != len(want) || f.Cap() != room {
					t.Fatalf("%d bytes of %d, %d of them not stored: %x, want %x", f.Len(), f.Cap(),
						n, got, want)
				}
			},
		})
	})
}
