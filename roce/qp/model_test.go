package qp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// model is what a QP's owner may know of it: a state, and how much work is where. It knows no
// packet: whatever goes over the wire, work goes in once and comes out once.
type model struct {
	state          State
	sends          int // posted and not polled, flushed ones included
	receives       int
	queuedSends    int // of these in the queues
	queuedReceives int
}

// legal is the table of transitions: IBTA 10.3.1, figure 124.
var legal = map[string]struct {
	from []State
	to   State
}{
	"Init":           {[]State{StateReset}, StateInit},
	"ReadyToReceive": {[]State{StateInit}, StateRTR},
	"ReadyToSend":    {[]State{StateRTR}, StateRTS},
	"Drain":          {[]State{StateRTS}, StateSQD},
	"Resume":         {[]State{StateSQD}, StateRTS},
}

// Whatever an owner does in whatever order, with a peer that answers or not: states are those of
// the table, posting is refused exactly when a queue or the completion queue is full or the state
// forbids it, and every work request comes out once, by completion or by RESET.
func TestOwnersModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := newSide(t, 0, nil), newSide(t, 1, nil)
		connect(t, newSide(t, 0, nil), b, 1, 2)
		m := &model{}
		now := unit.Time(0)
		t.Repeat(map[string]func(*rapid.T){
			"transition": func(t *rapid.T) { m.transition(t, a) },
			"fail": func(*rapid.T) {
				if a.Fail(now); m.state != StateReset {
					m.state, m.queuedSends, m.queuedReceives = StateErr, 0, 0
				}
			},
			"reset": func(*rapid.T) {
				a.Reset()
				b = newSide(t, 1, nil)
				connect(t, newSide(t, 0, nil), b, 1, 2)
				m.sends -= m.queuedSends // gone without a completion
				m.receives -= m.queuedReceives
				m.state, m.queuedSends, m.queuedReceives = StateReset, 0, 0
			},
			"post":    func(t *rapid.T) { m.post(t, a, b, now) },
			"receive": func(t *rapid.T) { m.postReceive(t, a, now) },
			"talk":    func(t *rapid.T) { now = m.talk(t, a, b, now) },
			"poll":    func(t *rapid.T) { m.poll(t, a) },
			"":        func(t *rapid.T) { m.check(t, a) },
		})
	})
}

func (m *model) transition(t *rapid.T, a *side) {
	name := rapid.SampledFrom([]string{"Init", "ReadyToReceive", "ReadyToSend", "Drain",
		"Resume"}).Draw(t, "name")
	do := map[string]func() error{"Init": a.Init, "Drain": a.Drain, "Resume": a.Resume,
		"ReadyToReceive": func() error { return a.ReadyToReceive(a.receives(17, 2)) },
		"ReadyToSend":    func() error { return a.ReadyToSend(a.sends(1)) }}
	err := do[name]()
	for _, from := range legal[name].from {
		if m.state == from {
			m.state = legal[name].to
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return
		}
	}
	if err == nil {
		t.Fatalf("%s from %v", name, m.state)
	}
}

func (m *model) post(t *rapid.T, a, b *side, now unit.Time) {
	op := rapid.SampledFrom([]Op{Write, Read, FetchAdd}).Draw(t, "op")
	err := a.Post(now, WR{Op: op, Local: a.local(0, AtomicLen), Remote: b.remote(0)})
	want := m.state >= StateRTS && m.queuedSends < 8 && m.sends+m.receives < 16
	if (err == nil) != want {
		t.Fatalf("post in %v with %d queued and %d places taken: %v", m.state, m.queuedSends,
			m.sends+m.receives, err)
	}
	if err == nil {
		m.sends++
		if m.state != StateErr {
			m.queuedSends++
		}
	}
}

func (m *model) postReceive(t *rapid.T, a *side, now unit.Time) {
	err := a.PostReceive(now, ReceiveWR{Local: a.local(0, 9)})
	want := m.state >= StateInit && m.queuedReceives < 8 && m.sends+m.receives < 16
	if (err == nil) != want {
		t.Fatalf("receive in %v with %d queued and %d places taken: %v", m.state, m.queuedReceives,
			m.sends+m.receives, err)
	}
	if err == nil {
		m.receives++
		if m.state != StateErr {
			m.queuedReceives++
		}
	}
}

// talk lets packets go both ways, or the timer run out; enough of that and the QP fails.
func (m *model) talk(t *rapid.T, a, b *side, now unit.Time) unit.Time {
	before := a.CQ().Len()
	lose := rapid.Bool().Draw(t, "lose")
	for p := a.next(now); p != nil; p = a.next(now) {
		if !lose {
			b.take(now, p)
		}
	}
	for {
		p := b.next(now)
		if p == nil {
			p = b.answer()
		}
		if p == nil {
			break
		}
		a.take(now, p)
	}
	if d := a.Deadline(); lose && d != unit.Never {
		now = max(now, d)
		a.Wake(now)
	}
	if a.State() == StateErr && m.state != StateErr {
		m.state, m.queuedSends, m.queuedReceives = StateErr, 0, 0
	} else if m.state != StateErr {
		m.queuedSends -= a.CQ().Len() - before // no receive is ever used
	}
	return now
}

// take is receive where no test is at hand.
func (s *side) take(now unit.Time, b []byte) {
	if p, ok := ib.Open(b, 14, 34); ok && p.CheckICRC() {
		s.Receive(now, &p)
	}
}

func (m *model) poll(t *rapid.T, a *side) {
	for _, c := range a.polled() {
		if c.Op == Receive {
			m.receives--
		} else {
			m.sends--
		}
	}
	if m.sends < m.queuedSends || m.receives < m.queuedReceives {
		t.Fatalf("more completions than work: %+v", *m)
	}
}

func (m *model) check(t *rapid.T, a *side) {
	if a.State() != m.state {
		t.Fatalf("in %v, want %v", a.State(), m.state)
	}
	if n := a.req.queue.len(); n != m.queuedSends {
		t.Fatalf("%d in the send queue, want %d", n, m.queuedSends)
	}
	if n := a.resp.queue.len(); n != m.queuedReceives {
		t.Fatalf("%d in the receive queue, want %d", n, m.queuedReceives)
	}
	if a.cq.reserved != m.sends+m.receives {
		t.Fatalf("%d places reserved, want %d", a.cq.reserved, m.sends+m.receives)
	}
}
