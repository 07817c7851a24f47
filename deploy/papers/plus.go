package papers

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
)

// plusExperiments are those of [DCQCN+].
func plusExperiments() []suite.Experiment {
	return []suite.Experiment{plusCNPGeneration(), plusSmallIncast(), plusLargeIncast()}
}

// plusControl is a congestion control of [DCQCN+]'s experiments.
type plusControl struct {
	name   string
	preset func(flows int) nicd.CCConfig
	like   string  // personality
	pmax   float64 // of the switch's marking, in percent
}

// The thesis has ConnectX-4 with what its maker sets, and DCQCN+ imitated on it by parameters:
// section 6.3. The algorithm itself wants receivers that count its flows, which no hardware does.
//
// We deviate from what mlx5's tools print in two values:
//   - The timer of alpha is the 55 us of [DCQCN], whose algorithm the thesis gives as that of its
//     NICs, not dce_tcp_rtt's 1 us. With a CNP each microsecond 80 flows have one in 80 us each;
//     with g = 5/1024 alpha is then 0.015, a decrease takes less than 1 %, and flows take longer
//     to converge than our runs last, or do not. The experiment of large incasts has such a cell.
//   - min_time_between_cnps is the 0 of section 6.1, which leaves the 1 us that the NIC needs, and
//     not 4 us: the thesis does not say that it was set back.
var (
	plusDCQCN = plusControl{"DCQCN", func(int) nicd.CCConfig {
		return plusOnHardware("mlx5", 55*time.Microsecond)
	}, "connectx4", plusPmax}
	plusImitated = plusControl{"DCQCN+ by parameters", func(flows int) nicd.CCConfig {
		return plusOnHardware(fmt.Sprintf("plus_%d", flows), 55*time.Microsecond)
	}, "connectx4", plusPmax}
	plusAdaptive = plusControl{"DCQCN+ itself", func(int) nicd.CCConfig {
		return nicd.CCConfig{Algorithm: "dcqcn_plus"}
	}, nicd.BookPersonality, plusPmax}
	plusFigure14 = plusControl{"DCQCN+ itself with figure 14's Pmax", plusAdaptive.preset,
		nicd.BookPersonality, figure14Pmax}
	plusFastAlpha = plusControl{"DCQCN with alpha each 1 us", func(int) nicd.CCConfig {
		return plusOnHardware("mlx5", time.Microsecond)
	}, "connectx4", plusPmax}
)

// plusPmax is the marking probability just below K_max on the switch of [DCQCN+] section 2.1, a
// Mellanox SN2700: all, in percent. Its marking "is defined according to two parameters (minimum
// and maximum queue length)", below which nothing is marked and above which everything; there is
// no P_max to set (Mellanox Community DOC-2500, "HowTo Configure ECN on Mellanox Ethernet Switches
// (Spectrum)", version 11). So the thesis, which has marking "configured the same as mentioned in
// DCQCN", can have had its thresholds, but not the 1 % of its figure 14.
const plusPmax = 100

func plusOnHardware(preset string, alpha time.Duration) nicd.CCConfig {
	return nicd.CCConfig{Algorithm: "dcqcn", Preset: preset,
		Params: map[string]any{"alpha_timer": alpha.String()}}
}

// plusIncast is the topology of [DCQCN+] figure 4: flows of some hosts, as many on each, to one
// more.
type plusIncast struct {
	control plusControl
	hosts   int
	each    int // flows of a host
	seed    uint64
}

func (p plusIncast) flows() int { return p.hosts * p.each }

// plusSpread is within how long the flows begin, each at a time by the seed. In the thesis they are
// "started at approximately the same time. There could be some difference in starting times but
// within 1 second" (section 3). That there was shows in its figure 9: with 80 flows the buffer at
// the start is 457.5 KB, which flows that begin at once fill in 50 us.
const plusSpread = 100 * time.Millisecond

// scenario has the settings of [DCQCN+] section 5: 10 Gb/s, 5.1 MB of buffer, thresholds of marking
// as in [DCQCN], PFC. ib_send_bw sends messages of 64 KiB.
func (p plusIncast) scenario(spread time.Duration) *scenario.Scenario {
	t := fabric.Star("plus", p.hosts+1, fabric.Links{Rate: 10 * unit.GbPerSecond,
		Delay: time.Microsecond})
	t.Seed = p.seed
	t.Switch.Pool.Size, t.Switch.WRED.DropProbability = 5100*unit.KB, p.control.pmax
	t.NIC.CC, t.NIC.Personality.Name = p.control.preset(p.flows()), p.control.like
	if p.control.like != nicd.BookPersonality {
		t.NIC.CNPInterval = new(time.Duration)
	}
	// A flow at the least rate, 1 Mb/s, sends 64 packets in half a second. 2^20 4.096 us are 4.3 s:
	// what is slow is not lost.
	t.NIC.QP.Timeout = 20
	s := &scenario.Scenario{Topology: t, Queues: []scenario.Queue{{Switch: "sw0",
		Port: fmt.Sprintf("swp%d", p.hosts+1), Queue: scenario.DataQueue}}}
	start := rand.New(rand.NewPCG(p.seed, 0))
	for i := range p.flows() {
		s.Flows = append(s.Flows, scenario.Flow{From: fmt.Sprintf("h%d", i%p.hosts+1),
			To: p.receiver(), FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("flow %d", i+1),
				Verb: "send", MessageBytes: 64 << 10, StartNs: start.Int64N(int64(spread))}})
	}
	return s
}

func (p plusIncast) receiver() string { return fmt.Sprintf("h%d", p.hosts+1) }
