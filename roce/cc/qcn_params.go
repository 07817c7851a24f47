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
}

// newQCNParams returns the values of a preset. Both have the least rate of [QCN] section 3.2, one
// byte in each 16 us.
func newQCNParams(preset string) Params {
	// [QCN] section 2: the 10 Gb/s baseline. G_d is table 2's: times the largest feedback, 63,
	// it is the half that section 2 asks for, but for one part in 64.
	p := &QCNParams{Gd: 1.0 / 128, ByteCounter: 150 * unit.KB, Timer: 15 * time.Millisecond,
		Jitter: 0.15, FastRecovery: 5, RateAI: 5 * unit.MbPerSecond,
		RateHAI: 50 * unit.MbPerSecond, MinRate: 500_000}
	if preset == "netfpga" { // [QCN] table 2 and section 3.2, for 1 Gb/s
		p.Timer, p.RateAI, p.RateHAI = 25*time.Millisecond, 500_000, 5*unit.MbPerSecond
	}
	return p
}

// HandlesCNP says that it does not listen to receivers.
func (*QCNParams) HandlesCNP() bool { return false }

// HandlesCNM says that CNMs are what it lives on.
func (*QCNParams) HandlesCNM() bool { return true }

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
	return faults
}
