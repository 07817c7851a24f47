package cm

import (
	"bytes"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// The walk through the book: IBTA volume 1 chapter 12 by the states and messages of Linux
// drivers/infiniband/core/cm.c. Each test names the transition that it walks.

// Idle, REQ sent, REP rcvd, established; idle, REQ rcvd, REP sent, established.
func TestBookEstablish(t *testing.T) {
	l := newLab(t, nil)
	l.must(l.b.Listen(testService, 8))
	a, err := l.a.Connect(l.now, l.request())
	l.must(err)
	l.is(l.a, a, REQSent)
	l.pass(l.a, ib.AttrREQ)
	asked := l.tells(l.b, Requested)
	b := asked.ID
	l.is(l.b, b, REQRcvd)
	want := l.request()
	if asked.From != want.From || asked.To != l.b.addr || asked.QP != want.QP ||
		asked.MTU != 1024 || asked.Retry != 7 || asked.PKey != ib.DefaultPKey ||
		asked.Service != testService || asked.Path.Dest != l.a.addr ||
		string(bytes.TrimRight(asked.Private, "\x00")) != "hello" {
		t.Errorf("asked %+v", asked)
	}
	l.must(l.b.Accept(l.now, b, l.reply()))
	l.is(l.b, b, REPSent)
	l.pass(l.b, ib.AttrREP)
	replied := l.tells(l.a, Replied)
	l.is(l.a, a, REPRcvd)
	if string(bytes.TrimRight(replied.Private, "\x00")) != "welcome" || replied.QP.QPN != 0x22 {
		t.Errorf("replied %+v", replied)
	}
	l.must(l.a.Confirm(l.now, a, []byte("go")))
	l.is(l.a, a, Running)
	l.pass(l.a, ib.AttrRTU)
	ready := l.tells(l.b, Established)
	l.is(l.b, b, Running)
	if string(bytes.TrimRight(ready.Private, "\x00")) != "go" {
		t.Errorf("ready with %q", ready.Private)
	}
	if l.a.NextWake() != unit.Never || l.b.NextWake() != unit.Never {
		t.Error("an established connection waits for something")
	}
}

// What both sides have agreed: each sends from the PSN that the other told, and neither has more
// READs under way than the other keeps.
func TestBookAttributes(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.established()
	got, ok := l.a.Attributes(a)
	want := Attributes{Path: l.path(l.a), Local: 0x11, Remote: 0x22, ReceivePSN: 0x123456,
		SendPSN: 0x654321, MTU: 1024, PKey: ib.DefaultPKey, Timeout: 17, Retry: 7, RNRRetry: 5,
		Resources: 2, Depth: 8}
	if !ok || got != want {
		t.Errorf("active %+v, want %+v", got, want)
	}
	got, ok = l.b.Attributes(b)
	want = Attributes{Path: l.path(l.b), Local: 0x22, Remote: 0x11, ReceivePSN: 0x654321,
		SendPSN: 0x123456, MTU: 1024, PKey: ib.DefaultPKey, Timeout: 17, Retry: 7, RNRRetry: 7,
		Resources: 8, Depth: 2}
	if !ok || got != want {
		t.Errorf("passive %+v, want %+v", got, want)
	}
	if _, ok := l.a.Attributes(a + 1); ok {
		t.Error("attributes of nothing")
	}
}

// Established, DREQ sent, timewait, idle; established, DREQ rcvd, timewait, idle.
func TestBookDisconnect(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.established()
	l.must(l.a.Disconnect(l.now, a, nil))
	l.is(l.a, a, DREQSent)
	l.pass(l.a, ib.AttrDREQ)
	l.tells(l.b, Disconnecting)
	l.is(l.b, b, DREQRcvd)
	l.must(l.b.Disconnect(l.now, b, nil))
	l.is(l.b, b, Timewait)
	l.tells(l.b, Disconnected)
	l.pass(l.b, ib.AttrDREP)
	l.tells(l.a, Disconnected)
	l.is(l.a, a, Timewait)
	if got := l.wake(l.a); got != ib.TimeOf(17) {
		t.Errorf("timewait is %v, want that of code 17", got)
	}
	l.tells(l.a, TimewaitOver)
	l.is(l.a, a, Idle)
	l.over()
}

// Both want to end it at once: each answers the other's DREQ from DREQ sent.
func TestBookSimultaneousDisconnect(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.established()
	l.must(l.a.Disconnect(l.now, a, nil))
	l.must(l.b.Disconnect(l.now, b, nil))
	fromA, fromB := l.sends(l.a, ib.AttrDREQ), l.sends(l.b, ib.AttrDREQ)
	l.give(l.b, fromA)
	l.give(l.a, fromB)
	l.tells(l.a, Disconnected)
	l.tells(l.b, Disconnected)
	l.pass(l.a, ib.AttrDREP)
	l.pass(l.b, ib.AttrDREP)
	l.is(l.a, a, Timewait)
	l.is(l.b, b, Timewait)
	l.over()
}

// REQ rcvd, idle; REQ sent, idle: the consumer refuses.
func TestBookReject(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.requested()
	l.must(l.b.Reject(l.now, b, Refusal{Private: []byte("no"), Info: []byte{1, 2}}))
	l.is(l.b, b, Idle)
	l.pass(l.b, ib.AttrREJ)
	e := l.tells(l.a, Rejected)
	if e.Reason != ib.RejConsumer || string(bytes.TrimRight(e.Private, "\x00")) != "no" ||
		!bytes.Equal(e.Info, []byte{1, 2}) {
		t.Errorf("rejected %+v", e)
	}
	l.is(l.a, a, Idle)
	l.over()
}

// REP rcvd, idle; REP sent, idle: the active consumer refuses.
func TestBookRejectREP(t *testing.T) {
	l := newLab(t, nil)
	a, _ := l.replied()
	l.must(l.a.Reject(l.now, a, Refusal{Reason: ib.RejInsufficient}))
	if j := (*ib.REJ)(l.sends(l.a, ib.AttrREJ)); j.Message() != ib.AboutREP {
		t.Errorf("the REJ is about %d", j.Message())
	} else {
		l.give(l.b, (*ib.MAD)(j))
	}
	if e := l.tells(l.b, Rejected); e.Reason != ib.RejInsufficient {
		t.Errorf("rejected for %v", e.Reason)
	}
	l.over()
}

// REQ rcvd, MRA REQ sent, REP sent; REQ sent, MRA REQ rcvd, REP rcvd.
func TestBookDelayREQ(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.requested()
	l.must(l.b.Delay(l.now, b, 22))
	l.is(l.b, b, MRAREQSent)
	l.pass(l.b, ib.AttrMRA)
	l.tells(l.a, Delayed)
	l.is(l.a, a, MRAREQRcvd)
	if got, want := l.a.NextWake().Sub(l.now), ib.TimeOf(22)+ib.TimeOf(17); got != want {
		t.Errorf("the REQ is repeated after %v, want %v", got, want)
	}
	l.must(l.b.Accept(l.now, b, l.reply()))
	l.pass(l.b, ib.AttrREP)
	l.tells(l.a, Replied)
	l.is(l.a, a, REPRcvd)
}

// REP rcvd, MRA REP sent, established; REP sent, MRA REP rcvd, established.
func TestBookDelayREP(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.replied()
	l.must(l.a.Delay(l.now, a, 22))
	l.is(l.a, a, MRAREPSent)
	l.pass(l.a, ib.AttrMRA)
	l.tells(l.b, Delayed)
	l.is(l.b, b, MRAREPRcvd)
	l.must(l.a.Confirm(l.now, a, nil))
	l.pass(l.a, ib.AttrRTU)
	l.tells(l.b, Established)
	l.is(l.b, b, Running)
}

// REP sent, established: the RTU is lost and data arrives.
func TestBookCommunicationEstablished(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.replied()
	l.must(l.a.Confirm(l.now, a, nil))
	rtu := l.sends(l.a, ib.AttrRTU)
	l.b.Communicating(b)
	l.tells(l.b, Established)
	l.is(l.b, b, Running)
	l.b.Communicating(b)
	l.give(l.b, rtu) // it was only late
	if e, ok := l.b.NextEvent(); ok {
		t.Errorf("told %v again", e.Kind)
	}
	if n := l.b.Counters().Duplicates.Of(ib.AttrRTU); n != 1 {
		t.Errorf("%d duplicates", n)
	}
}

// SIDR REQ sent, idle; SIDR REQ rcvd, idle.
func TestBookSIDR(t *testing.T) {
	l := newLab(t, nil)
	service := ib.IPService(ib.SpaceUDP, 7174)
	l.must(l.b.Listen(service, 2))
	a, err := l.a.Resolve(l.now, Lookup{Path: l.path(l.a), Service: service,
		From: l.request().From, Private: []byte("who")})
	l.must(err)
	l.is(l.a, a, SIDRREQSent)
	l.pass(l.a, ib.AttrSIDRREQ)
	e := l.tells(l.b, Asked)
	l.is(l.b, e.ID, SIDRREQRcvd)
	if e.From != l.request().From || string(bytes.TrimRight(e.Private, "\x00")) != "who" {
		t.Errorf("asked %+v", e)
	}
	l.must(l.b.Answer(e.ID, Found{QPN: 0x99, QKey: 0x01234567, Private: []byte("me")}))
	l.pass(l.b, ib.AttrSIDRREP)
	got := l.tells(l.a, Resolved).Found
	if got.Status != ib.SIDRSuccess || got.QPN != 0x99 || got.QKey != 0x01234567 ||
		string(bytes.TrimRight(got.Private, "\x00")) != "me" {
		t.Errorf("found %+v", got)
	}
	l.over()
}
