package cm

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// Every message may be lost: what repairs it, one by one.

// A REQ that nobody answers is repeated as often and as late as configured.
func TestREQLost(t *testing.T) {
	l := newLab(t, nil)
	a, err := l.a.Connect(l.now, l.request())
	l.must(err)
	first := *l.sends(l.a, ib.AttrREQ)
	for range 15 {
		if got, want := l.wake(l.a), ib.TimeOf(20)+2*ib.TimeOf(16); got != want {
			t.Fatalf("repeated after %v, want %v", got, want)
		}
		if again := l.sends(l.a, ib.AttrREQ); *again != first {
			t.Fatalf("another REQ:\n%x\n%x", *again, first)
		}
	}
	l.wake(l.a)
	l.tells(l.a, Unreachable)
	j := (*ib.REJ)(l.sends(l.a, ib.AttrREJ))
	if j.Reason() != ib.RejTimeout || j.InfoLen() != 8 || j.Info()[7] != 1 {
		t.Errorf("rejected for %v with % x", j.Reason(), j.Info()[:8])
	}
	l.is(l.a, a, Idle)
	l.over()
}

// Who learns of the end by a REJ for a timeout finds the connection by the GUID in it, although
// the REJ cannot name its id.
func TestREQGivenUp(t *testing.T) {
	l := newLab(t, func(c *Config) { c.MaxRetries = 0 })
	l.requested()
	l.wake(l.a)
	l.tells(l.a, Unreachable)
	l.pass(l.a, ib.AttrREJ)
	if e := l.tells(l.b, Rejected); e.Reason != ib.RejTimeout {
		t.Errorf("rejected for %v", e.Reason)
	}
	l.over()
}

// A REQ that is repeated finds a slow application, or the REP that was lost.
func TestREQRepeated(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.requested()
	l.wake(l.a)
	l.pass(l.a, ib.AttrREQ)
	l.is(l.b, b, MRAREQSent)
	mra := l.sends(l.b, ib.AttrMRA)
	if c := (*ib.MRA)(mra).ServiceTimeout(); c != 24 {
		t.Errorf("a service timeout of code %d", c)
	}
	l.wake(l.a) // the MRA is lost
	l.pass(l.a, ib.AttrREQ)
	l.pass(l.b, ib.AttrMRA)
	l.tells(l.a, Delayed)
	l.is(l.a, a, MRAREQRcvd)
	l.must(l.b.Accept(l.now, b, l.reply()))
	l.sends(l.b, ib.AttrREP) // lost
	l.wake(l.b)
	l.pass(l.b, ib.AttrREP)
	l.tells(l.a, Replied)
	if n := l.b.Counters().Duplicates.Of(ib.AttrREQ); n != 2 {
		t.Errorf("%d duplicates", n)
	}
}

// A REQ that arrives while the REP is on its way is answered by the same REP.
func TestREQAgainWhileREPIsSent(t *testing.T) {
	l := newLab(t, nil)
	_, b := l.requested()
	l.must(l.b.Accept(l.now, b, l.reply()))
	rep := *l.sends(l.b, ib.AttrREP)
	l.wake(l.a)
	l.pass(l.a, ib.AttrREQ)
	if again := l.sends(l.b, ib.AttrREP); *again != rep {
		t.Error("another REP")
	}
}

// A REP that is repeated finds a slow application, or the RTU that was lost.
func TestREPRepeated(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.replied()
	l.wake(l.b)
	l.pass(l.b, ib.AttrREP)
	l.is(l.a, a, MRAREPSent)
	l.pass(l.a, ib.AttrMRA)
	l.tells(l.b, Delayed)
	l.must(l.a.Confirm(l.now, a, nil))
	rtu := *l.sends(l.a, ib.AttrRTU) // lost
	l.wake(l.b)
	l.pass(l.b, ib.AttrREP)
	if again := l.sends(l.a, ib.AttrRTU); *again != rtu {
		t.Error("another RTU")
	} else {
		l.give(l.b, again)
	}
	l.tells(l.b, Established)
	l.is(l.b, b, Running)
}

// A passive side that never gets an RTU gives up, and tells the active side, which believed in
// the connection.
func TestREPGivenUp(t *testing.T) {
	l := newLab(t, func(c *Config) { c.MaxRetries = 1 })
	a, b := l.replied()
	l.must(l.a.Confirm(l.now, a, nil))
	l.sends(l.a, ib.AttrRTU)
	l.wake(l.b)
	l.sends(l.b, ib.AttrREP)
	l.wake(l.b)
	l.tells(l.b, Unreachable)
	l.is(l.b, b, Idle)
	l.pass(l.b, ib.AttrREJ)
	if e := l.tells(l.a, Disconnected); e.Reason != ib.RejTimeout {
		t.Errorf("ended for %v", e.Reason)
	}
	l.over()
}

// A DREQ is repeated, and answered again from timewait and from nowhere.
func TestDREPLost(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.established()
	l.must(l.a.Disconnect(l.now, a, nil))
	l.pass(l.a, ib.AttrDREQ)
	l.tells(l.b, Disconnecting)
	l.must(l.b.Disconnect(l.now, b, nil))
	l.tells(l.b, Disconnected)
	l.sends(l.b, ib.AttrDREP)
	again := l.sends(l.a2(), ib.AttrDREQ)
	l.give(l.b, again)
	l.is(l.b, b, Timewait)
	l.sends(l.b, ib.AttrDREP) // lost as well
	l.wake(l.b)
	l.tells(l.b, TimewaitOver)
	l.give(l.b, again)
	drep := l.sends(l.b, ib.AttrDREP)
	if drep.TID() != again.TID() {
		t.Error("the DREP is of another transaction")
	}
	l.give(l.a, drep)
	l.tells(l.a, Disconnected)
	l.over()
}

// a2 makes the first side repeat what it said, without time passing for the other.
func (l *lab) a2() *side {
	l.a.Wake(l.a.NextWake())
	return l.a
}

// A DREQ that nobody answers ends the connection all the same.
func TestDREQGivenUp(t *testing.T) {
	l := newLab(t, func(c *Config) { c.MaxRetries = 2 })
	a, _ := l.established()
	l.must(l.a.Disconnect(l.now, a, nil))
	for range 3 {
		l.sends(l.a, ib.AttrDREQ)
		l.wake(l.a)
	}
	if e := l.tells(l.a, Disconnected); e.Reason != ib.RejTimeout {
		t.Errorf("ended for %v", e.Reason)
	}
	l.is(l.a, a, Timewait)
}

// An application that never answers is answered for.
func TestApplicationAsleep(t *testing.T) {
	l := newLab(t, nil)
	_, b := l.requested()
	for l.b.State(b) != Idle {
		l.wake(l.b)
	}
	l.tells(l.b, Unreachable)
	l.pass(l.b, ib.AttrREJ)
	if e := l.tells(l.a, Rejected); e.Reason != ib.RejTimeout {
		t.Errorf("rejected for %v", e.Reason)
	}
	l.over()

	a, b := l.established()
	l.must(l.a.Disconnect(l.now, a, nil))
	l.pass(l.a, ib.AttrDREQ)
	l.tells(l.b, Disconnecting)
	for l.b.State(b) == DREQRcvd {
		l.wake(l.b)
	}
	l.tells(l.b, Disconnected)
	l.pass(l.b, ib.AttrDREP)
	l.tells(l.a, Disconnected)
	l.over()
}

// SIDR is repeated, too, and a question asked twice at once is one.
func TestSIDRLost(t *testing.T) {
	l := newLab(t, func(c *Config) { c.MaxRetries = 2 })
	service := ib.IPService(ib.SpaceUDP, 9)
	ask := func() {
		_, err := l.a.Resolve(l.now, Lookup{Path: l.path(l.a), Service: service})
		l.must(err)
	}
	ask()
	for range 3 {
		l.sends(l.a, ib.AttrSIDRREQ)
		l.wake(l.a)
	}
	l.tells(l.a, Unresolved)

	l.must(l.b.Listen(service, 1))
	ask()
	first := l.sends(l.a, ib.AttrSIDRREQ)
	l.give(l.b, first)
	l.give(l.b, first)
	e := l.tells(l.b, Asked)
	if _, ok := l.b.NextEvent(); ok || l.b.Counters().Duplicates.Of(ib.AttrSIDRREQ) != 1 {
		t.Error("a question asked twice is two")
	}
	ask()
	l.pass(l.a, ib.AttrSIDRREQ)
	if l.b.Counters().Backlog != 1 {
		t.Error("two questions in a backlog of one")
	}
	l.must(l.b.Answer(e.ID, Found{Status: ib.SIDRNoQP}))
	l.pass(l.b, ib.AttrSIDRREP)
	if f := l.tells(l.a, Resolved).Found; f.Status != ib.SIDRNoQP {
		t.Errorf("found %+v", f)
	}
	for l.a.NextWake() != unit.Never {
		l.wake(l.a)
	}
	l.tells(l.a, Unresolved)
}
