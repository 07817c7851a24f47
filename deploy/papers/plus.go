package papers

import (
	"fmt"
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
	like   string // personality
}

// The thesis has ConnectX-4 with what its maker sets, and DCQCN+ imitated on it by parameters:
// section 6.3. The algorithm itself wants receivers that count its flows, which no hardware does.
//
// We deviate from what mlx5's tools print in two values:
//   - The timer of alpha is the 55 us of [DCQCN], whose algorithm the thesis gives as that of its
//     NICs, not dce_tcp_rtt's 1 us. With a CNP each microsecond 80 flows have one in 80 us each;
//     with g = 5/1024 alpha is then 0.015, a decrease takes less than 1 %, and nothing converges.
//     The experiment of large incasts has such a cell.
//   - min_time_between_cnps is the 0 of section 6.1, which leaves the 1 us that the NIC needs, and
//     not 4 us: the thesis does not say that it was set back.
var (
	plusDCQCN = plusControl{"DCQCN", func(int) nicd.CCConfig {
		return plusOnHardware("mlx5", 55*time.Microsecond)
	}, "connectx4"}
	plusImitated = plusControl{"DCQCN+ by parameters", func(flows int) nicd.CCConfig {
		return plusOnHardware(fmt.Sprintf("plus_%d", flows), 55*time.Microsecond)
	}, "connectx4"}
	plusAdaptive = plusControl{"DCQCN+ itself", func(int) nicd.CCConfig {
		return nicd.CCConfig{Algorithm: "dcqcn_plus"}
	}, nicd.BookPersonality}
	plusFastAlpha = plusControl{"DCQCN with alpha each 1 us", func(int) nicd.CCConfig {
		return plusOnHardware("mlx5", time.Microsecond)
	}, "connectx4"}
)

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

// scenario has the settings of [DCQCN+] section 5: 10 Gb/s, 5.1 MB of buffer, marking as in
// [DCQCN], PFC. ib_send_bw sends messages of 64 KiB.
func (p plusIncast) scenario() *scenario.Scenario {
	t := fabric.Star("plus", p.hosts+1, fabric.Links{Rate: 10 * unit.GbPerSecond,
		Delay: time.Microsecond})
	t.Seed = p.seed
	t.Switch.Pool.Size = 5100 * unit.KB
	t.NIC.CC, t.NIC.Personality.Name = p.control.preset(p.flows()), p.control.like
	if p.control.like != nicd.BookPersonality {
		t.NIC.CNPInterval = new(time.Duration)
	}
	// A flow at the least rate, 1 Mb/s, sends 64 packets in half a second. 2^20 4.096 us are 4.3 s:
	// what is slow is not lost.
	t.NIC.QP.Timeout = 20
	s := &scenario.Scenario{Topology: t, Queues: []scenario.Queue{{Switch: "sw0",
		Port: fmt.Sprintf("swp%d", p.hosts+1), Queue: scenario.DataQueue}}}
	for i := range p.flows() {
		s.Flows = append(s.Flows, scenario.Flow{From: fmt.Sprintf("h%d", i%p.hosts+1),
			To: p.receiver(), FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("flow %d", i+1),
				Verb: "send", MessageBytes: 64 << 10}})
	}
	return s
}

func (p plusIncast) receiver() string { return fmt.Sprintf("h%d", p.hosts+1) }
