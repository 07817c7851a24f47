package qp

import (
	"maps"
	"net/netip"
	"reflect"
	"testing"

	"github.com/rocelab/rocelab/roce/ib"
)

// counted is all counters that are not zero, by name.
func counted(c *Counters) map[string]uint64 {
	out := map[string]uint64{}
	v := reflect.ValueOf(*c)
	for i := range v.NumField() {
		if n := v.Field(i).Uint(); n != 0 {
			out[v.Type().Field(i).Name] = n
		}
	}
	return out
}

// Each kind of bad packet for a connection moves its own counter and no other's: what was dropped
// one, what was refused also the one for all that are refused.
func TestEveryBadPacketIsCounted(t *testing.T) {
	full := make([]byte, 256)
	refused := func(name string, more ...string) map[string]uint64 {
		m := map[string]uint64{name: 1, "RespRemoteInvalidRequest": 1}
		for _, n := range more {
			m[n] = 1
		}
		return m
	}
	dropped := func(name string) map[string]uint64 { return map[string]uint64{name: 1} }
	for _, c := range []struct {
		name  string
		o     ib.Outgoing
		state State
		want  map[string]uint64
	}{
		{"another transport", ib.Outgoing{Opcode: 0x24, Payload: full}, StateRTS,
			dropped("BadTransport")},
		{"datagram", ib.Outgoing{Opcode: ib.UDSendOnly, Payload: full}, StateRTS,
			dropped("BadTransport")},
		{"state INIT", ib.Outgoing{Opcode: ib.WriteOnly}, StateInit, dropped("NotReady")},
		{"state ERR", ib.Outgoing{Opcode: ib.WriteOnly}, StateErr, dropped("NotReady")},
		{"ACK in RTR", ib.Outgoing{Opcode: ib.Acknowledge}, StateRTR,
			dropped("UnexpectedResponse")},
		{"ACK of nothing", ib.Outgoing{Opcode: ib.Acknowledge, PSN: 9}, StateRTS,
			dropped("UnexpectedResponse")},
		{"answer to no READ", ib.Outgoing{Opcode: ib.ReadResponseOnly, PSN: 9}, StateRTS,
			dropped("UnexpectedResponse")},
		{"answer to no atomic", ib.Outgoing{Opcode: ib.AtomicAcknowledge, PSN: 9}, StateRTS,
			dropped("UnexpectedResponse")},
		{"duplicate of no READ", ib.Outgoing{Opcode: ib.ReadRequest, PSN: 1}, StateRTS,
			map[string]uint64{"UnmatchedDuplicate": 1, "DuplicateRequest": 1}},
		{"duplicate of no atomic", ib.Outgoing{Opcode: ib.CmpSwap, PSN: 1}, StateRTS,
			map[string]uint64{"UnmatchedDuplicate": 1, "DuplicateRequest": 1}},
		{"middle without first", ib.Outgoing{Opcode: ib.SendMiddle, PSN: 2, Payload: full},
			StateRTS, refused("RespOpcodeSequence")},
		{"invalidate", ib.Outgoing{Opcode: ib.SendOnlyInvalidate, PSN: 2}, StateRTS,
			refused("RespUnsupportedOpcode")},
		{"short first", ib.Outgoing{Opcode: ib.SendFirst, PSN: 2, Payload: full[:255]}, StateRTS,
			refused("RespPacketLength")},
		{"long only", ib.Outgoing{Opcode: ib.SendOnly, PSN: 2, Payload: make([]byte, 257)},
			StateRTS, refused("RespPacketLength")},
		{"beyond the receive", ib.Outgoing{Opcode: ib.SendOnly, PSN: 2, Payload: full}, StateRTS,
			refused("RespLocalLengthError", "RespCQEError")},
		{"shorter than its RETH", ib.Outgoing{Opcode: ib.WriteOnly, PSN: 2,
			RDMA: ib.RDMA{Length: 0}, Payload: full[:1]}, StateRTS,
			refused("RespLocalLengthError", "RxWriteRequests")},
		{"odd atomic", ib.Outgoing{Opcode: ib.FetchAdd, PSN: 2, RDMA: ib.RDMA{VA: 4}}, StateRTS,
			refused("RespMisalignedAtomic", "RxAtomicRequests")},
		{"no such memory", ib.Outgoing{Opcode: ib.WriteOnly, PSN: 2, RDMA: ib.RDMA{Length: 1},
			Payload: full[:1]}, StateRTS, dropped("RespRemoteAccessErrors")},
	} {
		s := inState(t, c.state)
		if c.state == StateRTS && c.o.Opcode.Info().Verb == ib.Send {
			if err := s.PostReceive(0, ReceiveWR{Local: s.local(0, 255)}); err != nil {
				t.Fatal(err)
			}
		}
		s.receive(t, 0, s.packet(&c.o))
		got := counted(&s.counters)
		delete(got, "RespCQEFlushError") // of the receive that nothing took
		if got["RespLocalLengthError"] == 0 {
			delete(got, "RespCQEError")
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// READs and atomics beyond what was agreed, and a partition that is not ours.
func TestTooManyAndForeignAreCounted(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.ReadDepth, c.Resources = 2, 1 })
	for range 2 {
		a.post(t, WR{Op: Read, Local: a.local(0, 9), Remote: b.remote(0)})
		b.receive(t, 0, a.next(0))
	}
	if b.counters.RespTooManyReads != 1 || b.counters.RespRemoteInvalidRequest != 1 {
		t.Errorf("%v", counted(&b.counters))
	}
	s := inState(t, StateRTS)
	s.headers = ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.0.0.1"),
		Dest: netip.MustParseAddr("10.0.0.2"), PKey: 0x8001})
	s.receive(t, 0, s.packet(&ib.Outgoing{Opcode: ib.WriteOnly, PSN: 2}))
	if got := counted(&s.counters); !maps.Equal(got, map[string]uint64{"BadPKey": 1}) {
		t.Errorf("%v", got)
	}
}

// The same for datagrams.
func TestEveryBadDatagramIsCounted(t *testing.T) {
	for _, c := range []struct {
		name string
		o    ib.Outgoing
		pkey uint16
		want string
	}{
		{"reliable", ib.Outgoing{Opcode: ib.SendOnly}, 0xffff, "BadTransport"},
		{"beyond the MTU", ib.Outgoing{Opcode: ib.UDSendOnly, Payload: make([]byte, 1025)}, 0xffff,
			"BadLength"},
		{"P_Key", ib.Outgoing{Opcode: ib.UDSendOnly}, 0x8001, "BadPKey"},
		{"Q_Key", ib.Outgoing{Opcode: ib.UDSendOnly, UD: ib.Datagram{QKey: 8}}, 0xffff, "BadQKey"},
		{"no receive", ib.Outgoing{Opcode: ib.UDSendOnly, UD: ib.Datagram{QKey: 7}}, 0xffff,
			"OutOfBuffer"},
	} {
		s := newUD(t, UDConfig{QPN: 17, QKey: 7, PKey: 0xffff})
		h := ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.0.0.1"),
			Dest: netip.MustParseAddr("10.0.0.2"), PKey: c.pkey})
		b := make([]byte, 2048)
		p := opened(t, b[:h.Build(b, &c.o)])
		s.Receive(0, &p)
		if got := counted(&s.counters); !maps.Equal(got, map[string]uint64{c.want: 1}) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	s := newUD(t, UDConfig{QPN: 17, QKey: 7, PKey: 0xffff})
	s.Fail(0)
	h := ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.0.0.1"),
		Dest: netip.MustParseAddr("10.0.0.2")})
	b := make([]byte, 2048)
	p := opened(t, b[:h.Build(b, &ib.Outgoing{Opcode: ib.UDSendOnly})])
	s.Receive(0, &p)
	if got := counted(&s.counters); !maps.Equal(got, map[string]uint64{"NotReady": 1}) {
		t.Errorf("in ERR: %v", got)
	}
}
