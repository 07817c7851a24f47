package cc

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// monotone are the algorithms that look at marks in acknowledgements, and at nothing else in them.
// TIMELY and Swift look at delay and HPCC at telemetry, the rest at neither.
var monotone = []struct {
	algorithm, source string
}{
	{"dctcp", "RFC 8257 3.3"},
	{"ldcp", "[LDCP] eq 1 and 2"},
}

// TestMonotone: what is acknowledged without a mark never lowers a window or a rate, and what is
// all marked never raises one, whatever happened before.
func TestMonotone(t *testing.T) {
	for _, m := range monotone {
		t.Run(m.algorithm, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, err := NewParams(m.algorithm, "")
				if err != nil {
					t.Fatal(err)
				}
				a := p.New(Setup{Line: line, MTU: 1082})
				for i := range rapid.IntRange(1, 60).Draw(t, "events") {
					n := rapid.IntRange(1, 8).Draw(t, "packets")
					k := Ack{Bytes: unit.Bytes(n) * 1082, Packets: n, RTT: 20 * time.Microsecond}
					before := a.Limit()
					switch rapid.SampledFrom([]string{"clear", "marked", "lost"}).Draw(t, "what") {
					case "clear":
						a.Ack(unit.Time(i), k)
						if l := a.Limit(); l.Rate < before.Rate || l.Window < before.Window {
							t.Fatalf("%s: no mark, from %+v down to %+v", m.source, before, l)
						}
					case "marked":
						k.Marked = n
						a.Ack(unit.Time(i), k)
						if l := a.Limit(); l.Rate > before.Rate || l.Window > before.Window {
							t.Fatalf("%s: all marked, from %+v up to %+v", m.source, before, l)
						}
					case "lost":
						a.Nack(unit.Time(i))
					}
				}
			})
		})
	}
}

// TestDelayRaisesNothing: between two senders that are alike, the one that sees the longer round
// trip is never the faster one afterwards. [Swift] 3, [LDCP] 3.2. TIMELY is not so: above T_high it
// looks at the delay alone, and a gradient below may have cost more.
func TestDelayRaisesNothing(t *testing.T) {
	for _, algorithm := range []string{"swift", "ldcp_probe"} {
		t.Run(algorithm, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, err := NewParams(algorithm, "")
				if err != nil {
					t.Fatal(err)
				}
				a, b := p.New(Setup{Line: line, MTU: 1082}), p.New(Setup{Line: line, MTU: 1082})
				now := unit.Time(0)
				tell := func(x Algorithm, rtt time.Duration) {
					x.Ack(now, Ack{Bytes: 1082, Packets: 1, RTT: rtt})
					x.RTT(now, rtt)
				}
				rtts := rapid.SliceOfN(rapid.Int64Range(5_000, 2_000_000), 1, 30).Draw(t, "rtts")
				for _, rtt := range rtts {
					now += 3_000_000 // each counts: its packet left after the last was counted
					tell(a, time.Duration(rtt))
					tell(b, time.Duration(rtt))
				}
				now += 3_000_000
				short := rapid.Int64Range(5_000, 2_000_000).Draw(t, "short")
				long := rapid.Int64Range(short, 2_000_000).Draw(t, "long")
				tell(a, time.Duration(short))
				tell(b, time.Duration(long))
				if x, y := a.Limit(), b.Limit(); y.Rate > x.Rate || y.Window > x.Window {
					t.Fatalf("%v: %+v, %v: %+v", short, x, long, y)
				}
			})
		})
	}
}
