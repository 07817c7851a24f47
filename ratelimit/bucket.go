package ratelimit

import (
	"math"
	"math/bits"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// grain is one byte in the bucket's unit: 10^-9 bit, which is what 1 b/s carries in 1 ns.
const grain = 8e9

// Bucket is a token bucket with debt: a packet may go when the bucket owes nothing, and is then
// charged in full. So the time of the next packet depends on what was sent, not on its own
// size. Credit for idle time is kept up to Burst. Fractions are carried, not rounded away: a
// sender that is always asked in time gets its rate exactly, in the long run.
type Bucket struct {
	rate    unit.Rate
	burst   unit.Bytes
	credit  int64 // in grains, negative in debt
	updated unit.Time
	inverse uint64 // 2^64/rate, so that a debt is divided by multiplying

	fill  Filling
	token int64 // what a filling brings, in grains
}

// Filling is when credit comes into a bucket that has a clock: first at Phase, then at each Every.
// With the zero value it comes all the time.
type Filling struct {
	Every time.Duration
	Phase time.Duration // from 0 to below Every
	Drift int64         // by how much each Every is longer, in picoseconds
}

// picos is the time between two fillings in picoseconds.
func (f Filling) picos() int64 { return int64(f.Every)*1000 + f.Drift }

// ticks is how many fillings there have been by a time.
func (f Filling) ticks(at unit.Time) int64 {
	if at < unit.Time(f.Phase) {
		return 0
	}
	return ((int64(at)-int64(f.Phase))*1000+999)/f.picos() + 1
}

// at is when a filling comes, in whole nanoseconds: the first is 1.
func (f Filling) at(tick int64) unit.Time {
	return unit.Time(int64(f.Phase) + (tick-1)*f.picos()/1000)
}

// MaxBurst bounds the burst and the largest packet, so that credits fit their integer.
const MaxBurst unit.Bytes = 1 << 29

// NewBucket makes a bucket of rate r that keeps credit for burst bytes of idle time. It starts
// full. Zero burst spaces packets evenly even after a pause.
func NewBucket(now unit.Time, r unit.Rate, burst unit.Bytes) Bucket {
	b := Bucket{rate: r, burst: min(max(burst, 0), MaxBurst), updated: now, inverse: inverse(r)}
	b.credit = int64(b.burst) * grain
	return b
}

// Shape changes what credit is kept and how it comes: for burst bytes, and if there is a filling
// only by it, in whole bytes and one at least. Debt stays, credit as far as it fits.
func (b *Bucket) Shape(now unit.Time, burst unit.Bytes, f Filling) {
	b.refill(now)
	b.burst, b.fill = min(max(burst, 0), MaxBurst), f
	b.credit = min(b.credit, b.most())
	b.SetRate(now, b.rate)
}

// most is the credit for a burst, and for the part of a nanosecond that rounding left over.
func (b *Bucket) most() int64 {
	if b.fill.Every > 0 {
		return int64(b.burst) * grain
	}
	return int64(b.burst)*grain + int64(max(b.rate-1, 0))
}

// Rate is the rate in force.
func (b *Bucket) Rate() unit.Rate { return b.rate }

// SetRate changes the rate from now on; credit and debt stay what they are in bytes.
func (b *Bucket) SetRate(now unit.Time, r unit.Rate) {
	b.refill(now)
	b.rate, b.inverse = r, inverse(r)
	if b.fill.Every > 0 && r > 0 {
		hi, lo := bits.Mul64(uint64(r), uint64(b.fill.Every))
		if hi != 0 || lo > uint64(MaxBurst)*grain {
			lo = uint64(MaxBurst) * grain // more than any bucket holds
		}
		b.token = max(int64(lo/grain), 1) * grain
	} else {
		b.token = 0
	}
}

// inverse is 2^64/r, rounded down.
func inverse(r unit.Rate) uint64 {
	if r <= 0 {
		return 0
	}
	return math.MaxUint64 / uint64(r)
}

// Take charges n bytes sent at now.
func (b *Bucket) Take(now unit.Time, n unit.Bytes) {
	b.refill(now)
	b.credit -= int64(n) * grain
}

// Ready is when the next packet may go: not later than now if it may go at once, unit.Never if
// the rate is zero and something is owed.
func (b *Bucket) Ready(now unit.Time) unit.Time {
	b.refill(now)
	if b.credit >= 0 {
		return now
	}
	if b.rate <= 0 {
		return unit.Never
	}
	if b.fill.Every > 0 {
		fillings := (-b.credit + b.token - 1) / b.token
		return b.fill.at(b.fill.ticks(now) + fillings)
	}
	// owed/rate rounded up. A debt is below 2^63, so the product is at most 2 too small.
	owed := uint64(-b.credit)
	wait, _ := bits.Mul64(owed, b.inverse)
	for wait*uint64(b.rate) < owed {
		wait++
	}
	return now.Add(time.Duration(wait))
}

func (b *Bucket) refill(now unit.Time) {
	elapsed := now.Sub(b.updated)
	if elapsed <= 0 {
		return
	}
	if b.fill.Every > 0 {
		b.add(now)
		return
	}
	b.updated = now
	hi, lo := bits.Mul64(uint64(max(b.rate, 0)), uint64(elapsed))
	room := uint64(max(b.most()-b.credit, 0))
	if hi != 0 || lo > room {
		lo = room
	}
	b.credit += int64(lo)
}

// add is what the fillings since the last update brought.
func (b *Bucket) add(now unit.Time) {
	fillings := b.fill.ticks(now) - b.fill.ticks(b.updated)
	b.updated = now
	room := max(b.most()-b.credit, 0)
	if b.token == 0 || fillings == 0 {
		return
	}
	if fillings > room/b.token {
		b.credit += room
		return
	}
	b.credit += fillings * b.token
}
