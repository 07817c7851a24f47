package ib

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func itoa(n int) string { return strconv.Itoa(n) }

// IBTA table 38: the opcodes of reliable connections and what follows their BTH.
func TestOpcodeTable(t *testing.T) {
	for _, c := range []struct {
		op       Opcode
		verb     Verb
		place    Place
		extended int
		payload  bool
		request  bool
	}{
		{0x00, Send, First, 0, true, true}, {0x01, Send, Middle, 0, true, true},
		{0x02, Send, Last, 0, true, true}, {0x03, Send, Last, 4, true, true},
		{0x04, Send, Only, 0, true, true}, {0x05, Send, Only, 4, true, true},
		{0x06, Write, First, 16, true, true}, {0x07, Write, Middle, 0, true, true},
		{0x08, Write, Last, 0, true, true}, {0x09, Write, Last, 4, true, true},
		{0x0a, Write, Only, 16, true, true}, {0x0b, Write, Only, 20, true, true},
		{0x0c, Read, Only, 16, false, true}, {0x0d, ReadReply, First, 4, true, false},
		{0x0e, ReadReply, Middle, 0, true, false}, {0x0f, ReadReply, Last, 4, true, false},
		{0x10, ReadReply, Only, 4, true, false}, {0x11, Ack, Only, 4, false, false},
		{0x12, AtomicReply, Only, 12, false, false}, {0x13, Atomic, Only, 28, false, true},
		{0x14, Atomic, Only, 28, false, true}, {0x16, Send, Last, 4, true, true},
		{0x17, Send, Only, 4, true, true}, {0x26, Write, First, 16, true, true},
		{0x64, Send, Only, 8, true, true}, {0x65, Send, Only, 12, true, true},
		{0x81, Notify, Only, 16, false, false},
	} {
		i := c.op.Info()
		if i.Verb != c.verb || i.Place != c.place || i.Extended != c.extended ||
			i.Has.Payload != c.payload || i.Request() != c.request {
			t.Errorf("0x%02x: %+v", uint8(c.op), *i)
		}
		if i.Transport != Transport(c.op>>5) {
			t.Errorf("%v: transport %d", c.op, i.Transport)
		}
	}
	defined := 0
	for o := range 256 {
		if Opcode(o).Info().Known() {
			defined++
		}
	}
	if defined != 41 {
		t.Errorf("%d opcodes are defined, want 23 RC, 12 UC, 2 UD, the CNP and 3 of ours", defined)
	}
	if Opcode(0x15).String() != "opcode 0x15" || Acknowledge.String() != "ACKNOWLEDGE" {
		t.Error("names")
	}
}

func TestPSN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := MakePSN(rapid.Uint32().Draw(t, "p"))
		n := rapid.IntRange(-1<<23+1, 1<<23-1).Draw(t, "n")
		q := p.Add(n)
		if q > psnMask || q.Sub(p) != n || q.Add(-n) != p {
			t.Fatalf("%d + %d = %d, back %d", p, n, q, q.Sub(p))
		}
		if p.Before(q) != (n > 0) {
			t.Fatalf("%d before %d: %v", p, q, p.Before(q))
		}
	})
	if PSN(0xffffff).Add(1) != 0 || !PSN(0xffffff).Before(0) || MSN(0xffffff).Next() != 0 {
		t.Error("wrap")
	}
}

func TestSyndromes(t *testing.T) {
	for _, c := range []struct {
		s    Syndrome
		text string
	}{
		{SyndromeACK, "ACK"}, {0, "ACK"}, {NAKSequence, "NAK sequence"},
		{NAKRemoteAccess, "NAK remote access"}, {0x2c, "RNR NAK 640µs"},
		{0x61, "NAK invalid request"}, {0x63, "NAK remote operational"},
		{0x40, "syndrome 0x40"},
	} {
		if c.s.String() != c.text {
			t.Errorf("0x%02x: %q, want %q", uint8(c.s), c.s, c.text)
		}
	}
	if RNR(12) != 0x2c || Syndrome(0x2c).RNRTimer() != 12 {
		t.Error("RNR code")
	}
	if d := RNRTimer(0).Duration(); d != 655360*time.Microsecond {
		t.Errorf("code 0: %v", d)
	}
	for c := RNRTimer(2); c < 32; c++ { // the table rises, by at most a factor of two
		d, prev := c.Duration(), (c - 1).Duration()
		if d <= prev || d > 2*prev {
			t.Errorf("code %d: %v after %v", c, d, prev)
		}
	}
}

// The credit of an ACK: exact where the code has the number, else the next below; 31 is no count.
func TestCredits(t *testing.T) {
	for _, c := range []struct{ have, told int }{
		{0, 0}, {1, 1}, {4, 4}, {5, 4}, {6, 6}, {7, 6}, {100, 96}, {128, 128}, {32767, 24576},
		{1 << 20, 32768},
	} {
		if n, ok := ACK(c.have).Credits(); n != c.told || !ok || !ACK(c.have).IsACK() {
			t.Errorf("%d receives: told %d, %v, want %d", c.have, n, ok, c.told)
		}
	}
	for _, s := range []Syndrome{SyndromeACK, NAKSequence, RNR(3)} {
		if _, ok := s.Credits(); ok {
			t.Errorf("%v has credits", s)
		}
	}
}
