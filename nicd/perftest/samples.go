package perftest

import (
	"math"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Bandwidths are reported in units of 2^20 bytes or 10^9 bits a second.
const (
	bytesPerMB   = 1 << 20
	bytesPerGbit = 125_000_000
)

// bandwidth is the record of a run in one direction: messages in the order in which they were
// posted and in which they completed.
type bandwidth struct {
	size      int
	messages  int         // that count
	posted    []unit.Time // when each was posted, if the peak is wanted; else only the first
	completed []unit.Time // when each was known to be complete; 0: with a later one
	first     unit.Time   // posted
	last      unit.Time   // completed
	least     float64     // nanoseconds that a message takes on the wire
	loss      loss
}

// per is a rate per second of n things between first and last.
func (b *bandwidth) per(n float64) float64 {
	d := b.last.Sub(b.first)
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}

// average is in bytes a second.
func (b *bandwidth) average() float64 {
	return b.per(float64(b.messages) * float64(b.size))
}

// rate is in messages a second.
func (b *bandwidth) rate() float64 { return b.per(float64(b.messages)) }

// peak is the best average over any stretch of messages, in bytes a second, from the posting of
// its first message to the completion of its last, as perftest defines it. The postings are the
// program's times, which may be ahead of the NIC's: no stretch is shorter than its time on the
// wire. It is 0 if the run kept no record.
func (b *bandwidth) peak() float64 {
	best := time.Duration(math.MaxInt64)
	over := 1
	for i, from := range b.posted {
		for j := i; j < len(b.completed); j++ {
			if b.completed[j] == 0 {
				continue
			}
			n := j - i + 1
			d := max(b.completed[j].Sub(max(from, b.first)), time.Duration(b.least*float64(n)))
			if float64(d)*float64(over) < float64(best)*float64(n) {
				best, over = d, n
			}
		}
	}
	if best <= 0 || best == math.MaxInt64 {
		return 0
	}
	return float64(b.size) * float64(over) / best.Seconds()
}

// unitBytes is the number of bytes in the unit that is reported.
func (c *Config) unitBytes() float64 {
	if c.Gbits {
		return bytesPerGbit
	}
	return bytesPerMB
}

// summary is b in the unit that c reports in.
func (b *bandwidth) summary(c *Config) summary {
	s := summary{size: uint64(b.size), iterations: uint64(b.messages),
		average: b.average() / c.unitBytes(), rate: b.rate() / 1e6}
	s.loss = b.loss
	s.loss.window = b.last.Sub(b.first)
	if !c.NoPeak {
		s.peak = b.peak() / c.unitBytes()
	}
	return s
}

// tail is the number of the largest latencies that perftest leaves out of everything it prints.
const tail = 2

// latencies sums up a latency test. The values are in microseconds and follow perftest 4.5: of n
// messages there are n-1 rounds, the largest two do not count, the maximum is the smaller of those
// two, percentiles are the next sample above. We deviate: the standard deviation is not computed
// with differences cut to whole microseconds.
type latencies struct {
	Min     float64 `json:"t_min_us"`
	Max     float64 `json:"t_max_us"`
	Typical float64 `json:"t_typical_us"`
	Average float64 `json:"t_avg_us"`
	Stdev   float64 `json:"t_stdev_us"`
	P99     float64 `json:"percentile_99_us"`
	P999    float64 `json:"percentile_99.9_us"`
	Largest float64 `json:"largest_us"` // nothing left out
}

// latency sums up gaps, the times between one message and the next, of which halves make the
// latency of one. It needs more gaps than it leaves out.
func latency(gaps []time.Duration, halves int) (l latencies) {
	if len(gaps) <= tail {
		return l
	}
	sorted := slices.Sorted(slices.Values(gaps))
	us := func(d time.Duration) float64 {
		return float64(d) / float64(halves) / float64(time.Microsecond)
	}
	n := len(sorted) - tail
	var sum, squares float64
	for _, d := range sorted[:n] {
		sum += us(d)
	}
	mean := sum / float64(n)
	for _, d := range sorted[:n] {
		off := us(d) - mean
		squares += float64(off * off)
	}
	return latencies{Min: us(sorted[0]), Max: us(sorted[n]), Typical: us(median(sorted[:n])),
		Average: mean, Stdev: math.Sqrt(squares / float64(n)),
		P99:     us(sorted[int(math.Ceil(float64(n)*0.99))]),
		P999:    us(sorted[int(math.Ceil(float64(n)*0.999))]),
		Largest: us(sorted[len(sorted)-1])}
}

func median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	if n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[n/2]
}
