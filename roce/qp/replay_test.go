package qp

import (
	"bytes"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// The captures that are played, with the path MTU of each.
var talks = []struct {
	name string
	mtu  int
}{
	{"early.pcap", 1024}, {"long_write.pcap", 256},
	{"rnr_long.pcap", 1024}, {"ipv6.pcap", 256}, {"loss_read.pcap", 256},
	{"loss_write.pcap", 256}, {"loss_send.pcap", 256}, {"loss_atomic.pcap", 1024},
}

// Our responder in the place of rxe's: to every packet that rxe received it answers what rxe
// answered, byte for byte and in that order. Some of rxe's answers were lost before they were
// captured, so ours may be more. rxe's NAK behind each RNR NAK is its own.
func TestResponderAnswersAsRxe(t *testing.T) {
	for _, c := range talks {
		t.Run(c.name, func(t *testing.T) {
			talk := listen(t, c.name, c.mtu)
			_, b := talk.ends(t)
			ours := talk.respond(t, b)
			var theirs [][]byte
			for _, s := range talk.packets {
				if !s.request {
					theirs = append(theirs, s.frame)
				}
			}
			theirs, pairs := withoutPairs(t, theirs)
			i := 0
			for n, want := range theirs {
				for i < len(ours) && !sameAnswer(t, ours[i], want) {
					i++
				}
				if i == len(ours) {
					p := opened(t, want)
					t.Fatalf("answer %d of %d: %v of %d, %v: we never said so", n, len(theirs),
						p.BTH.Opcode(), p.BTH.PSN(), p.AETH)
				}
				i++
			}
			if (pairs > 0) != (c.name == "rnr_long.pcap") {
				t.Errorf("%d NAKs behind RNR NAKs", pairs)
			}
		})
	}
}

// sameAnswer is byte for byte but for a READ that was resumed: rxe goes on with the opcodes of the
// first answer, where ours begins anew.
func sameAnswer(t *testing.T, ours, theirs []byte) bool {
	t.Helper()
	if bytes.Equal(transport(ours), transport(theirs)) {
		return true
	}
	p, q := opened(t, ours), opened(t, theirs)
	return p.Info.Verb == ib.ReadReply && q.Info.Verb == ib.ReadReply &&
		p.BTH.PSN() == q.BTH.PSN() && p.Info.Place.Starts() && !q.Info.Place.Starts() &&
		p.Info.Place.Ends() == q.Info.Place.Ends() && bytes.Equal(p.Payload, q.Payload)
}

// respond gives b the requests, and receives as rxe had them.
func (c *talk) respond(t *testing.T, b *side) (answers [][]byte) {
	t.Helper()
	refusals := map[ib.PSN]int{}
	for _, s := range c.packets {
		if p := opened(t, s.frame); p.AETH != nil && p.AETH.Syndrome().IsRNR() {
			refusals[p.BTH.PSN()]++
		}
	}
	for _, s := range c.packets {
		if !s.request {
			continue
		}
		p := opened(t, s.frame)
		if p.Info.Verb == ib.Send && p.Info.Place.Starts() && p.BTH.PSN() == b.resp.expected {
			if refusals[p.BTH.PSN()]--; refusals[p.BTH.PSN()] < 0 {
				if err := b.PostReceive(s.at, ReceiveWR{Local: b.localAt(0, 8192)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if why := b.receive(t, s.at, s.frame); why != frame.NoReason {
			t.Fatalf("%v of %d: %v", p.BTH.Opcode(), p.BTH.PSN(), why)
		}
		for b.Pending(0) || b.HasResponse() {
			if f := b.answer(); f != nil {
				answers = append(answers, f)
			} else {
				answers = append(answers, b.next(s.at))
			}
		}
		b.polled()
	}
	return answers
}

// localAt is local for a region that is not of the usual size.
func (s *side) localAt(off, n int) Local {
	return Local{Key: s.region.Key, VA: s.region.VA + uint64(off), Length: n}
}

// withoutPairs leaves out rxe's NAK for the sequence right behind an RNR NAK of the same packet.
func withoutPairs(t *testing.T, answers [][]byte) (rest [][]byte, pairs int) {
	t.Helper()
	rnr := ib.PSN(1 << 24)
	for _, f := range answers {
		p := opened(t, f)
		syn := ib.SyndromeACK
		if p.AETH != nil {
			syn = p.AETH.Syndrome()
		}
		if syn == ib.NAKSequence && p.BTH.PSN() == rnr {
			pairs++
			continue
		}
		if rnr = 1 << 24; syn.IsRNR() {
			rnr = p.BTH.PSN()
		}
		rest = append(rest, f)
	}
	return rest, pairs
}

// Our requester in the place of rxe's, with the same work: it takes all of rxe's answers, sends
// the bytes that rxe sent, and what rxe acknowledged in the capture completes, with what rxe had in
// memory. rxe also repeats early, which we do not; and it asks for acknowledgements in the middle
// of messages elsewhere.
func TestRequesterAsksAsRxe(t *testing.T) {
	for _, c := range talks {
		t.Run(c.name, func(t *testing.T) {
			talk := listen(t, c.name, c.mtu)
			a, b := talk.ends(t)
			r := request{talk: talk, t: t, a: a}
			r.prepare()
			for _, s := range talk.packets {
				r.tick(s.at)
				if s.request {
					r.sends(s)
				} else {
					r.answered(s)
				}
			}
			if len(r.completed) == 0 || r.same < 4 {
				t.Errorf("%d complete, %d packets as rxe's", len(r.completed), r.same)
			}
			for i, e := range r.completed {
				w := &talk.work[i]
				if e.Status != Success || e.ID != uint64(i) {
					t.Fatalf("%+v", e)
				}
				if w.op == Read {
					sameBytes(t, "fetched", a.region.Bytes[i*r.stride:][:w.length],
						b.region.Bytes[w.va-talk.va:][:w.length])
				}
			}
			t.Logf("%d complete; %d packets are rxe's, %d of rxe's were repeats or cut off",
				len(r.completed), r.same, r.repeats)
		})
	}
}

// request is a requester as it replays.
type request struct {
	*talk
	t         *testing.T
	a         *side
	stride    int
	posted    int
	completed []Completion
	same      int
	repeats   int
}

// prepare lays what is sent into the memory of the requester, one place for each request.
func (r *request) prepare() {
	for _, w := range r.work {
		r.stride = max(r.stride, w.length)
	}
	r.a.mem.Deregister(r.a.region)
	var err error
	r.a.region, err = r.a.mem.Register(1, r.stride*len(r.work), anyAccess)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, w := range r.work {
		copy(r.a.region.Bytes[i*r.stride:], w.payload)
	}
}

// tick lets the time come, with what it brings.
func (r *request) tick(now unit.Time) {
	for r.a.Deadline() <= now {
		r.a.Wake(r.a.Deadline())
	}
	for r.posted < len(r.work) {
		w := r.work[r.posted]
		if r.a.Post(now, WR{ID: uint64(r.posted), Op: w.op,
			Local:  r.a.local(r.posted*r.stride, w.length),
			Remote: Remote{VA: w.va, RKey: r.key},
			Atomic: ib.AtomicOperands{SwapAdd: w.add}}) != nil {
			break
		}
		r.posted++
	}
	r.completed = append(r.completed, r.a.polled()...)
}

// sends is when rxe sent: we send up to the same packet, which must be the same.
func (r *request) sends(s said) {
	want := opened(r.t, s.frame)
	for r.a.req.next.near(want.BTH.PSN()) >= r.a.req.next {
		f := r.a.next(s.at)
		if f == nil {
			break
		}
		got := opened(r.t, f)
		if got.BTH.PSN() != want.BTH.PSN() {
			continue // was lost
		}
		if !want.Info.Place.Ends() {
			got.BTH.SetAckReq(want.BTH.AckReq())
		}
		if want.RETH != nil && want.Info.Verb == ib.Read &&
			want.RETH.Length() != got.RETH.Length() {
			break // rxe resumed, and we ask for the first time, or the other way round
		}
		if g, w := transport(f), transport(s.frame); !bytes.Equal(g, w) {
			r.t.Fatalf("PSN %d\n got %x\nwant %x", want.BTH.PSN(), g, w)
		}
		r.same++
		return
	}
	r.repeats++
}

// answered is when an answer came: what it answers we have sent by then.
func (r *request) answered(s said) {
	p := opened(r.t, s.frame)
	for r.a.req.highest.near(p.BTH.PSN()) >= r.a.req.highest && r.a.next(s.at) != nil {
	}
	if why := r.a.receive(r.t, s.at, s.frame); why != frame.NoReason {
		r.t.Fatalf("%v of %d: %v", p.BTH.Opcode(), p.BTH.PSN(), why)
	}
	r.tick(s.at)
	if r.a.State() != StateRTS {
		r.t.Fatalf("%v after %v of %d", r.a.State(), p.BTH.Opcode(), p.BTH.PSN())
	}
}
