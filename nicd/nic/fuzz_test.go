package nic

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// target is a NIC in the middle of its work: three packets of a WRITE are on their way to its
// peer, and it has a receive posted. It is the same each time, PSNs and keys included, so that the
// frames its peer sent to another target are good for this one.
type target struct {
	*peer
	other *peer
	pool  *frame.Pool
	now   unit.Time
	sent  []*frame.Frame // by the target
}

func newTarget(t tester) *target {
	t.Helper()
	g := &target{}
	g.other, g.peer, g.pool = newPeers(t, nil)
	local := qp.Local{Key: g.region.Key, VA: g.region.VA, Length: 4096}
	if err := g.PostReceive(0, g.local.QPN, qp.ReceiveWR{Local: local}); err != nil {
		t.Fatal(err)
	}
	g.write(t, 0, g.other, 3000)
	g.drain()
	for len(g.sent) < 3 { // the rest is paced
		g.now = g.NextWake()
		g.Wake(g.now)
		g.drain()
	}
	return g
}

// drain takes what the NIC sends now.
func (g *target) drain() {
	for f := g.send(g.now); f != nil; f = g.send(g.now) {
		g.sent = append(g.sent, f)
	}
}

// forget releases what was sent.
func (g *target) forget() {
	for _, f := range g.sent {
		f.Release()
	}
	g.sent = g.sent[:0]
}

// answers returns what the peer sends to a target: a NAK, because the second packet is lost, a
// CNP for the mark on the first, an ACK, and the requests of a WRITE and of a SEND.
func answers(t tester) (frames [][]byte) {
	t.Helper()
	g := newTarget(t)
	collect := func() {
		for f := g.other.send(g.now); f != nil; f = g.other.send(g.now) {
			frames = append(frames, append([]byte(nil), f.Bytes()...))
			f.Release()
		}
	}
	markCE(g.sent[0])
	for _, i := range []int{0, 2, 1} {
		g.other.give(g.now, g.sent[i])
		collect()
	}
	g.sent = nil
	for _, op := range []qp.Op{qp.Write, qp.Send} {
		wr := g.other.request(g.peer, 1500)
		wr.Op = op
		if err := g.other.Post(g.now, g.other.local.QPN, wr); err != nil {
			t.Fatal(err)
		}
		g.now += 100 * us
		for g.other.NextWake() <= g.now {
			g.other.Wake(g.now)
		}
		collect()
	}
	return frames
}

// sign puts the right ICRC on what can carry one: most of the machine is behind that check.
func sign(b []byte) {
	var m classify.Map
	c := m.Classify(b)
	if _, ok := ib.Open(b, int(c.L3Off), int(c.L4Off)); !ok || !c.Kind.IsRoCE() {
		return
	}
	end := int(c.L4Off) + int(binary.BigEndian.Uint16(b[c.L4Off+4:])) - ib.ICRCLen
	sum := ib.ICRC(b[c.L3Off:end], int(c.L4Off-c.L3Off))
	binary.LittleEndian.PutUint32(b[end:], sum)
}

// take gives bytes to the NIC and lets time pass.
func (g *target) take(t tester, b []byte, wait unit.Time) {
	t.Helper()
	f := g.pool.Get()
	if f == nil || !f.Set(b) {
		t.Fatal("no frame for the test")
	}
	g.give(g.now, f)
	g.balanced(t)
	g.drain()
	for end := g.now + wait; g.NextWake() <= end; {
		g.now = max(g.now, g.NextWake())
		g.Wake(g.now)
		if g.NextWake() <= g.now {
			t.Fatalf("at %v: woken, and again at %v", g.now, g.NextWake())
		}
		g.drain()
		g.forget()
	}
	g.forget()
	g.balanced(t)
}

// FuzzNIC sends two frames of any bytes to a NIC at work. Nothing panics, the account balances,
// no frame stays behind and no timer spins.
func FuzzNIC(f *testing.F) {
	seeds := answers(f)
	pool := frame.NewPool(1, 1400)
	pause := pfcFrame(pool, pfc.SetOf(3), 0xffff)
	seeds = append(seeds, nil, append([]byte(nil), pause.Bytes()...),
		wiretest.Packet{Src: 1, Dst: 2, DSCP: 26, Payload: 60}.Bytes())
	for i := range seeds {
		f.Add(seeds[i], seeds[(i+1)%len(seeds)], i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, first, second []byte, signed bool) {
		g := newTarget(t)
		g.forget()
		for _, b := range [][]byte{first, second} {
			if len(b) > 1400 {
				continue
			}
			if signed {
				b = bytes.Clone(b) // the fuzzer's own stay as they are
				sign(b)
			}
			g.take(t, b, 20*us)
		}
		g.take(t, nil, 100_000*us) // retransmissions among it
		if n := g.pool.InUse(); n != 0 {
			t.Errorf("%d frames stay behind", n)
		}
	})
}

// TestFuzzSeeds: the target takes every frame that its peer made for another one of its kind, so
// that the fuzzer starts behind all checks.
func TestFuzzSeeds(t *testing.T) {
	frames := answers(t)
	g := newTarget(t)
	g.forget()
	for _, b := range frames {
		sign(b) // which changes nothing
		g.take(t, b, us)
	}
	l, s := g.Ledger(), g.snapshot(g.now)
	if n := l.DroppedTotal().Frames; n != 0 || len(frames) < 6 {
		t.Errorf("%d of %d frames dropped", n, len(frames))
	}
	if s.Counters.RPCNPHandled != 1 || s.Transport.PacketSeqErr != 1 ||
		s.Transport.RxWriteRequests != 1 {
		t.Errorf("counters %+v %+v", s.Counters, s.Transport)
	}
}
