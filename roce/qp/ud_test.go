package qp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/ib"
)

// udSide is a UD QP with a region.
type udSide struct {
	*UD
	region   *Region
	counters Counters
}

func newUD(t *testing.T, cfg UDConfig) *udSide {
	t.Helper()
	mem := NewMemory(rand.NewPCG(1, 2), 1)
	region, err := mem.Register(1, 8192, anyAccess)
	if err != nil {
		t.Fatal(err)
	}
	cfg.PD, cfg.MTU, cfg.SendQueue, cfg.ReceiveQueue = 1, 1024, 4, 4
	s := &udSide{region: region}
	s.UD = NewUD(cfg, mem, NewCQ(8), &s.counters)
	for _, err := range []error{s.Init(), s.ReadyToReceive(), s.ReadyToSend(0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *udSide) local(off, n int) Local {
	return Local{Key: s.region.Key, VA: s.region.VA + uint64(off), Length: n}
}

func (s *udSide) polled() []Completion {
	dst := make([]Completion, 8)
	return dst[:s.cq.Poll(dst)]
}

// The datagrams of ibv_ud_pingpong on rxe: ours for the same work are its bytes, and its are
// received with the network header in front. A17.4.
func TestDatagramsAreRxes(t *testing.T) {
	seen := 0
	for _, b := range captured(t, "ud_uc.pcap") {
		p := opened(t, b)
		if p.Info.Transport != ib.UD {
			continue
		}
		seen++
		s := newUD(t, UDConfig{QPN: p.DETH.SourceQP(), QKey: p.DETH.QKey(), PKey: 0xffff})
		s.psn = p.BTH.PSN()
		copy(s.region.Bytes, p.Payload)
		to := Address{Handle: 9, QPN: p.BTH.DestQP(), QKey: p.DETH.QKey()}
		if err := s.Post(0, UDWR{ID: 3, Local: s.local(0, len(p.Payload)), To: to}); err != nil {
			t.Fatal(err)
		}
		var o ib.Outgoing
		if got, ok := s.Next(0, &o); !ok || got != to {
			t.Fatalf("to %+v, %v", got, ok)
		}
		h := ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.9.0.1"),
			Dest: netip.MustParseAddr("10.9.0.2"), DestQP: to.QPN})
		got := make([]byte, 2048)
		got = got[:h.Build(got, &o)]
		if !bytes.Equal(transport(got), transport(b)) {
			t.Errorf("datagram\n got %x\nwant %x", transport(got), transport(b))
		}
		if err := s.PostReceive(0, ReceiveWR{ID: 5, Local: s.local(2000, 2000)}); err != nil {
			t.Fatal(err)
		}
		if why := s.Receive(0, &p); why != frame.NoReason {
			t.Fatal(why)
		}
		cs := s.polled()
		wantStatus(t, cs, Success, Success)
		if cs[1].ID != 5 || cs[1].SourceQP != p.DETH.SourceQP() ||
			cs[1].Bytes != 40+len(p.Payload) {
			t.Errorf("%+v", cs[1])
		}
		want := append(append(make([]byte, 20), b[14:34]...), p.Payload...)
		sameBytes(t, "received", s.region.Bytes[2000:2000+len(want)], want)
	}
	if seen == 0 {
		t.Error("no datagram in the capture")
	}
}

// What is dropped, and by which counter. IBTA 9.6.1, 9.8.3, 10.2.5.
func TestDatagramsDropped(t *testing.T) {
	h := ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("fd00::1"),
		Dest: netip.MustParseAddr("fd00::2"), DestQP: 17})
	for _, c := range []struct {
		name    string
		key     uint32
		payload int
		buffers int
		count   func(c *Counters) uint64
		want    frame.Reason
	}{
		{"good", 7, 60, 1, func(c *Counters) uint64 { return 1 }, frame.NoReason},
		{"Q_Key", 8, 60, 1, func(c *Counters) uint64 { return c.BadQKey }, frame.DropUnexpected},
		{"no receive", 7, 60, 0, func(c *Counters) uint64 { return c.OutOfBuffer },
			frame.DropUnexpected},
		{"short receive", 7, 61, 1, func(c *Counters) uint64 { return c.RespLocalLengthError },
			frame.DropUnexpected},
	} {
		s := newUD(t, UDConfig{QPN: 17, QKey: 7, PKey: 0xffff})
		for range c.buffers {
			if err := s.PostReceive(0, ReceiveWR{Local: s.local(0, 100)}); err != nil {
				t.Fatal(err)
			}
		}
		b := make([]byte, 400)
		b = b[:h.Build(b, &ib.Outgoing{Opcode: ib.UDSendOnlyImm, Imm: 77, Solicited: true,
			UD: ib.Datagram{QKey: c.key, SourceQP: 33}, Payload: make([]byte, c.payload)})]
		p, ok := ib.Open(b, 14, 54)
		if !ok {
			t.Fatal("own packet refused")
		}
		if why := s.Receive(0, &p); why != c.want || c.count(&s.counters) != 1 {
			t.Errorf("%s: %v, %+v", c.name, why, s.counters)
		}
		if cs := s.polled(); c.want == frame.NoReason && (len(cs) != 1 || cs[0].Imm != 77 ||
			!cs[0].HasImm || !cs[0].Solicited || !bytes.Equal(s.region.Bytes[:40], b[14:54])) {
			t.Errorf("received %+v", cs)
		}
	}
}

// The controlled Q_Key, bounds, states and flush.
func TestUDQueues(t *testing.T) {
	s := newUD(t, UDConfig{QPN: 1, QKey: 0x80010000, PKey: 0xffff})
	if err := s.Post(0, UDWR{Local: s.local(0, 1025)}); !errors.Is(err, ErrLength) {
		t.Errorf("beyond the MTU: %v", err)
	}
	if err := s.Post(0, UDWR{Local: s.local(8000, 193)}); !errors.Is(err, ErrLocal) {
		t.Errorf("beyond the region: %v", err)
	}
	for range 4 {
		if err := s.Post(0, UDWR{To: Address{QKey: 1 << 31}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Post(0, UDWR{}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("fifth of four: %v", err)
	}
	var o ib.Outgoing
	if _, ok := s.Next(0, &o); !ok || o.UD.QKey != 0x80010000 || o.PSN != 0 {
		t.Errorf("%+v", o)
	}
	s.Fail(0)
	wantStatus(t, s.polled(), Success, Flushed, Flushed, Flushed)
	for _, err := range []error{s.Init(), s.ReadyToReceive(), s.ReadyToSend(1)} {
		if !errors.Is(err, ErrState) {
			t.Errorf("from ERR: %v", err)
		}
	}
	if s.Post(0, UDWR{}) != nil || s.PostReceive(0, ReceiveWR{}) != nil {
		t.Error("ERR takes work, to flush it")
	}
	wantStatus(t, s.polled(), Flushed, Flushed)
	if (NewUD(UDConfig{}, nil, NewCQ(1), nil)).Post(0, UDWR{}) == nil {
		t.Error("posted in RESET")
	}
}
