package perftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// pattern is what messages contain when they are checked: a message begins with its number, in up
// to eight bytes, and goes on with bytes that depend on their place. What a READ fetches is the
// pattern alone, by its place in the area. What atomics fetch is the number of operations before.
type pattern []byte

// numberLen is the length of the number at the beginning of a message.
const numberLen = 8

func newPattern(n int) pattern {
	p := make(pattern, n)
	// A multiplicative hash, Knuth vol. 3, 6.4: neighbours differ, and so do places that are a
	// packet or a page apart.
	for i := range p {
		p[i] = byte(uint32(i+1) * 2654435761 >> 24)
	}
	return p
}

func number(n int) (b [numberLen]byte) {
	binary.LittleEndian.PutUint64(b[:], uint64(n)+1)
	return b
}

// prepareCheck fills the memory for messages of size bytes.
func (t *traffic) prepareCheck(size int) {
	if !t.c.Check {
		return
	}
	if t.pattern == nil {
		t.pattern = newPattern(t.lay.area)
	}
	for qp := range t.qps {
		t.clearArea(qp)
	}
	t.fillSends(size)
}

// fillSends writes the pattern where messages of size bytes are sent from.
func (t *traffic) fillSends(size int) {
	if !t.c.Check {
		return
	}
	for qp := range t.qps {
		if verb := t.c.Test.Verb; verb != Send && verb != Write {
			continue
		}
		for n := range t.lay.tx {
			at := t.lay.sendAt(qp, n, size)
			copy(t.mem.Bytes[at:at+size], t.pattern)
		}
	}
}

// clearArea makes the area that a peer's QP reaches what it expects to find.
func (t *traffic) clearArea(qp int) {
	area := t.mem.Bytes[t.lay.receiveArea(qp):][:t.lay.area]
	if t.c.Test.Verb == Read {
		copy(area, t.pattern)
		return
	}
	clear(area)
}

// stamp numbers message n before it is posted.
func (t *traffic) stamp(qp, n, size int) {
	if verb := t.c.Test.Verb; !t.c.Check || verb != Send && verb != Write {
		return
	}
	at, b := t.lay.sendAt(qp, n, size), number(n)
	copy(t.mem.Bytes[at:at+size], b[:])
}

// verifyReceived compares message n of a QP, which must have arrived whole, and wipes it.
func (t *traffic) verifyReceived(qp, n, size int) error {
	if !t.c.Check {
		return nil
	}
	at := t.lay.receiveAt(qp, n, size)
	got := t.mem.Bytes[at : at+size]
	defer clear(got)
	return t.compare(got, qp, n)
}

// compare looks at the bytes of message n.
func (t *traffic) compare(got []byte, qp, n int) error {
	b := number(n)
	head := min(len(got), numberLen)
	if !bytes.Equal(got[:head], b[:head]) {
		return fmt.Errorf("QP %v, message %d: begins with %x, want %x: another message, or none",
			t.qps[qp].QPN(), n, got[:head], b[:head])
	}
	return t.same(got[head:], t.pattern[head:len(got)], qp, n, head)
}

// same compares bytes of message n that begin at offset.
func (t *traffic) same(got, want []byte, qp, n, offset int) error {
	if bytes.Equal(got, want) {
		return nil
	}
	i := 0
	for got[i] == want[i] {
		i++
	}
	return fmt.Errorf("QP %v, message %d: byte %d is %#02x, want %#02x", t.qps[qp].QPN(), n,
		offset+i, got[i], want[i])
}

// verifyFetched compares what message n of a QP, a READ or an atomic, has brought, and wipes it.
func (t *traffic) verifyFetched(qp, n, size int) error {
	verb := t.c.Test.Verb
	if !t.c.Check || verb != Read && verb != Atomic {
		return nil
	}
	at := t.lay.sendAt(qp, n, size)
	got := t.mem.Bytes[at : at+size]
	defer clear(got)
	if verb == Read {
		from := t.lay.remoteOffset(n, size)
		return t.same(got, t.pattern[from:from+size], qp, n, 0)
	}
	before := binary.NativeEndian.Uint64(got)
	if want := uint64(n / t.lay.remoteSlots(size)); before != want {
		return fmt.Errorf("QP %v, operation %d: found %d in the peer's memory, want %d",
			t.qps[qp].QPN(), n, before, want)
	}
	return nil
}

// verifyWritten compares what the peer has written, once it says that it is through: in each slot
// the last message that went there.
func (t *traffic) verifyWritten(size int) error {
	if !t.c.Check || t.c.Test.Verb != Write || t.c.Duration > 0 {
		return nil
	}
	slots, count := t.lay.remoteSlots(size), t.c.Iterations
	for qp := range t.qps {
		for n := max(0, count-slots); n < count; n++ {
			at := t.lay.receiveArea(qp) + t.lay.remoteOffset(n, size)
			if err := t.compare(t.mem.Bytes[at:at+size], qp, n); err != nil {
				return err
			}
		}
	}
	return nil
}
