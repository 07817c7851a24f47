package cm

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// session is what the connection manager of a real peer said in one run.
type session []ib.MAD

// captured reads a capture of rxe; see testdata/README.md of package ib.
func captured(t testing.TB, name string) (s session) {
	t.Helper()
	f, err := os.Open("../ib/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, _, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		p, ok := ib.Open(b, wire.EthernetLen, wire.EthernetLen+wire.IPv4Len)
		if !ok || p.BTH.DestQP() != ib.QP1 {
			continue
		}
		mad, ok := ib.AsMAD(p.Payload)
		if !ok {
			t.Fatalf("%s: not a MAD: %x", name, p.Payload)
		}
		s = append(s, *mad)
	}
}

// rxe is the configuration of the captured kernel, Linux 6.1, with its GUID.
func rxe(guid uint64) func(*Config) {
	return func(c *Config) { c.PacketLifetime, c.GUID = 18, guid }
}

// masked hides what each run draws anew, and the flow label: rxe invents one to spread its UDP
// source ports, our packets have none and say so.
func masked(m ib.MAD) ib.MAD {
	m.SetTID(0)
	switch m.Attribute() {
	case ib.AttrREQ:
		(*ib.REQ)(&m).SetLocalID(0)
		(*ib.REQ)(&m).SetFlowLabel(0)
	case ib.AttrREJ, ib.AttrREP, ib.AttrRTU, ib.AttrDREQ, ib.AttrDREP: // the ids are in one place
		(*ib.RTU)(&m).SetLocalID(0)
		(*ib.RTU)(&m).SetRemoteID(0)
	}
	return m
}

// same compares what we sent with what the real peer sent.
func same(t *testing.T, got *ib.MAD, want ib.MAD) {
	t.Helper()
	if masked(*got) != masked(want) {
		t.Errorf("%v:\n got %x\nwant %x", want.Attribute(), masked(*got), masked(want))
	}
}

// requestOf is what a program asked rxe for.
func requestOf(l *lab, m *ib.MAD) Request {
	r := (*ib.REQ)(m)
	from, _, _ := (*ib.IPHeader)(r.Private()).Get()
	l.a.addr, l.b.addr = r.LocalGID(), r.RemoteGID()
	return Request{Path: l.path(l.a), Service: r.Service(), MTU: r.MTU().Bytes(),
		Retry: r.Retry(), From: from, Private: r.Private()[ib.IPHeaderLen:], PKey: r.PKey(),
		QP: QP{QPN: r.QPN(), PSN: r.PSN(), Resources: r.Resources(), Depth: r.Depth(),
			RNRRetry: r.RNRRetry(), FlowControl: r.FlowControl(), SRQ: r.SRQ()}}
}

func replyOf(m *ib.MAD) Reply {
	r := (*ib.REP)(m)
	return Reply{Private: r.Private(), QP: QP{QPN: r.QPN(), PSN: r.PSN(),
		Resources: r.Resources(), Depth: r.Depth(), RNRRetry: r.RNRRetry(),
		FlowControl: r.FlowControl(), SRQ: r.SRQ()}}
}

// toward makes a captured message one to us: with our id instead of that of the run.
func toward(m ib.MAD, id ID) *ib.MAD {
	(*ib.RTU)(&m).SetRemoteID(uint32(id))
	return &m
}

// connectionOf picks the messages of the i-th connection of a session, in order.
func (s session) connectionOf(i int) (c session) {
	for _, m := range s {
		r := (*ib.RTU)(&m)
		switch {
		case m.Attribute() == ib.AttrREQ:
			if i == 0 {
				c = append(c, m)
			}
			i--
		case len(c) > 0:
			id := (*ib.REQ)(&c[0]).LocalID()
			if r.LocalID() == id || r.RemoteID() == id {
				c = append(c, m)
			}
		}
	}
	return c
}

// sessions are the captured connections that came about: REQ, REP, RTU, DREQ, DREP.
func sessions(t *testing.T) []session {
	rping, perftest := captured(t, "rping.pcap"), captured(t, "perftest_cm.pcap")
	all := []session{rping.connectionOf(0), perftest.connectionOf(0), perftest.connectionOf(1)}
	for _, s := range all {
		if len(s) != 5 || s[3].Attribute() != ib.AttrDREQ {
			t.Fatalf("a session of %d messages", len(s))
		}
	}
	return all
}

// As the active side of rping and ib_send_bw -R, our manager says what rxe's says.
func TestReplayActive(t *testing.T) {
	for _, s := range sessions(t) {
		l := newLab(t, rxe((*ib.REQ)(&s[0]).GUID()))
		id, err := l.a.Connect(l.now, requestOf(l, &s[0]))
		l.must(err)
		same(t, l.sends(l.a, ib.AttrREQ), s[0])
		l.give(l.a, toward(s[1], id))
		l.tells(l.a, Replied)
		l.must(l.a.Confirm(l.now, id, nil))
		same(t, l.sends(l.a, ib.AttrRTU), s[2])
		a, _ := l.a.Attributes(id)
		q, p := (*ib.REQ)(&s[0]), (*ib.REP)(&s[1])
		if a.SendPSN != p.PSN() || a.ReceivePSN != q.PSN() || a.Remote != p.QPN() ||
			a.Timeout != 19 {
			t.Errorf("attributes %+v", a)
		}
		l.must(l.a.Disconnect(l.now, id, nil))
		same(t, l.sends(l.a, ib.AttrDREQ), s[3])
		l.give(l.a, toward(s[4], id))
		l.tells(l.a, Disconnected)
		l.silent(l.a)
	}
}

// As the passive side of rping and ib_send_bw -R, our manager says what rxe's says, in the
// transactions that the other side chose.
func TestReplayPassive(t *testing.T) {
	for _, s := range sessions(t) {
		l := newLab(t, rxe((*ib.REP)(&s[1]).GUID()))
		r := requestOf(l, &s[0])
		l.must(l.b.Listen(r.Service, 1))
		l.give(l.b, &s[0])
		e := l.tells(l.b, Requested)
		if e.From != r.From || e.QP != r.QP || e.MTU != r.MTU {
			t.Errorf("requested %+v", e)
		}
		l.must(l.b.Accept(l.now, e.ID, replyOf(&s[1])))
		answer := func(got *ib.MAD, want, to ib.MAD) {
			t.Helper()
			same(t, got, want)
			if got.TID() != to.TID() || (*ib.RTU)(got).RemoteID() != (*ib.RTU)(&to).LocalID() {
				t.Errorf("%v answers another message", got.Attribute())
			}
		}
		answer(l.sends(l.b, ib.AttrREP), s[1], s[0])
		l.give(l.b, toward(s[2], e.ID))
		l.tells(l.b, Established)
		l.give(l.b, toward(s[3], e.ID))
		l.tells(l.b, Disconnecting)
		l.must(l.b.Disconnect(l.now, e.ID, nil))
		l.tells(l.b, Disconnected)
		answer(l.sends(l.b, ib.AttrDREP), s[4], s[3])
		l.silent(l.b)
	}
}

// Where nobody listens, our manager refuses as rxe's does, and takes its refusal.
func TestReplayReject(t *testing.T) {
	s := captured(t, "cm_reject.pcap")
	l := newLab(t, rxe((*ib.REQ)(&s[0]).GUID()))
	id, err := l.a.Connect(l.now, requestOf(l, &s[0]))
	l.must(err)
	same(t, l.sends(l.a, ib.AttrREQ), s[0])
	l.give(l.a, toward(s[1], id))
	if e := l.tells(l.a, Rejected); e.Reason != ib.RejInvalidServiceID || e.ID != id {
		t.Errorf("rejected %+v", e)
	}
	l.give(l.b, &s[0])
	if got := l.sends(l.b, ib.AttrREJ); *got != s[1] { // nothing in it is ours to choose
		t.Errorf("\n got %x\nwant %x", *got, s[1])
	}
	l.over()
}

// The GUIDs and addresses of the captures are the ones the lab's notes name.
func TestReplayIsOfTheLab(t *testing.T) {
	s := captured(t, "rping.pcap")
	if g := (*ib.REQ)(&s[0]).GUID(); g != 0x505400fffe000002 {
		t.Errorf("GUID %x", g)
	}
	if a := (*ib.REQ)(&s[0]).LocalGID(); a != netip.MustParseAddr("10.9.0.2") {
		t.Errorf("address %v", a)
	}
}
