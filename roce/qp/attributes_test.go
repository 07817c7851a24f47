package qp

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// What the peers agree on comes with the transitions: two QPs of one NIC, made alike, talk at
// different path MTUs, from 256 to 4096.
func TestPathMTUIsTheConnections(t *testing.T) {
	for _, mtu := range []int{256, 512, 1024, 2048, 4096} {
		a, b := newSide(t, 0, nil), newSide(t, 1, nil)
		other := New(a.Config(), a.mem, NewCQ(16), &a.counters) // stays at 256
		connectAt(t, a, b, mtu)
		a.fill(3)
		a.post(t, WR{Op: Write, Local: a.local(0, 9001), Remote: b.remote(5)})
		first := a.next(0)
		if p := opened(t, first); len(p.Payload) != mtu {
			t.Errorf("MTU %d: first packet of %d bytes", mtu, len(p.Payload))
		}
		b.receive(t, 0, first)
		settle(t, 0, a, b)
		wantStatus(t, a.polled(), Success)
		sameBytes(t, "placed", b.region.Bytes[5:9006], a.region.Bytes[:9001])
		if c := a.Config(); c.MTU != mtu || other.Config().MTU != 256 {
			t.Errorf("MTU %d and %d, want %d and 256", c.MTU, other.Config().MTU, mtu)
		}
	}
}

// connectAt connects with attributes of the caller's instead of the configured ones.
func connectAt(t *testing.T, a, b *side, mtu int) {
	t.Helper()
	for _, c := range []struct{ s, peer *side }{{a, b}, {b, a}} {
		in := ReceiveAttributes{Remote: c.peer.QPN(), PSN: 5, MTU: mtu, Resources: 3,
			MinRNRTimer: 2}
		out := SendAttributes{PSN: 5, Timeout: 7, RetryCount: 1, RNRRetry: 2, ReadDepth: 3}
		for _, err := range []error{c.s.Init(), c.s.ReadyToReceive(in), c.s.ReadyToSend(out)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		got := c.s.Config()
		if got.Resources != 3 || got.MinRNRTimer != 2 || got.Timeout != 7 ||
			got.RetryCount != 1 || got.RNRRetry != 2 || got.ReadDepth != 3 {
			t.Fatalf("agreed on %+v", got)
		}
	}
}

// An attribute out of its range is named, and the QP stays where it was, as it was.
func TestAttributesOutOfRange(t *testing.T) {
	for _, c := range []struct {
		name string
		in   func(*ReceiveAttributes)
		out  func(*SendAttributes)
	}{
		{"mtu", func(a *ReceiveAttributes) { a.MTU = 1500 }, nil},
		{"resources", func(a *ReceiveAttributes) { a.Resources = 256 }, nil},
		{"min_rnr_timer", func(a *ReceiveAttributes) { a.MinRNRTimer = 32 }, nil},
		{"remote", func(a *ReceiveAttributes) { a.Remote = ib.MaxQPN + 1 }, nil},
		{"timeout", nil, func(a *SendAttributes) { a.Timeout = 32 }},
		{"retry_count", nil, func(a *SendAttributes) { a.RetryCount = 8 }},
		{"rnr_retry", nil, func(a *SendAttributes) { a.RNRRetry = 8 }},
		{"read_depth", nil, func(a *SendAttributes) { a.ReadDepth = -1 }},
	} {
		s := newSide(t, 0, nil)
		if err := s.Init(); err != nil {
			t.Fatal(err)
		}
		in, out := s.receives(1, 2), s.sends(3)
		if c.in != nil {
			c.in(&in)
		}
		err := s.ReadyToReceive(in)
		if c.out != nil {
			c.out(&out)
			err = s.ReadyToSend(out)
		}
		want := map[bool]State{true: StateInit, false: StateRTR}[c.in != nil]
		if !errors.Is(err, ErrAttribute) || s.State() != want ||
			!bytes.Contains([]byte(err.Error()), []byte(c.name)) {
			t.Errorf("%s: %v, in %v", c.name, err, s.State())
		}
		before := DefaultConfig()
		if got := s.Config(); got.Timeout != before.Timeout || got.MTU != 256 ||
			got.Resources != before.Resources {
			t.Errorf("%s: changed to %+v", c.name, got)
		}
	}
}

// What a configuration says comes back from the QP, whatever type it is kept in.
func TestConfigComesBack(t *testing.T) {
	want := Config{QPN: 77, PD: 5, MTU: 4096, SendQueue: 3, ReceiveQueue: 4,
		MaxOutstanding: ib.MaxPSNWindow - 1, ReadDepth: 255, Resources: 254, AckEvery: 99,
		Timeout: 31, RetryCount: 7, RNRRetry: 6, MaxInline: 1024, Credits: true, PKey: 0x8001,
		MinRNRTimer: 31, Personality: Personality{
			AckCoalesce: AckCoalesce{Packets: 7, Delay: time.Hour}, NAKDelay: time.Minute,
			RetransmitDelay: time.Second, OutOfOrder: OutOfOrderSilent, Recovery: GoBack0}}
	if faults := want.Validate(); faults != nil {
		t.Fatal(faults)
	}
	if got := New(want, nil, NewCQ(1), nil).Config(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Memory of the caller's: what the peer writes appears there, what is there is what it reads.
func TestRegisterBytes(t *testing.T) {
	a, b := pair(t, nil)
	mine := []byte("0123456789")
	region, err := b.mem.RegisterBytes(1, mine, anyAccess)
	if err != nil {
		t.Fatal(err)
	}
	a.fill(1)
	at := Remote{VA: region.VA + 2, RKey: region.Key}
	a.post(t, WR{Op: Write, Local: a.local(0, 3), Remote: at})
	settle(t, 0, a, b)
	sameBytes(t, "written", mine, append(append([]byte("01"), a.region.Bytes[:3]...), "56789"...))
	copy(mine, "abcdefghij")
	a.post(t, WR{Op: Read, Local: a.local(100, 8), Remote: at})
	settle(t, 0, a, b)
	sameBytes(t, "read", a.region.Bytes[100:108], []byte("cdefghij"))
	wantStatus(t, a.polled(), Success, Success)
	if _, err := b.mem.RegisterBytes(1, nil, anyAccess); !errors.Is(err, ErrMemory) {
		t.Errorf("no bytes: %v", err)
	}
}

// A completion tells when its work request ended: at the answer, the packet, the timer, or the call
// that flushed it.
func TestCompletionTime(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.RetryCount = 0 })
	at := func(s *side, want unit.Time) {
		t.Helper()
		for _, c := range s.polled() {
			if c.At != want {
				t.Errorf("%v %v at %v, want %v", c.Op, c.Status, c.At, want)
			}
		}
	}
	if err := b.PostReceive(3, ReceiveWR{Local: b.local(0, 9)}); err != nil {
		t.Fatal(err)
	}
	if err := a.Post(5, WR{Op: Send, Local: a.local(0, 9)}); err != nil {
		t.Fatal(err)
	}
	b.receive(t, 20, a.next(10))
	at(b, 20)
	a.receive(t, 30, b.answer())
	at(a, 30)
	if err := a.Post(40, WR{Op: Write, Local: a.local(0, 9)}); err != nil {
		t.Fatal(err)
	}
	a.next(50)
	now := a.Deadline()
	a.Wake(now)
	at(a, now)
	if err := a.Post(now+1, WR{Op: Write}); err != nil {
		t.Fatal(err)
	}
	at(a, now+1) // in ERR
	if err := b.PostReceive(now+2, ReceiveWR{Local: b.local(0, 9)}); err != nil {
		t.Fatal(err)
	}
	b.Fail(now + 3)
	at(b, now+3)
}

// What a personality may not be.
func TestPersonalityFaults(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.AckCoalesce = AckCoalesce{Packets: -1} },
		func(c *Config) { c.AckCoalesce = AckCoalesce{Packets: 2} }, // the last would wait for ever
		func(c *Config) { c.AckCoalesce = AckCoalesce{Delay: -1} },
		func(c *Config) { c.NAKDelay = -1 },
		func(c *Config) { c.RetransmitDelay = -1 },
		func(c *Config) { c.OutOfOrder = outOfOrders },
		func(c *Config) { c.Recovery = recoveries },
	} {
		c := DefaultConfig()
		change(&c)
		if len(c.Validate()) != 1 {
			t.Errorf("%+v: %v", c.Personality, c.Validate())
		}
	}
	for _, o := range []OutOfOrder{OutOfOrderNAK, OutOfOrderSilent} {
		text, err := o.MarshalText()
		back := OutOfOrder(9)
		if err != nil || back.UnmarshalText(text) != nil || back != o {
			t.Errorf("%v: %s, %v, back %v", o, text, err, back)
		}
	}
	if o := outOfOrders; o.UnmarshalText([]byte("maybe")) == nil {
		t.Error("takes any word")
	} else if _, err := o.MarshalText(); err == nil {
		t.Error("writes what it cannot read")
	}
}
