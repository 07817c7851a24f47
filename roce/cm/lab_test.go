package cm

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// side is a manager with its address.
type side struct {
	*Manager
	addr netip.Addr
}

// lab is two managers and the MADs between them, which the test hands over one by one.
type lab struct {
	t    testing.TB
	now  unit.Time
	a, b *side
}

func testConfig(seed uint64) Config {
	c := DefaultConfig()
	c.GUID, c.Random = seed, rand.NewPCG(seed, 0)
	return c
}

func newLab(t testing.TB, change func(*Config)) *lab {
	t.Helper()
	l := &lab{t: t, now: 1}
	for i, s := range []**side{&l.a, &l.b} {
		c := testConfig(uint64(i + 1))
		if change != nil {
			change(&c)
		}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		*s = &side{Manager: m, addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}
	}
	return l
}

func (l *lab) other(s *side) *side {
	if s == l.a {
		return l.b
	}
	return l.a
}

// path of a MAD that s sends.
func (l *lab) path(s *side) Path {
	return Path{Source: s.addr, Dest: l.other(s).addr, MAC: wire.MAC{2}}
}

// take is the next MAD that s sends, nil if there is none.
func (l *lab) take(s *side) *ib.MAD {
	var m ib.MAD
	p, ok := s.Next(&m)
	if !ok {
		return nil
	}
	if p.Source != s.addr || p.Dest != l.other(s).addr {
		l.t.Fatalf("%v goes from %v to %v", m.Attribute(), p.Source, p.Dest)
	}
	return &m
}

// sends takes the next MAD of s, which is the one expected.
func (l *lab) sends(s *side, want ib.Attribute) *ib.MAD {
	l.t.Helper()
	m := l.take(s)
	if m == nil {
		l.t.Fatalf("%v: no %v was sent", l.now, want)
	}
	if m.Attribute() != want {
		l.t.Fatalf("%v was sent, want %v", m.Attribute(), want)
	}
	return m
}

// silent is the end of what s sends.
func (l *lab) silent(s *side) {
	l.t.Helper()
	if m := l.take(s); m != nil {
		l.t.Fatalf("%v was sent, want nothing", m.Attribute())
	}
}

// give hands s a MAD of the other side.
func (l *lab) give(s *side, m *ib.MAD) {
	s.Receive(l.now, l.path(s), m[:])
}

// pass hands the next MAD of s, which is the one expected, to the other side.
func (l *lab) pass(s *side, want ib.Attribute) {
	l.t.Helper()
	l.give(l.other(s), l.sends(s, want))
}

// tells takes the next event of s, which is the one expected.
func (l *lab) tells(s *side, want EventKind) Event {
	l.t.Helper()
	e, ok := s.NextEvent()
	if !ok {
		l.t.Fatalf("%v: nothing was told, want %v", l.now, want)
	}
	if e.Kind != want {
		l.t.Fatalf("told %v, want %v", e.Kind, want)
	}
	return e
}

// is checks a state.
func (l *lab) is(s *side, id ID, want State) {
	l.t.Helper()
	if got := s.State(id); got != want {
		l.t.Fatalf("%v: %v, want %v", l.now, got, want)
	}
}

// after moves the time on by d and wakes both sides.
func (l *lab) after(d time.Duration) {
	l.now = l.now.Add(d)
	for _, s := range []*side{l.a, l.b} {
		if s.NextWake() <= l.now {
			s.Wake(l.now)
		}
	}
}

// wake moves the time on to the deadline of s.
func (l *lab) wake(s *side) time.Duration {
	l.t.Helper()
	at := s.NextWake()
	if at == unit.Never || at < l.now {
		l.t.Fatalf("the deadline is %v at %v", at, l.now)
	}
	d := at.Sub(l.now)
	l.now = at
	s.Wake(at)
	return d
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

const testService = ib.ServiceID(0x0000000001061c06)

func (l *lab) request() Request {
	return Request{Path: l.path(l.a), Service: testService, MTU: 1024, Retry: 7,
		From: netip.AddrPortFrom(l.a.addr, 4000), Private: []byte("hello"),
		QP: QP{QPN: 0x11, PSN: 0x123456, Resources: 4, Depth: 8, RNRRetry: 7}}
}

func (l *lab) reply() Reply {
	return Reply{Private: []byte("welcome"),
		QP: QP{QPN: 0x22, PSN: 0x654321, Resources: 16, Depth: 2, RNRRetry: 5}}
}

// requested brings both sides to where the passive application is asked.
func (l *lab) requested() (a, b ID) {
	l.t.Helper()
	if l.b.listeners[testService] == nil {
		l.must(l.b.Listen(testService, 8))
	}
	a, err := l.a.Connect(l.now, l.request())
	l.must(err)
	l.pass(l.a, ib.AttrREQ)
	return a, l.tells(l.b, Requested).ID
}

// replied brings both sides to where the active application is asked.
func (l *lab) replied() (a, b ID) {
	l.t.Helper()
	a, b = l.requested()
	l.must(l.b.Accept(l.now, b, l.reply()))
	l.pass(l.b, ib.AttrREP)
	l.tells(l.a, Replied)
	return a, b
}

// established brings both sides to an established connection.
func (l *lab) established() (a, b ID) {
	l.t.Helper()
	a, b = l.replied()
	l.must(l.a.Confirm(l.now, a, nil))
	l.pass(l.a, ib.AttrRTU)
	l.tells(l.b, Established)
	return a, b
}

// over checks that nothing is left of the connections once their timewait has ended.
func (l *lab) over() {
	l.t.Helper()
	for _, s := range []*side{l.a, l.b} {
		for s.NextWake() != unit.Never {
			l.wake(s)
			l.tells(s, TimewaitOver)
		}
		l.silent(s)
		if e, ok := s.NextEvent(); ok {
			l.t.Fatalf("told %v at the end", e.Kind)
		}
		if why := s.leak(); why != "" {
			l.t.Fatal(why)
		}
	}
}

// leak says what a manager still holds that should hold nothing.
func (m *Manager) leak() string {
	half := 0
	for _, l := range m.listeners {
		half += l.half
	}
	if len(m.conns)+len(m.byPeer)+len(m.byQP)+len(m.timers)+half == 0 {
		return ""
	}
	return fmt.Sprintf("%d connections, %d peers, %d QPs, %d timers, %d half-open are left",
		len(m.conns), len(m.byPeer), len(m.byQP), len(m.timers), half)
}
