package ratelimit

import (
	"math/rand/v2"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"pgregory.net/rapid"
)

// departure is a packet of a flow.
type departure struct {
	at   unit.Time
	size unit.Bytes
}

const (
	testPort   = 40 * unit.GbPerSecond
	testPacket = 1500
)

// pace lets flows that always have something to send share a port. Packets have random sizes.
func pace(seed uint64, flows []*Flow, w *Wheel, p *Pacer, until unit.Time) [][]departure {
	sent := make([][]departure, len(flows))
	random := rand.New(rand.NewPCG(seed, 0))
	var wire unit.Serial
	for now := unit.Time(0); now < until; {
		for id, ok := w.Pop(now); ok; id, ok = w.Pop(now) {
			p.Expired(now, flows[id])
		}
		f := p.Next(0xff)
		if f == nil {
			now = max(now, w.Next())
			continue
		}
		size := unit.Bytes(64 + random.IntN(testPacket-63))
		sent[f.Owner] = append(sent[f.Owner], departure{now, size})
		p.Sent(now, f, size)
		now = now.Add(wire.Time(size, testPort))
	}
	return sent
}

// The pacing error is bounded. Over any interval a flow sends at most its rate times the interval,
// its burst, and the packet that it was allowed to begin.
//
// A flow that always has something to send, on a port that can carry all rates, is behind its rate
// by a packet of each flow at most: the port is late with as much as the flows together are ahead,
// which is what each overdrew by its last packet. A burst of so much makes up for that later, so
// that no flow falls behind for ever.
func TestPacingError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "flows")
		full := rapid.Bool().Draw(t, "bursts at the start")
		w := NewWheel(n)
		p := NewPacer(w)
		lag := unit.Bytes(n * testPacket)
		flows := make([]*Flow, n)
		left := testPort * 9 / 10
		for i := range flows {
			rate := unit.Rate(rapid.Int64Range(int64(10*unit.MbPerSecond),
				int64(left)/int64(n-i)).Draw(t, "rate"))
			left -= rate
			burst := lag + unit.Bytes(rapid.Int64Range(0, 20_000).Draw(t, "burst"))
			flows[i] = &Flow{}
			flows[i].Init(0, uint32(i), TimerID(i), uint8(i%Priorities), rate, burst)
			if !full {
				flows[i].Bucket.credit = 0
			}
			p.Activate(0, flows[i])
		}
		seed := rapid.Uint64().Draw(t, "seed of the sizes")
		for i, sent := range pace(seed, flows, w, p, 30_000) {
			b := &flows[i].Bucket
			grain := b.Rate().BytesIn(1) + 2 // a nanosecond's worth, and rounding
			for from := range sent {
				var bytes unit.Bytes // of the packets since that one, without the last
				for _, d := range sent[from:] {
					lasts := d.at.Sub(sent[from].at)
					due := b.Rate().BytesIn(lasts)
					if most := due + b.burst + d.size + grain; bytes+d.size > most {
						t.Fatalf("flow %d of %v: %v in %v, at most %v", i, b.Rate(),
							bytes+d.size, lasts, most)
					}
					if !full && bytes < due-lag-grain {
						t.Fatalf("flow %d of %v: %v in %v, at least %v", i, b.Rate(), bytes,
							lasts, due-lag)
					}
					bytes += d.size
				}
			}
		}
	})
}
