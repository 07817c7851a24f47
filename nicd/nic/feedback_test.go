package nic

import (
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// newFed makes two peers that have agreed to feedback, the first with the algorithm of params.
func newFed(t *testing.T, params cc.Params) (a, b *peer, pool *frame.Pool) {
	t.Helper()
	pool = frame.NewPool(512, 1400)
	a = newPeer(t, 1, pool, func(c *Config) { c.CC = params })
	b = newPeer(t, 2, pool, func(c *Config) { c.CC = params })
	for _, p := range [][2]*peer{{a, b}, {b, a}} {
		o := p[1]
		err := p[0].Connect(p[0].local.QPN, Remote{QPN: o.local.QPN, PSN: o.local.PSN,
			IP: o.cfg.IPv4, MAC: o.cfg.MAC, Feedback: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, b, pool
}

func algorithm(t *testing.T, name string) cc.Params {
	t.Helper()
	p, err := cc.NewParams(name, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drain gives o all that p can send at now and returns the opcodes.
func (p *peer) drain(t *testing.T, now unit.Time, o *peer, see func(f *frame.Frame)) {
	t.Helper()
	for f := p.send(now); f != nil; f = p.send(now) {
		if see != nil {
			see(f)
		}
		o.give(now, f)
	}
}

// The window of congestion control holds back what the transport would send, feedback opens it, and
// the peer tells of each packet and of its mark. The payload arrives as it was.
func TestWindowByFeedback(t *testing.T) {
	p := algorithm(t, "dctcp").(*cc.DCTCPParams)
	p.BaseRTT = 2 * time.Microsecond // 10,000 bytes: 9 packets of 1094 and a part
	a, b, _ := newFed(t, p)
	for i := range a.region.Bytes[:64<<10] {
		a.region.Bytes[i] = byte(i * 7)
	}
	a.write(t, 0, b, 64<<10)
	var inFlight unit.Bytes
	now := unit.Time(0)
	for range 10_000 {
		f := a.send(now)
		if f == nil {
			break
		}
		inFlight += f.Len()
		f.Release() // the wire is as fast as we want: pacing is at line rate
		now += 300
		a.Wake(now)
	}
	if window := a.conns[0].window; inFlight < window || inFlight > window+1200 {
		t.Errorf("%v in flight, the window is %v", inFlight, window)
	}
	if a.conns[0].feedback.inFlight() != inFlight {
		t.Errorf("%v in flight, the NIC counts %v", inFlight, a.conns[0].feedback.inFlight())
	}

	a, b, pool := newFed(t, p)
	copy(a.region.Bytes, []byte("what is to be written, and more of it"))
	a.write(t, 0, b, 64<<10)
	var marked, fed int
	for now = 0; now < 200*us; now += 300 {
		a.Wake(now)
		b.Wake(now)
		n := 0
		a.drain(t, now, b, func(f *frame.Frame) {
			if n++; marked == 0 {
				markCE(f)
				marked++
			}
		})
		b.drain(t, now, a, func(f *frame.Frame) {
			if q := open(t, f); q.Feedback != nil {
				fed += q.Feedback.Packets()
				marked += 10 * q.Feedback.Marked()
			}
		})
	}
	if marked != 11 || fed != 64 {
		t.Errorf("marked %d, told of %d packets", marked, fed)
	}
	if string(a.region.Bytes[:64<<10]) != string(b.region.Bytes[:64<<10]) {
		t.Error("the payload differs")
	}
	var done [1]qp.Completion
	if a.PollCQ(a.local.QPN, done[:]) != 1 || done[0].Status != qp.Success {
		t.Errorf("%+v", done)
	}
	if f := a.conns[0].feedback; f.inFlight() != 0 || pool.InUse() != 0 {
		t.Errorf("%v in flight, %d frames in use", f.inFlight(), pool.InUse())
	}
}

// [LDCP] 2.3: what fast start sends is not ECN-capable, but for the last packet of a message (3.1).
func TestFastStartCodepoints(t *testing.T) {
	a, b, _ := newFed(t, algorithm(t, "ldcp"))
	a.write(t, 0, b, 4096)
	var got []frame.ECN
	for now := unit.Time(0); now < 3*us; now += 300 {
		a.Wake(now)
		a.drain(t, now, b, func(f *frame.Frame) { got = append(got, frame.ECN(f.Bytes()[15]&3)) })
	}
	want := []frame.ECN{frame.NotECT, frame.NotECT, frame.NotECT, frame.ECT0}
	if len(got) != 4 || [4]frame.ECN(got) != [4]frame.ECN(want) {
		t.Errorf("codepoints %v, want %v", got, want)
	}
}

// [LDCP] 2.2: "an ACK for at most m data packets". However many that are, whatever the window is
// and whatever becomes of it, the sender never waits for an answer that nobody owes: a message of
// 64 packets is over long before the timeout of 67 ms, and nothing is in flight then.
func TestOneAnswerForManyPackets(t *testing.T) {
	for _, bdp := range []time.Duration{time.Microsecond, 20 * time.Microsecond} { // 5 and 100 KB
		for _, every := range []int{1, 2, 8, 255} {
			for _, mark := range []int{0, 1, 2, 3, 7} { // each so manieth packet
				p := algorithm(t, "ldcp").(*cc.LDCPParams)
				p.BaseRTT, p.DelayedAck = bdp, every
				a, b, _ := newFed(t, p)
				a.write(t, 0, b, 64<<10)
				sent, answers := 0, 0
				for now := unit.Time(0); now < 5000*us; now += 300 {
					a.Wake(now)
					b.Wake(now)
					a.drain(t, now, b, func(f *frame.Frame) {
						if sent++; mark > 0 && sent%mark == 0 {
							markCE(f)
						}
					})
					b.drain(t, now, a, func(f *frame.Frame) {
						if open(t, f).Feedback != nil {
							answers++
						}
					})
				}
				var done [1]qp.Completion
				n, left := a.PollCQ(a.local.QPN, done[:]), a.conns[0].feedback.inFlight()
				if n != 1 || sent != 64 || left != 0 {
					t.Errorf("BDP %v, m = %d, a mark each %d: %d completed, %d sent, %v in flight",
						bdp, every, mark, n, sent, left)
				}
				if mark == 0 && every == 8 && bdp > time.Microsecond && answers != 64/8 {
					t.Errorf("%d answers to 64 packets", answers)
				}
			}
		}
	}
}

// [LDCP] 3.1: "the uNIC is also programmed to reply ACKs for Read Responses". The responder's
// window holds it back as that of a requester.
func TestReadResponsesAreFed(t *testing.T) {
	p := algorithm(t, "dctcp").(*cc.DCTCPParams)
	p.BaseRTT = time.Microsecond // 5,000 bytes
	a, b, _ := newFed(t, p)
	b.region.Access.RemoteRead = true
	copy(b.region.Bytes, []byte("what is to be read"))
	wr := a.request(b, 32<<10)
	wr.Op = qp.Read
	if err := a.Post(0, a.local.QPN, wr); err != nil {
		t.Fatal(err)
	}
	var fed int
	for now := unit.Time(0); now < 100*us; now += 300 {
		a.Wake(now)
		b.Wake(now)
		a.drain(t, now, b, func(f *frame.Frame) {
			if q := open(t, f); q.Feedback != nil {
				fed += q.Feedback.Packets()
			}
		})
		b.drain(t, now, a, nil)
		if n := b.conns[0].feedback.inFlight(); n > b.conns[0].window+1200 {
			t.Fatalf("%v in flight, the window is %v", n, b.conns[0].window)
		}
	}
	if fed != 32 || string(a.region.Bytes[:32<<10]) != string(b.region.Bytes[:32<<10]) {
		t.Errorf("told of %d packets of 32", fed)
	}
}

// [LDCP] 3.1: READ requests "share the same LSN space" with SENDs and WRITEs; and so do atomics.
// The side that sends them is told of each, and its window holds them back.
func TestRequestsWithoutPayloadAreFed(t *testing.T) {
	for _, op := range []qp.Op{qp.Read, qp.FetchAdd, qp.CmpSwap} {
		p := algorithm(t, "dctcp").(*cc.DCTCPParams)
		p.BaseRTT = 100 * time.Nanosecond // one packet
		a, b, _ := newFed(t, p)
		b.region.Access.RemoteRead, b.region.Access.RemoteAtomic = true, true
		for range 20 {
			wr := a.request(b, 8)
			wr.Op = op
			if err := a.Post(0, a.local.QPN, wr); err != nil {
				t.Fatal(err)
			}
		}
		var sent, fed int
		var most unit.Bytes
		for now := unit.Time(0); now < 100*us; now += 300 {
			a.Wake(now)
			b.Wake(now)
			a.drain(t, now, b, func(f *frame.Frame) {
				if open(t, f).Transit != nil {
					sent++
				}
				most = max(most, a.conns[0].feedback.inFlight())
			})
			b.drain(t, now, a, func(f *frame.Frame) {
				if q := open(t, f); q.Feedback != nil {
					fed += q.Feedback.Packets()
				}
			})
		}
		var done [32]qp.Completion
		if n := a.PollCQ(a.local.QPN, done[:]); n != 20 || sent != 20 || fed != 20 {
			t.Errorf("%v: %d completed, %d numbered, told of %d", op, n, sent, fed)
		}
		if most == 0 || most > a.conns[0].window+100 {
			t.Errorf("%v: %v in flight, the window is %v", op, most, a.conns[0].window)
		}
	}
}

// [LDCP] 3.2: a probe at a time among the data, whose answer brings the RTT: here what the test
// lets pass between.
func TestProbe(t *testing.T) {
	a, b, _ := newFed(t, algorithm(t, "ldcp_probe"))
	a.write(t, 0, b, 1024)
	f := a.send(0)
	if op := open(t, f).BTH.Opcode(); op != ib.RTTRequest {
		t.Fatalf("first comes %v", op)
	}
	b.give(5*us, f)
	if op := open(t, a.send(0)).BTH.Opcode(); op != ib.WriteOnly {
		t.Fatalf("then comes %v", op)
	}
	f = b.send(5 * us)
	if op := open(t, f).BTH.Opcode(); op != ib.RTTResponse {
		t.Fatalf("answered by %v", op)
	}
	a.give(12*us, f)
	for _, v := range a.conns[0].cc.State() {
		if v.Name == "rtt_seconds" && v.Value != 12e-6 {
			t.Errorf("RTT %v s", v.Value)
		}
	}
}

// A peer that has agreed to nothing never sees any of it, and an algorithm that needs it refuses.
func TestWithoutAgreement(t *testing.T) {
	pool := frame.NewPool(64, 1400)
	a := newPeer(t, 1, pool, func(c *Config) { c.CC = algorithm(t, "ldcp") })
	b := newPeer(t, 2, pool, nil)
	r := Remote{QPN: b.local.QPN, PSN: b.local.PSN, IP: b.cfg.IPv4, MAC: b.cfg.MAC}
	if err := a.Connect(a.local.QPN, r); !errors.Is(err, ErrNoFeedback) {
		t.Errorf("connect: %v", err)
	}
	a, b, _ = newPeers(t, nil)
	a.write(t, 0, b, 1024)
	f := a.send(0)
	if p := open(t, f); p.Transit != nil || p.BTH.HasTransit() {
		t.Error("a packet with a transit header")
	}
	f.Release()
}

// Feedback that is lost does not close the window for ever: after the time of an acknowledgement's
// timeout nothing counts as in flight, and congestion control hears of a timeout.
func TestFeedbackLost(t *testing.T) {
	p := algorithm(t, "dctcp").(*cc.DCTCPParams)
	a, b, _ := newFed(t, p)
	a.write(t, 0, b, 16<<10)
	for now := unit.Time(0); now < 20*us; now += 300 {
		a.Wake(now)
		a.drain(t, now, b, nil)
		for f := b.send(now); f != nil; f = b.send(now) {
			if open(t, f).Feedback != nil {
				f.Release()
				continue
			}
			a.give(now, f)
		}
	}
	c := a.conns[0]
	before := c.window
	if c.feedback.inFlight() == 0 {
		t.Fatal("nothing is in flight")
	}
	at := unit.Time(qp.AckTimeout(14)) + 20*us
	a.Wake(at)
	if c.feedback.inFlight() != 0 || c.window >= before {
		t.Errorf("%v in flight, window %v, was %v", c.feedback.inFlight(), c.window, before)
	}
}
