package cm

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// refused hands the second side a REQ that was changed and returns the reason of its REJ.
func refused(t *testing.T, change func(*lab, *ib.REQ)) (ib.RejectReason, []byte) {
	t.Helper()
	l := newLab(t, func(c *Config) { c.MTU = 1024 })
	l.must(l.b.Listen(testService, 8))
	_, err := l.a.Connect(l.now, l.request())
	l.must(err)
	m := l.sends(l.a, ib.AttrREQ)
	change(l, (*ib.REQ)(m))
	if why := l.b.Receive(l.now, l.path(l.b), m[:]); why != frame.DropUnexpected {
		t.Errorf("the verdict is %v", why)
	}
	j := (*ib.REJ)(l.sends(l.b, ib.AttrREJ))
	if j.RemoteID() != (*ib.REQ)(m).LocalID() || (*ib.MAD)(j).TID() != m.TID() ||
		j.Message() != ib.AboutREQ || j.LocalID() != 0 {
		t.Errorf("the REJ answers another message")
	}
	if why := l.b.leak(); why != "" {
		t.Error(why)
	}
	if _, ok := l.b.NextEvent(); ok {
		t.Error("somebody is told of it")
	}
	return j.Reason(), j.Info()[:j.InfoLen()]
}

// Each REQ that cannot be served is refused for its own reason.
func TestRefusals(t *testing.T) {
	gid := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x0a\x00\x00\x02"
	for _, test := range []struct {
		want   ib.RejectReason
		info   string
		change func(*lab, *ib.REQ)
	}{
		{ib.RejInvalidServiceID, "", func(_ *lab, r *ib.REQ) { r.SetService(1) }},
		{ib.RejInvalidTransport, "", func(_ *lab, r *ib.REQ) { r.SetTransport(ib.UC) }},
		{ib.RejInvalidMTU, "\x03", func(_ *lab, r *ib.REQ) { r.SetMTU(0) }},
		{ib.RejInvalidMTU, "\x03", func(_ *lab, r *ib.REQ) { r.SetMTU(ib.CodeOfMTU(2048)) }},
		{ib.RejInvalidGID, gid, func(l *lab, r *ib.REQ) { r.SetLocalGID(l.b.addr) }},
		{ib.RejInvalidGID, gid, func(l *lab, r *ib.REQ) { r.SetRemoteGID(l.a.addr) }},
		{ib.RejInvalidVersion, "", func(_ *lab, r *ib.REQ) { r[2] = 3 }},
		{ib.RejNoResources, "", func(l *lab, _ *ib.REQ) { l.b.cfg.MaxConnections = 0 }},
	} {
		got, info := refused(t, test.change)
		if got != test.want || string(info) != test.info {
			t.Errorf("refused for %v with % x, want %v with % x", got, info, test.want, test.info)
		}
	}
}

// A peer that has forgotten a connection uses its QP again: the old connection is stale at this
// end and ends, and the new one comes about when the peer asks again.
func TestStaleConnection(t *testing.T) {
	l := newLab(t, nil)
	old, b := l.established()
	l.a.forget(l.a.conns[old]) // the peer has crashed
	_, err := l.a.Connect(l.now, l.request())
	l.must(err)
	l.pass(l.a, ib.AttrREQ)
	l.pass(l.b, ib.AttrREJ)
	if e := l.tells(l.a, Rejected); e.Reason != ib.RejStaleConnection {
		t.Errorf("rejected for %v", e.Reason)
	}
	if e := l.tells(l.b, Disconnected); e.ID != b || e.Reason != ib.RejStaleConnection {
		t.Errorf("ended %+v", e)
	}
	l.pass(l.b, ib.AttrDREQ) // to nobody, who answers
	l.pass(l.a, ib.AttrDREP)
	l.wake(l.a)
	l.tells(l.a, TimewaitOver)
	l.established()
}

// Messages about connections that nobody has are answered so that their sender gives up.
func TestStrangeMessages(t *testing.T) {
	l := newLab(t, nil)
	a, _ := l.requested()
	l.must(l.b.Accept(l.now, l.b.only(), l.reply()))
	rep := l.sends(l.b, ib.AttrREP)
	l.a.Close(l.now, a)
	l.tells(l.a, TimewaitOver)
	l.sends(l.a, ib.AttrREJ) // lost
	l.give(l.a, rep)
	l.pass(l.a, ib.AttrREJ)
	if e := l.tells(l.b, Rejected); e.Reason != ib.RejInvalidCommID {
		t.Errorf("rejected for %v", e.Reason)
	}
	var m ib.MAD
	for _, attr := range []ib.Attribute{ib.AttrRTU, ib.AttrREJ, ib.AttrMRA, ib.AttrDREP,
		ib.AttrSIDRREP, ib.AttrLAP, ib.AttrAPR, 0x99} {
		m.Init(attr, 7)
		if l.b.Receive(l.now, l.path(l.b), m[:]) != frame.DropUnexpected {
			t.Errorf("%v has an effect", attr)
		}
		l.silent(l.b)
	}
	l.over()
}

// only is the id of the only connection.
func (m *Manager) only() (id ID) {
	for id = range m.conns { // there is one
	}
	return id
}

// Nobody but the peer can speak for a connection, even who knows its ids.
func TestForgedMessages(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.established()
	l.must(l.a.Disconnect(l.now, a, nil))
	dreq := l.sends(l.a, ib.AttrDREQ)
	stranger := l.path(l.b)
	stranger.Dest = stranger.Dest.Next().Next()
	l.b.Receive(l.now, stranger, dreq[:])
	l.is(l.b, b, Running)
	var answer ib.MAD // it may forget what it has not
	if p, ok := l.b.Next(&answer); !ok || p != stranger || answer.Attribute() != ib.AttrDREP {
		t.Errorf("%v to %v", answer.Attribute(), p.Dest)
	}
	(*ib.DREQ)(dreq).SetRemoteQPN(0x99)
	l.give(l.b, dreq)
	l.is(l.b, b, Running)
	l.silent(l.b)
}

// The backlog bounds what one listener has half-open. What is beyond is not refused, so that it
// comes about when there is room.
func TestBacklog(t *testing.T) {
	l := newLab(t, nil)
	l.must(l.b.Listen(testService, 2))
	for i := range 3 {
		r := l.request()
		r.QP.QPN += ib.QPN(i)
		_, err := l.a.Connect(l.now, r)
		l.must(err)
		l.pass(l.a, ib.AttrREQ)
	}
	first := l.tells(l.b, Requested).ID
	l.tells(l.b, Requested)
	if e, ok := l.b.NextEvent(); ok || l.b.Counters().Backlog != 1 {
		t.Errorf("told %v, %d dropped", e.Kind, l.b.Counters().Backlog)
	}
	l.must(l.b.Reject(l.now, first, Refusal{}))
	l.pass(l.b, ib.AttrREJ)
	l.tells(l.a, Rejected)
	for range 2 {
		l.wake(l.a)
	}
	for m := l.take(l.a); m != nil; m = l.take(l.a) {
		l.give(l.b, m)
	}
	l.tells(l.b, Requested)
}

// A flood of requests from anywhere takes no more than was configured.
func TestFlood(t *testing.T) {
	l := newLab(t, func(c *Config) { c.MaxConnections = 50 })
	l.must(l.b.Listen(testService, 1000))
	_, err := l.a.Connect(l.now, l.request())
	l.must(err)
	m := l.sends(l.a, ib.AttrREQ)
	for i := range 5000 {
		r := (*ib.REQ)(m)
		r.SetLocalID(uint32(i + 1))
		r.SetQPN(ib.QPN(i + 1))
		l.give(l.b, m)
	}
	c := l.b.Counters()
	if l.b.Len() != 50 || len(l.b.byPeer) != 50 || len(l.b.byQP) != 50 ||
		l.b.out.len() > 50+spare || c.Overflow == 0 {
		t.Errorf("%d connections, %d answers wait, %d lost", l.b.Len(), l.b.out.len(), c.Overflow)
	}
	for l.b.NextWake() != unit.Never {
		l.wake(l.b)
		for range l.b.out.len() {
			l.take(l.b)
		}
	}
	if why := l.b.leak(); why != "" {
		t.Error(why)
	}
}

// Calls out of turn and arguments that cannot be are refused and change nothing.
func TestCallsOutOfTurn(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.established()
	long := make([]byte, 300)
	for i, test := range []struct {
		err  error
		want error
	}{
		{l.a.Confirm(l.now, a, nil), ErrState},
		{l.b.Accept(l.now, b, l.reply()), ErrState},
		{l.b.Reject(l.now, b, Refusal{}), ErrState},
		{l.b.Delay(l.now, b, 1), ErrState},
		{l.b.Answer(b, Found{}), ErrState},
		{l.b.Disconnect(l.now, b, long), ErrTooLong},
		{l.b.Disconnect(l.now, 0, nil), ErrNoConnection},
		{l.b.Listen(testService, 1), ErrInUse},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%d: %v, want %v", i, test.err, test.want)
		}
	}
	r := l.request()
	r.Private = long[:57]
	if _, err := l.a.Connect(l.now, r); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	r = l.request()
	r.MTU = 1000
	if _, err := l.a.Connect(l.now, r); !errors.Is(err, ErrMTU) {
		t.Error(err)
	}
	r = l.request()
	r.Path = Path{MAC: wire.MAC{2}}
	if _, err := l.a.Connect(l.now, r); !errors.Is(err, ErrPath) {
		t.Error(err)
	}
	l.is(l.a, a, Running)
	l.is(l.b, b, Running)
}

func TestConfigFaults(t *testing.T) {
	bad := Config{ResponseTimeout: 32, PacketLifetime: 32, AckDelay: 32, ServiceTimeout: 32,
		MaxRetries: 16, MTU: 1000}
	if n := len(bad.Validate()); n != 8 {
		t.Errorf("%d faults, want 8", n)
	}
	good := testConfig(1)
	if faults := good.Validate(); len(faults) != 0 {
		t.Error(faults)
	}
}

// Close ends a connection at both ends in whatever state it is.
func TestClose(t *testing.T) {
	for name, reach := range map[string]func(*lab) ID{
		"REQ sent": func(l *lab) ID {
			id, _ := l.requested()
			return id
		},
		"REP rcvd":    func(l *lab) ID { id, _ := l.replied(); return id },
		"established": func(l *lab) ID { id, _ := l.established(); return id },
	} {
		l := newLab(t, nil)
		id := reach(l)
		l.a.Close(l.now, id)
		l.a.Close(l.now, id+1) // of nothing
		if told := drain(l)[l.a]; len(told) != 1 || told[0] != TimewaitOver {
			t.Errorf("%s: who closed is told %v", name, told)
		}
		if n := l.a.Len() + l.b.Len(); n != 0 {
			t.Errorf("%s: %d connections are left", name, n)
		}
	}
	for name, reach := range map[string]func(*lab) ID{
		"REQ rcvd": func(l *lab) ID { _, id := l.requested(); return id },
		"REP sent": func(l *lab) ID { _, id := l.replied(); return id },
		"SIDR REQ rcvd": func(l *lab) ID {
			l.must(l.b.Listen(1, 1))
			_, err := l.a.Resolve(l.now, Lookup{Path: l.path(l.a), Service: 1})
			l.must(err)
			l.pass(l.a, ib.AttrSIDRREQ)
			return l.tells(l.b, Asked).ID
		},
	} {
		l := newLab(t, nil)
		l.b.Close(l.now, reach(l))
		drain(l)
		if n := l.a.Len() + l.b.Len(); n != 0 {
			t.Errorf("%s: %d connections are left", name, n)
		}
	}
}

// drain hands over all messages and lets all deadlines pass, answering whoever asks. It returns
// what each side was told.
func drain(l *lab) map[*side][]EventKind {
	told := map[*side][]EventKind{}
	for {
		for _, s := range []*side{l.a, l.b} {
			for m := l.take(s); m != nil; m = l.take(s) {
				l.give(l.other(s), m)
			}
			for e, ok := s.NextEvent(); ok; e, ok = s.NextEvent() {
				told[s] = append(told[s], e.Kind)
				if e.Kind == Disconnecting {
					l.must(s.Disconnect(l.now, e.ID, nil))
				}
			}
		}
		at := min(l.a.NextWake(), l.b.NextWake())
		if l.a.Pending() || l.b.Pending() {
			continue
		}
		if at == unit.Never {
			return told
		}
		l.after(max(0, at.Sub(l.now)))
	}
}
