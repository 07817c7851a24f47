package cc

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// QCNParams are the parameters of QCN's reaction point. The comment gives the symbol of [QCN] and
// the name in IEEE 802.1Q, which mlx5 uses too.
type QCNParams struct {
	Gd           float64       `yaml:"gd"`            // G_d, rpgGd
	ByteCounter  unit.Bytes    `yaml:"byte_counter"`  // a cycle in fast recovery, rpgByteReset
	Timer        time.Duration `yaml:"timer"`         // TIMER_PERIOD, rpgTimeReset
	Jitter       float64       `yaml:"jitter"`        // part of each cycle, either way
	FastRecovery int           `yaml:"fast_recovery"` // cycles, rpgThreshold
	RateAI       unit.Rate     `yaml:"rate_ai"`       // AI_INC, rpgAiRate
	RateHAI      unit.Rate     `yaml:"rate_hai"`      // HAI_INC, rpgHaiRate
	MinRate      unit.Rate     `yaml:"min_rate"`      // rpgMinRate

	// The token bucket, [QCN] section 3.2; without a depth the NIC's own.
	BucketDepth  unit.Bytes    `yaml:"bucket_depth"`
	BucketRefill time.Duration `yaml:"bucket_refill"` // between two fillings
}

// newQCNParams returns the values of a preset. Both have the least rate of [QCN] section 3.2, one
// byte in each 16 us. The baseline has no bucket of its own: 3 KB each 16 us are 1.5 Gb/s, which is
// enough for the board's ports and not for the 10 Gb/s that the baseline is for.
func newQCNParams(preset string) Params {
	// [QCN] section 2: the 10 Gb/s baseline. G_d is table 2's: times the largest feedback, 63,
	// it is the half that section 2 asks for, but for one part in 64.
	p := &QCNParams{Gd: 1.0 / 128, ByteCounter: 150 * unit.KB, Timer: 15 * time.Millisecond,
		Jitter: 0.15, FastRecovery: 5, RateAI: 5 * unit.MbPerSecond,
		RateHAI: 50 * unit.MbPerSecond, MinRate: 500_000}
	if preset == "netfpga" { // [QCN] table 2 and section 3.2, for 1 Gb/s
		p.Timer, p.RateAI, p.RateHAI = 25*time.Millisecond, 500_000, 5*unit.MbPerSecond
		p.BucketDepth, p.BucketRefill = 3*unit.KB, 16*time.Microsecond
	}
	return p
}

// HandlesCNP says that it does not listen to receivers.
func (*QCNParams) HandlesCNP() bool { return false }

// HandlesCNM says that CNMs are what it lives on.
func (*QCNParams) HandlesCNM() bool { return true }

// TokenBucket is the limiter that the parameters ask for.
func (p *QCNParams) TokenBucket() TokenBucket { return TokenBucket{p.BucketDepth, p.BucketRefill} }

// carries reports whether the bucket lets a rate through.
func (p *QCNParams) carries(r unit.Rate) bool {
	return float64(p.BucketDepth)*8 >= float64(r)*p.BucketRefill.Seconds()
}

// Validate returns every fault.
func (p *QCNParams) Validate(line unit.Rate) (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(p.Gd > 0 && p.Gd*maxFeedback < 1, "gd: %v is not in (0, 1/%d)", p.Gd, maxFeedback)
	must(p.ByteCounter >= 2, "byte_counter: %d is below 2 bytes", p.ByteCounter)
	must(p.Timer >= 2, "timer: %v is below 2 ns", p.Timer)
	must(p.Jitter >= 0 && p.Jitter < 1, "jitter: %v is not in [0, 1)", p.Jitter)
	must(p.FastRecovery >= 0, "fast_recovery: %d is negative", p.FastRecovery)
	must(p.RateAI > 0, "rate_ai: %v is not positive", p.RateAI)
	must(p.RateHAI >= 0, "rate_hai: %v is negative", p.RateHAI)
	must(p.MinRate > 0 && p.MinRate <= line, "min_rate: %v is not in (0, line rate %v]",
		p.MinRate, line)
	must(p.BucketDepth >= 0, "bucket_depth: %d is negative", p.BucketDepth)
	must((p.BucketDepth == 0) == (p.BucketRefill == 0) && p.BucketRefill >= 0,
		"bucket_refill: %v is none for a depth of %v", p.BucketRefill, p.BucketDepth)
	must(p.BucketDepth <= 0 || p.carries(line), "bucket_depth: %v each %v do not carry %v",
		p.BucketDepth, p.BucketRefill, line)
	return faults
}
