package qp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// FuzzRequester gives a requester work and answers that a peer without manners sends, and lets its
// timers run out. Input: steps of four bytes, of which the first says what. Nothing makes it panic,
// complete more than was posted, write where no READ or atomic of its own goes, or count wrongly
// what is in flight.
func FuzzRequester(f *testing.F) {
	f.Add([]byte("\x00\x04\x02\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x1f\x00"))
	f.Add([]byte("\x00\x04\xff\x00\x01\x00\x00\x00\x02\x02\x00\x09\x02\x01\x00\x09\x03\x00\x00"))
	f.Add(bytes.Repeat([]byte("\x00\x06\x01\x00\x01\x00\x00\x00\x02\x05\x00\x08\x03\x00\x00"), 9))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := requesting{T: t}
		r.a, _ = pair(t, func(c *Config) {
			c.RetryCount, c.RNRRetry, c.AckEvery, c.MaxOutstanding = 2, 2, 3, 20
			if len(in)%2 == 1 {
				c.Recovery, c.RetransmitDelay = GoBack0, 50
			}
		})
		r.a.fill(1)
		before := bytes.Clone(r.a.region.Bytes[:fetchedAt])
		for ; len(in) >= 4; in = in[4:] {
			r.step(in[0], in[1], in[2], in[3])
			r.judge()
		}
		if !bytes.Equal(before, r.a.region.Bytes[:fetchedAt]) {
			t.Error("wrote where nothing is fetched to")
		}
		r.a.Fail(r.now)
		if r.completed += len(r.a.polled()); r.completed != r.posted {
			t.Errorf("%d completions of %d requests", r.completed, r.posted)
		}
	})
}

type requesting struct {
	*testing.T
	a                 *side
	now               unit.Time
	posted, completed int
}

func (r *requesting) step(what, x, y, z byte) {
	a := r.a
	switch what % 5 {
	case 0: // post
		op, n, at := Op(x)%operations, int(y)*5, 0
		if op.Fetches() {
			at = fetchedAt
		}
		if op.Atomic() {
			n = AtomicLen
		}
		if a.Post(r.now, WR{Op: op, Local: a.local(at, n), Fence: z&1 != 0}) == nil {
			r.posted++
		}
	case 1:
		var o ib.Outgoing
		for range 1 + x%32 {
			if !a.Next(r.now, unit.Bytes(y)*256, &o) {
				break
			}
		}
	case 2:
		r.answer(x, int8(y), z)
	case 3:
		if d := a.Deadline(); d != unit.Never && x&1 == 0 {
			r.now = max(r.now, d)
		}
		a.Wake(r.now)
	default:
		r.now += unit.Time(x) * 100
	}
	r.completed += len(a.polled())
}

// answers are the opcodes that a responder sends.
var answers = []ib.Opcode{ib.Acknowledge, ib.ReadResponseFirst, ib.ReadResponseMiddle,
	ib.ReadResponseLast, ib.ReadResponseOnly, ib.AtomicAcknowledge}

// answer makes one near what is in flight, of any syndrome and length.
func (r *requesting) answer(op byte, off int8, z byte) {
	a := r.a
	o := ib.Outgoing{Opcode: answers[int(op)%len(answers)],
		PSN:  a.req.unacked.psn().Add(int(off)),
		AETH: ib.Acknowledgement{Syndrome: ib.Syndrome(z), MSN: ib.MSN(z)}}
	if z&0x80 == 0 { // as a READ's answer would be
		o.AETH.Syndrome = ib.SyndromeACK
	}
	if o.Opcode.Info().Has.Payload {
		o.Payload = make([]byte, []int{256, 256, 0, int(z), 255}[z%5])
	}
	p := opened(r, a.packet(&o))
	_, why := a.Receive(r.now, &p)
	if why != frame.NoReason && why != frame.DropUnexpected && why != frame.DropUnknownQP {
		r.Errorf("dropped as %v", why)
	}
}

func (r *requesting) judge() {
	if r.completed > r.posted {
		r.Fatalf("%d completions of %d requests", r.completed, r.posted)
	}
	q := &r.a.req
	if r.a.State() != StateRTS {
		return
	}
	if q.unacked > q.next || q.next > q.highest || q.highest > q.posted {
		r.Fatalf("unacked %d, next %d, highest %d, posted %d", q.unacked, q.next, q.highest,
			q.posted)
	}
	fetching := 0
	for pos := q.queue.head; pos != q.sending; pos++ {
		if q.queue.at(pos).op.Fetches() {
			fetching++
		}
	}
	if fetching != q.fetching {
		r.Fatalf("%d READs and atomics in flight, counted %d", fetching, q.fetching)
	}
}

// bytesSource draws from the input first, and then goes on as a generator.
type bytesSource struct {
	in   []byte
	rest *rand.PCG
}

func (s *bytesSource) Uint64() (v uint64) {
	if len(s.in) == 0 {
		return s.rest.Uint64()
	}
	var b [8]byte
	s.in = s.in[copy(b[:], s.in):]
	return binary.BigEndian.Uint64(b[:])
}

// FuzzReliableChannel is the oracle with dice of the fuzzer's: two whole QPs, what they do to each
// other, and what the wire does to their packets.
func FuzzReliableChannel(f *testing.F) {
	for seed := range uint64(8) {
		rng := rand.NewPCG(seed, 9)
		in := make([]byte, 0, 400)
		for range 50 {
			in = binary.BigEndian.AppendUint64(in, rng.Uint64())
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c := newChannel(t, rand.New(&bytesSource{in, rand.NewPCG(uint64(len(in)), 1)}))
		if c.run(); c.fault != "" {
			t.Errorf("%s\n%+v", c.fault, c.ends[0].Config())
		}
	})
}

// FuzzDatagrams: whatever arrives at a UD QP is delivered whole into the receive that was posted,
// behind the network header, or counted.
func FuzzDatagrams(f *testing.F) {
	frames, _ := readCapture(f, "ud_uc.pcap")
	for _, b := range frames {
		f.Add(b[l4Of(b)+8:], uint16(400))
	}
	f.Fuzz(func(t *testing.T, body []byte, size uint16) {
		s := newUD(t, UDConfig{QPN: 17, QKey: 7, PKey: 0xffff})
		n := int(size) % 4096
		if err := s.PostReceive(0, ReceiveWR{Local: s.local(1000, n)}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 14+20+8, 42+len(body)+ib.ICRCLen)
		b[12], b[14] = 8, 0x45
		b = append(append(b, body...), 0, 0, 0, 0)
		if len(b) > 1<<16 {
			return
		}
		binary.BigEndian.PutUint16(b[38:], uint16(len(b)-34))
		p, ok := ib.Open(b, 14, 34)
		if !ok {
			return
		}
		if p.DETH != nil {
			p.DETH.SetQKey(7)
		}
		why := s.Receive(0, &p)
		got := s.polled()
		if (why == frame.NoReason) != (len(got) == 1) ||
			(why == frame.NoReason) == (len(counted(&s.counters)) == 1) {
			t.Fatalf("%v, %d completions, %v", why, len(got), counted(&s.counters))
		}
		if len(got) == 1 && (got[0].Bytes != GRHLen+len(p.Payload) || got[0].Bytes > n ||
			!bytes.Equal(s.region.Bytes[1000+GRHLen:][:len(p.Payload)], p.Payload)) {
			t.Errorf("%+v in a receive of %d", got[0], n)
		}
		for i, v := range s.region.Bytes {
			if v != 0 && (i < 1000 || i >= 1000+n) {
				t.Fatalf("wrote at %d beside the receive", i)
			}
		}
	})
}
