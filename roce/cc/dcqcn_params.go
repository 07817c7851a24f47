package cc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// DCQCNParams are the parameters of DCQCN's reaction point, named as in [DCQCN]; the comment
// gives the paper's symbol and mlx5's name. The last four are zero in the paper's algorithm:
// they are what hardware added.
type DCQCNParams struct {
	G            float64       `yaml:"g"`             // g, dce_tcp_g
	AlphaTimer   time.Duration `yaml:"alpha_timer"`   // K, dce_tcp_rtt
	InitialAlpha float64       `yaml:"initial_alpha"` // initial_alpha_value
	Timer        time.Duration `yaml:"timer"`         // T, rpg_time_reset
	ByteCounter  unit.Bytes    `yaml:"byte_counter"`  // B, rpg_byte_reset; 0 is off
	FastRecovery int           `yaml:"fast_recovery"` // F, rpg_threshold
	RateAI       unit.Rate     `yaml:"rate_ai"`       // R_AI, rpg_ai_rate
	RateHAI      unit.Rate     `yaml:"rate_hai"`      // R_HAI, rpg_hai_rate
	MinRate      unit.Rate     `yaml:"min_rate"`      // rpg_min_rate
	// KeepAlpha: alpha is the flow's, and decays whether the flow is limited or not; else it begins
	// anew, at its initial value, with each first CNP.
	KeepAlpha bool `yaml:"keep_alpha"`

	// DecreaseInterval is the least time between two decreases: rate_reduce_monitor_period.
	DecreaseInterval time.Duration `yaml:"decrease_interval"`
	// MinDecreaseFactor bounds one decrease: the new rate is at least this part of the old
	// one. rpg_min_dec_fac.
	MinDecreaseFactor float64 `yaml:"min_decrease_factor"`
	// FirstCNPRate is the part of the line rate to which the first CNP sets the current rate
	// before anything else; 0 leaves it. rate_to_set_on_first_cnp.
	FirstCNPRate float64 `yaml:"first_cnp_rate"`
	// ClampTarget says when a CNP sets the target to the current rate: clamp_tgt_rate.
	ClampTarget Clamp `yaml:"clamp_target"`
}

// Clamp says when R_T = R_C of [DCQCN] eq 1 happens.
type Clamp string

// The ways to clamp. The paper always does; hardware only if the timer raised the rate since
// the last CNP, so that a burst of CNPs does not lose the target.
const (
	ClampAlways     Clamp = "always"
	ClampAfterTimer Clamp = "after_timer"
	ClampNever      Clamp = "never"
)

// newDCQCNParams returns the values of a preset.
func newDCQCNParams(preset string) Params {
	if flows, ok := imitated(preset); ok {
		return imitation(flows)
	}
	switch preset {
	case "mlx5":
		return mlx5()
	case "strawman":
		return strawman()
	}
	return sigcomm15()
}

// dcqcnPresets are the paper's, hardware's, what the paper began with, and for each experiment of
// [DCQCN+] section 6.3 its imitation by parameters, named by how many flows there are in all.
var dcqcnPresets = []string{"sigcomm15", "mlx5", "strawman", "plus_80", "plus_160", "plus_240",
	"plus_320", "plus_400", "plus_480", "plus_560", "plus_640", "plus_720"}

// imitated is how many flows an imitation of DCQCN+ is for.
func imitated(preset string) (flows int, ok bool) {
	digits, ok := strings.CutPrefix(preset, "plus_")
	flows, err := strconv.Atoi(digits)
	return flows, ok && err == nil
}

// imitation is DCQCN+ as far as parameters of hardware can do it: [DCQCN+] section 6.3, its points
// 1 to 3, on top of mlx5's. We deviate: the thesis rounded to what its NIC could be told, "the
// nearest integer"; these are the exact values. The nearest to 256/flows is zero from 513 flows on.
func imitation(flows int) *DCQCNParams {
	p := mlx5()
	p.DecreaseInterval = 40 * time.Microsecond
	p.Timer = time.Duration(flows) * 3100 * time.Nanosecond
	p.RateAI = 256 * unit.MbPerSecond / unit.Rate(flows)
	return p
}

// sigcomm15 is the paper's parameter set, [DCQCN] 5.2 and table 2.
//
// The paper gives no R_HAI. We take ten times R_AI, the ratio in which both QCN's baseline
// (5 and 50 Mb/s) and mlx5's defaults stand. It seldom matters: hyper increase needs more than
// F rounds of the byte counter, 50 MB without a CNP, since B is set large for that very reason.
// The paper gives no least rate either: 1 Mb/s is mlx5's.
func sigcomm15() *DCQCNParams {
	return &DCQCNParams{
		G: 1.0 / 256, AlphaTimer: 55 * time.Microsecond, InitialAlpha: 1,
		Timer: 55 * time.Microsecond, ByteCounter: 10 * unit.MB, FastRecovery: 5,
		RateAI: 40 * unit.MbPerSecond, RateHAI: 400 * unit.MbPerSecond,
		MinRate: unit.MbPerSecond, KeepAlpha: true, ClampTarget: ClampAlways,
	}
}

// strawman is what [DCQCN] 5.2 begins with, the values that QCN and DCTCP recommend: flows do not
// converge with it. It marks at a single threshold of 40 KB (K_min = K_max, P_max 1), which is for
// the switch to have.
func strawman() *DCQCNParams {
	p := sigcomm15()
	p.ByteCounter, p.Timer, p.G = 150*unit.KB, 1500*time.Microsecond, 1.0/16
	return p
}

// mlx5 is the parameter set of ConnectX hardware as its tools print it. The byte counter is
// 32767 units of 64 bytes. We deviate: hardware moves alpha once every dce_tcp_rtt whether or
// not CNPs came; here each CNP moves it up, as in the paper, and each period without one down.
func mlx5() *DCQCNParams {
	return &DCQCNParams{
		G: 5.0 / 1024, AlphaTimer: time.Microsecond, InitialAlpha: 1023.0 / 1024,
		Timer: 300 * time.Microsecond, ByteCounter: 32767 * 64, FastRecovery: 1,
		RateAI: 5 * unit.MbPerSecond, RateHAI: 50 * unit.MbPerSecond,
		MinRate: unit.MbPerSecond, DecreaseInterval: 4 * time.Microsecond,
		MinDecreaseFactor: 0.5, FirstCNPRate: 0.85, ClampTarget: ClampAfterTimer,
	}
}

// HandlesCNP says that CNPs are what it lives on.
func (*DCQCNParams) HandlesCNP() bool { return true }

// HandlesCNM says that it does not listen to switches.
func (*DCQCNParams) HandlesCNM() bool { return false }

// Validate returns every fault.
func (p *DCQCNParams) Validate(line unit.Rate) (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(p.G > 0 && p.G <= 1, "g: %v is not in (0, 1]", p.G)
	must(p.AlphaTimer > 0, "alpha_timer: %v is not positive", p.AlphaTimer)
	must(p.InitialAlpha >= 0 && p.InitialAlpha <= 1, "initial_alpha: %v is not in [0, 1]",
		p.InitialAlpha)
	must(p.Timer > 0, "timer: %v is not positive", p.Timer)
	must(p.ByteCounter >= 0, "byte_counter: %d is negative", p.ByteCounter)
	must(p.FastRecovery >= 0, "fast_recovery: %d is negative", p.FastRecovery)
	must(p.RateAI > 0, "rate_ai: %v is not positive", p.RateAI)
	must(p.RateHAI >= 0, "rate_hai: %v is negative", p.RateHAI)
	must(p.MinRate > 0 && p.MinRate <= line, "min_rate: %v is not in (0, line rate %v]",
		p.MinRate, line)
	must(p.DecreaseInterval >= 0, "decrease_interval: %v is negative", p.DecreaseInterval)
	must(p.MinDecreaseFactor >= 0 && p.MinDecreaseFactor < 1,
		"min_decrease_factor: %v is not in [0, 1)", p.MinDecreaseFactor)
	must(p.FirstCNPRate >= 0 && p.FirstCNPRate <= 1, "first_cnp_rate: %v is not in [0, 1]",
		p.FirstCNPRate)
	if _, ok := p.ClampTarget.known(); !ok {
		faults = append(faults, errors.New("clamp_target: want always, after_timer or never"))
	}
	return faults
}

func (c Clamp) known() (Clamp, bool) {
	return c, c == ClampAlways || c == ClampAfterTimer || c == ClampNever
}
