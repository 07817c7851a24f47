package app

import (
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
)

// On a link of 8 Gb/s a byte takes a nanosecond. A message of one packet takes, on the line with
// 24 bytes of preamble, FCS and gap:
//
//	WRITE  14 + 20 + 8 + 12 + 16 (RETH) + payload + 4 (ICRC) + 24
//	SEND   the same without RETH
//	ACK    14 + 20 + 8 + 12 + 4 (AETH) + 4 + 24
const (
	delay      = 1000 // ns, each way
	payload    = 1000
	writeTime  = 98 + payload
	sendTime   = 82 + payload
	ackTime    = 86
	oneMessage = writeTime + delay + ackTime + delay // from post to completion
)

func newSlowLab(t *testing.T) *lab {
	t.Helper()
	return newLab(t, payload, link.Config{Rate: 8 * unit.GbPerSecond, Delay: delay},
		func(c *nic.Config) { c.QP.SendQueue = 16 })
}

// run lets the first host make the traffic for a while.
func (l *lab) run(t *testing.T, f Flow, until unit.Time) *FlowStats {
	t.Helper()
	l.start(t, f)
	l.net.Run(until)
	l.check(t)
	_, s := l.hosts[0].Flow(0)
	return s
}

// Messages arrive every 2,000 ns, one takes longer. They queue up, and completion times count from
// arrival.
func TestPeriodicArrivals(t *testing.T) {
	l := newSlowLab(t)
	f := l.flow(qp.Write, payload, 1)
	f.Start, f.Messages, f.Interval, f.Log = 100, 3, 2000, 10
	s := l.run(t, f, 50*us)
	want := []Record{
		{payload, 100, 100, 100 + oneMessage},
		{payload, 2100, 100 + oneMessage, 100 + 2*oneMessage},
		{payload, 4100, 100 + 2*oneMessage, 100 + 3*oneMessage},
	}
	if len(s.Log) != len(want) || !s.Done {
		t.Fatalf("done %v, log %v", s.Done, s.Log)
	}
	for i, r := range s.Log {
		if r != want[i] {
			t.Errorf("message %d: %+v, want %+v", i, r, want[i])
		}
	}
	if s.MCT.Max != 3*oneMessage-4000 || s.Missed != 0 || s.First != 100 ||
		s.Last != 100+3*oneMessage {
		t.Errorf("longest %v, missed %d, from %v to %v", s.MCT.Max, s.Missed, s.First, s.Last)
	}
}

// Of 2,000 messages that arrive while the first is under way the backlog takes as many as it has
// room for; the rest is missed.
func TestBacklogIsBounded(t *testing.T) {
	l := newSlowLab(t)
	f := l.flow(qp.Write, payload, 1)
	f.Messages, f.Interval = 2000, 1
	s := l.run(t, f, unit.Time(10*time.Millisecond))
	if s.Posted != 1+Backlog || s.Completed != s.Posted || s.Missed != 2000-1-Backlog || !s.Done {
		t.Errorf("%d posted, %d missed, done %v", s.Posted, s.Missed, s.Done)
	}
}

// What has arrived and not been posted when a flow stops is missed.
func TestStopWithABacklog(t *testing.T) {
	l := newSlowLab(t)
	f := l.flow(qp.Write, payload, 1)
	f.Interval, f.Stop = 1000, 10_000
	s := l.run(t, f, 50*us)
	posted := uint64(10_000/oneMessage + 1)
	if !s.Done || s.Posted != posted || s.Posted+s.Missed != 10 {
		t.Errorf("done %v, %d posted, %d missed", s.Done, s.Posted, s.Missed)
	}
}

// A flow that waits when its time is over ends there.
func TestStopWhileWaiting(t *testing.T) {
	l := newSlowLab(t)
	f := l.flow(qp.Write, payload, 1)
	f.Stop, f.Idle = 6000, 10_000
	s := l.run(t, f, 5999)
	if s.Done || s.Completed != 1 {
		t.Errorf("done %v, %d completed", s.Done, s.Completed)
	}
	if l.net.Run(6000); !s.Done || s.Posted != 1 {
		t.Errorf("done %v, %d posted", s.Done, s.Posted)
	}
}

// The sender thinks for 500 ns after each completion.
func TestIdle(t *testing.T) {
	l := newSlowLab(t)
	f := l.flow(qp.Write, payload, 1)
	f.Messages, f.Idle = 4, 500
	s := l.run(t, f, 50*us)
	if want := unit.Time(4*oneMessage + 3*500); s.Last != want || !s.Done {
		t.Errorf("done %v at %v, want %v", s.Done, s.Last, want)
	}
}

// A client that waits for the answer before it asks again, and a server that answers each request:
// a round takes both messages, with the acknowledgement before the data of the other direction.
func TestRequestsAndAnswers(t *testing.T) {
	for op, message := range map[qp.Op]unit.Time{qp.Send: sendTime, qp.WriteImm: writeTime + 4} {
		l := newSlowLab(t)
		r := l.regions[0]
		if err := l.hosts[0].Listen(0, Sink{QPN: l.locals[0].QPN, Depth: 4,
			Local: qp.Local{Key: r.Key, VA: r.VA, Length: payload}}); err != nil {
			t.Fatal(err)
		}
		server := l.flow(op, payload, 1)
		server.QPN, server.After, server.Messages = l.locals[1].QPN, l.locals[1].QPN, 5
		server.Local.Key, server.Local.VA = l.regions[1].Key, l.regions[1].VA
		server.Remote = qp.Remote{VA: r.VA, RKey: r.Key}
		l.net.Do(l.nodes[1], func(now unit.Time) {
			if _, err := l.hosts[1].Start(now, server); err != nil {
				t.Fatal(err)
			}
		})
		client := l.flow(op, payload, 1)
		client.After, client.Lead, client.Messages, client.Log = l.locals[0].QPN, 1, 5, 5
		s := l.run(t, client, 100*us)
		// Each way: what acknowledges the last message, then the message, and the delay.
		round := 2 * (ackTime + message + delay)
		for i, m := range s.Log {
			want := unit.Time(i) * round
			if i > 0 {
				want -= ackTime // nothing to acknowledge before the first
			}
			if m.Posted != want {
				t.Errorf("%v: request %d at %v, want %v", op, i, m.Posted, want)
			}
		}
		sink, _ := l.hosts[1].Sink(l.locals[1].QPN)
		_, answered := l.hosts[1].Flow(0)
		if !s.Done || !answered.Done || sink.Messages != 5 || sink.Bytes != 5*payload {
			t.Errorf("%v: %d of 5 requests received, %d answered", op, sink.Messages,
				answered.Completed)
		}
	}
}

// Sizes are drawn, and each message has its own bytes on the wire.
func TestDrawnSizes(t *testing.T) {
	l := newSlowLab(t)
	f := l.flow(qp.Send, 0, 4)
	f.Sizes, f.Messages, f.Log, f.Seed = Sizes{{1, 0}, {payload, 1}}, 50, 10, 2
	s := l.run(t, f, unit.Time(time.Millisecond))
	from := newSource(&f)
	var sum unit.Bytes
	for i := range 50 {
		m := from.take(0)
		if i < 10 && s.Log[i].Bytes != m.bytes {
			t.Errorf("message %d of %d bytes, want %d", i, s.Log[i].Bytes, m.bytes)
		}
		sum += unit.Bytes(m.bytes)
	}
	sink, _ := l.hosts[1].Sink(l.locals[1].QPN)
	if s.Bytes != sum || sink.Bytes != sum || len(s.Log) != 10 {
		t.Errorf("%d bytes sent, %d received, want %d", s.Bytes, sink.Bytes, sum)
	}
}

func TestTrafficRefused(t *testing.T) {
	l := newSlowLab(t)
	for name, change := range map[string]func(*Flow){
		"no such sink":      func(f *Flow) { f.After = l.locals[0].QPN },
		"both":              func(f *Flow) { f.Interval, f.Idle = 1, 1 },
		"negative":          func(f *Flow) { f.Interval = -1 },
		"distribution":      func(f *Flow) { f.Arrivals = Poisson + 1 },
		"log":               func(f *Flow) { f.Log = maxLog + 1 },
		"no sizes":          func(f *Flow) { f.Sizes = Sizes{} },
		"last p":            func(f *Flow) { f.Sizes = Sizes{{1, 0.5}} },
		"descending p":      func(f *Flow) { f.Sizes = Sizes{{1, 0.5}, {2, 0.5}, {3, 1}} },
		"descending bytes":  func(f *Flow) { f.Sizes = Sizes{{2, 0.5}, {1, 1}} },
		"too large":         func(f *Flow) { f.Sizes = Sizes{{qp.MaxMessage + 1, 1}} },
		"negative size":     func(f *Flow) { f.Sizes = Sizes{{-1, 1}} },
		"negative p":        func(f *Flow) { f.Sizes = Sizes{{1, -1}, {1, 1}} },
		"more than certain": func(f *Flow) { f.Sizes = Sizes{{1, 1}, {1, 2}} },
	} {
		f := l.flow(qp.Write, payload, 1)
		change(&f)
		if _, err := l.hosts[0].Start(0, f); !errors.Is(err, ErrFlow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
