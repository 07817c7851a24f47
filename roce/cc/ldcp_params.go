package cc

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// LDCPParams are the parameters of [LDCP]'s sender; the comment gives the draft's symbol.
//
// The draft gives eta, and values to choose gamma from; of alpha and beta only that they are above
// 0 and at most 1. We take alpha = 1, a packet a round trip as every additive increase since TCP
// has it, and beta = 1/2: then a window of which all packets are marked is halved in a round, as
// DCTCP and TCP would, and eta = 1/2 carries that on beneath one packet.
type LDCPParams struct {
	Alpha float64 `yaml:"alpha"` // alpha of eq 1, packets a round trip
	Beta  float64 `yaml:"beta"`  // beta of eq 1, packets a marked packet
	Gamma float64 `yaml:"gamma"` // gamma, least window and step beneath a packet
	Eta   float64 `yaml:"eta"`   // eta, factor of a mark beneath a packet
	// DelayedAck is for how many packets without a mark one acknowledgement may stand. [LDCP] 2.2
	DelayedAck int `yaml:"delayed_ack"` // m
	// BaseRTT is the round trip of an empty network: it makes the initial window, IW.
	BaseRTT time.Duration `yaml:"base_rtt"`
	// MaxWindow bounds the window, in initial windows.
	MaxWindow float64 `yaml:"max_window"`
}

func newLDCPParams(preset string) Params {
	return &LDCPParams{Alpha: 1, Beta: 0.5, Gamma: gammas[preset], Eta: 0.5, DelayedAck: 1,
		BaseRTT: 10 * time.Microsecond, MaxWindow: 2}
}

// ldcpPresets has one for each of the draft's "typical values of gamma": the middle one, the
// largest and the least.
var ldcpPresets = []string{"draft", "draft_quarter", "draft_sixteenth"}

var gammas = map[string]float64{"draft": 1.0 / 8, "draft_quarter": 1.0 / 4,
	"draft_sixteenth": 1.0 / 16}

// HandlesCNP says that CNPs have no effect.
func (*LDCPParams) HandlesCNP() bool { return false }

// HandlesCNM says that CNMs have none.
func (*LDCPParams) HandlesCNM() bool { return false }

// Needs says that every packet is acknowledged, or every few.
func (p *LDCPParams) Needs() Needs { return Needs{Feedback: true, Every: p.DelayedAck} }

// Validate returns every fault.
func (p *LDCPParams) Validate(unit.Rate) (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"alpha", p.Alpha}, {"beta", p.Beta}, {"gamma", p.Gamma}, {"eta", p.Eta}} {
		must(v.value > 0 && v.value <= 1, "%s: %v is not in (0, 1]", v.name, v.value)
	}
	must(p.DelayedAck > 0 && p.DelayedAck < 256, "delayed_ack: %d is not in 1..255", p.DelayedAck)
	must(p.BaseRTT > 0 && p.BaseRTT <= time.Second, "base_rtt: %v is not in (0, 1s]", p.BaseRTT)
	must(p.MaxWindow >= 1, "max_window: %v is below 1", p.MaxWindow)
	return faults
}
