package cm

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// FuzzReceive: whatever arrives at a manager with connections in several states, it keeps within
// its bounds, sends only its own messages, and forgets all in the end.
func FuzzReceive(f *testing.F) {
	for _, name := range []string{"rping.pcap", "perftest_cm.pcap", "cm_reject.pcap"} {
		for _, m := range captured(f, name) {
			f.Add(m[:], uint8(0))
			f.Add(m[:], uint8(5))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint8) {
		l := newLab(t, func(c *Config) { c.MaxConnections = 8 })
		l.must(l.b.Listen(ib.IPService(ib.SpaceTCP, 7174), 4))
		if int(at) < ib.MADLen-4 && len(b) == ib.MADLen { // the ids that count here
			a, id := l.established()
			ids := []byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}
			if at&1 != 0 {
				ids = []byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}
			}
			copy(b[at:], ids)
		}
		before := string(b)
		for range 3 {
			l.b.Receive(l.now, l.path(l.b), b)
		}
		if string(b) != before {
			t.Fatal("the message was changed")
		}
		if l.b.Len() > 8 || l.b.out.len() > 8+spare || l.b.events.len() > 4*8 {
			t.Fatalf("%d connections, %d messages, %d events", l.b.Len(), l.b.out.len(),
				l.b.events.len())
		}
		for l.b.NextWake() != unit.Never {
			l.wake(l.b)
			l.hangUp()
		}
		for id := range l.b.conns {
			l.b.Close(l.now, id)
		}
		for l.b.NextWake() != unit.Never {
			l.wake(l.b)
			l.hangUp()
		}
		if why := l.b.leak(); why != "" {
			t.Fatal(why)
		}
	})
}

// hangUp takes what the second side sends and says.
func (l *lab) hangUp() {
	for m := l.take(l.b); m != nil; m = l.take(l.b) {
		var known ib.MAD
		if known.Init(m.Attribute(), m.TID()); string(known[:18]) != string(m[:18]) {
			l.t.Fatalf("not a message of ours: % x", m[:24])
		}
	}
	for e, ok := l.b.NextEvent(); ok; e, ok = l.b.NextEvent() {
		if e.ID == 0 {
			l.t.Fatalf("%v of nothing", e.Kind)
		}
	}
}
