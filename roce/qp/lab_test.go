package qp

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// side is one end of a connection: a QP with a memory of its own.
type side struct {
	*QP
	mem      *Memory
	counters Counters
	headers  ib.Headers
	region   *Region
	library  *Region // may be read only
	acked    Acked
	late     []Completion
	stubborn bool // does not give up as soon as a configured QP
}

const regionSize = 1 << 16

var anyAccess = Access{LocalWrite: true, RemoteWrite: true, RemoteRead: true,
	RemoteAtomic: true}

func newSide(t fataler, seed uint64, change func(*Config)) *side {
	t.Helper()
	cfg := DefaultConfig()
	cfg.QPN, cfg.PD, cfg.MTU, cfg.SendQueue, cfg.ReceiveQueue = ib.QPN(16+seed), 1, 256, 8, 8
	if change != nil {
		change(&cfg)
	}
	s := &side{mem: NewMemory(rand.NewPCG(seed, 1), 5), stubborn: cfg.RetryCount > 7}
	cfg.RetryCount = min(cfg.RetryCount, 7)
	s.QP = New(cfg, s.mem, NewCQ(cfg.SendQueue+cfg.ReceiveQueue), &s.counters)
	var err error
	if s.region, err = s.mem.Register(1, regionSize, anyAccess); err != nil {
		t.Fatal(err)
	}
	if s.library, err = s.mem.Register(1, regionSize, Access{RemoteRead: true}); err != nil {
		t.Fatal(err)
	}
	for i := range s.library.Bytes {
		s.library.Bytes[i] = byte(i*31) ^ byte(i>>7)
	}
	s.headers = ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.0.0.1"),
		Dest: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000, DestQP: ib.QPN(17 - seed + 16)})
	return s
}

func connect(t fataler, a, b *side, psnA, psnB ib.PSN) {
	t.Helper()
	for _, c := range []struct {
		s, peer *side
		out, in ib.PSN
	}{{a, b, psnA, psnB}, {b, a, psnB, psnA}} {
		for _, err := range []error{c.s.Init(),
			c.s.ReadyToReceive(c.s.receives(c.peer.QPN(), c.in)),
			c.s.ReadyToSend(c.s.sends(c.out))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if c.s.stubborn {
			c.s.cfg.retryCount = 255
		}
	}
}

// receives and sends are the default attributes of the transitions.
func (q *QP) receives(remote ib.QPN, psn ib.PSN) ReceiveAttributes {
	c := q.Config()
	a := c.ReceiveAttributes()
	a.Remote, a.PSN = remote, psn
	return a
}

func (q *QP) sends(psn ib.PSN) SendAttributes {
	c := q.Config()
	a := c.SendAttributes()
	a.PSN = psn
	return a
}

func pair(t testing.TB, change func(*Config)) (a, b *side) {
	t.Helper()
	a, b = newSide(t, 0, change), newSide(t, 1, change)
	connect(t, a, b, 0xfffffe, 100) // the PSN wraps within two packets
	return a, b
}

func (s *side) local(off, n int) Local {
	return Local{Key: s.region.Key, VA: s.region.VA + uint64(off), Length: n}
}

func (s *side) remote(off int) Remote {
	return Remote{VA: s.region.VA + uint64(off), RKey: s.region.Key}
}

// fill writes a pattern that differs at every byte and by seed.
func (s *side) fill(seed byte) {
	for i := range s.region.Bytes {
		s.region.Bytes[i] = byte(i*7) ^ byte(i>>8) ^ seed
	}
}

// packet is one packet on its way: real bytes, taken apart again by the receiver.
func (s *side) packet(o *ib.Outgoing) []byte {
	b := make([]byte, ib.MaxOverhead+4096)
	return b[:s.headers.Build(b, o)]
}

// next returns the request packet the side sends now, nil if none.
func (s *side) next(now unit.Time) []byte {
	var o ib.Outgoing
	if !s.Next(now, 0, &o) {
		return nil
	}
	return s.packet(&o)
}

func (s *side) answer() []byte {
	var o ib.Outgoing
	if !s.NextResponse(&o) {
		return nil
	}
	return s.packet(&o)
}

func (s *side) receive(t testing.TB, now unit.Time, b []byte) frame.Reason {
	t.Helper()
	if b == nil {
		t.Fatal("no packet to receive")
	}
	p := opened(t, b)
	if !p.CheckICRC() {
		t.Fatal("packet with a wrong ICRC")
	}
	a, why := s.Receive(now, &p)
	s.acked = a
	return why
}

// l4Of is where the UDP header of a frame without a tag is.
func l4Of(b []byte) int {
	if (*wire.Ethernet)(b).Type() == wire.TypeIPv6 {
		return wire.EthernetLen + wire.IPv6Len
	}
	return wire.EthernetLen + wire.IPv4Len
}

func opened(t testing.TB, b []byte) ib.Packet {
	t.Helper()
	p, ok := ib.Open(b, wire.EthernetLen, l4Of(b))
	if !ok {
		t.Fatalf("not a packet: %x", b)
	}
	return p
}

// settle exchanges packets without loss until nobody has anything to say.
func settle(t testing.TB, now unit.Time, a, b *side) {
	t.Helper()
	for range 10_000 {
		quiet := true
		for _, c := range []struct{ from, to *side }{{a, b}, {b, a}} {
			for _, p := range [][]byte{c.from.answer(), c.from.next(now)} {
				if p != nil {
					c.to.receive(t, now, p)
					quiet = false
				}
			}
		}
		if quiet {
			return
		}
	}
	t.Fatal("they never stop talking")
}

func (s *side) polled() []Completion {
	dst := make([]Completion, 32)
	return dst[:s.CQ().Poll(dst)]
}

func (s *side) post(t testing.TB, wr WR) {
	t.Helper()
	if err := s.Post(0, wr); err != nil {
		t.Fatal(err)
	}
}

func wantStatus(t testing.TB, got []Completion, want ...Status) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("completions %+v, want %v", got, want)
	}
	for i := range got {
		if got[i].Status != want[i] {
			t.Errorf("completion %d: %v, want %v", i, got[i].Status, want[i])
		}
	}
}

func sameBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: memory differs", what)
	}
}

// fataler is what testing.TB and rapid.T have in common here.
type fataler interface {
	Helper()
	Fatal(args ...any)
}
