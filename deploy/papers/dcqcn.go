package papers

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/switchd/thresholds"
)

// dcqcnExperiments are those of [DCQCN].
func dcqcnExperiments() []suite.Experiment {
	return []suite.Experiment{
		dcqcnPFCUnfairness(),
		dcqcnVictimFlow(),
		dcqcnFairness(),
		dcqcnVictimRelieved(),
		dcqcnFluidModel(),
		dcqcnParameterSweep(),
		dcqcnG(),
		dcqcnValidate(),
		dcqcnIncast19(),
		dcqcnPauseCount(),
		dcqcnBenchmark(),
		dcqcn16x(),
		dcqcnNeedPFC(),
		dcqcnQueueCDF(),
		dcqcnMultiBottleneck(),
		dcqcnLoss(),
		dcqcnThresholds(),
	}
}

// dcqcnRate is that of all links of [DCQCN] figure 2.
const dcqcnRate = 40 * unit.GbPerSecond

// dcqcnLinks are the links of [DCQCN] figure 2. The paper does not tell their lengths. 1 us each
// way is 200 m of fibre, for which its t_flight of 22.4 KB is enough.
func dcqcnLinks() fabric.Links { return fabric.Links{Rate: dcqcnRate, Delay: time.Microsecond} }

// control is what keeps senders from sending too much.
type control string

const (
	pfcAlone control = "PFC alone" // senders at line rate; nothing is marked
	dcqcnOn  control = "DCQCN"     // with the parameters of [DCQCN] figure 14, above PFC
)

// dcqcnTestbed is the network of [DCQCN] figure 2.
func dcqcnTestbed(name string, hostsPerToR int, c control) lab.Topology {
	t := fabric.Testbed(name, hostsPerToR, dcqcnLinks())
	dcqcnSettings(&t, c)
	return t
}

// dcqcnStar is some hosts on one of the testbed's switches.
func dcqcnStar(name string, hosts int, c control) lab.Topology {
	t := fabric.Star(name, hosts, dcqcnLinks())
	dcqcnSettings(&t, c)
	return t
}

// dcqcnSettings gives a network the switches and NICs of [DCQCN]. What is not said here are the
// defaults of switchd and nicd, which are the paper's.
func dcqcnSettings(t *lab.Topology, c control) {
	// The paper's switch sets headroom aside for 8 priorities of 32 ports, whatever is connected.
	// Section 4: B - 8 n t_flight is what is shared.
	s := thresholds.Paper()
	t.Switch.Pool.XOFF = unit.Bytes(s.Priorities*s.Ports) * s.Flight
	// Nothing but the window of PSNs limits what is in flight: with PFC alone a flow fills the
	// buffers of a whole path.
	t.NIC.QP.MaxOutstanding = ib.MaxPSNWindow - 1
	if c == pfcAlone {
		t.NIC.CC.Algorithm = "none"
		t.Switch.WRED.ECN = "ecn_none"
	}
}

// cutOffMarking marks every packet of a queue above k, as DCTCP wants it. [DCQCN] 3.1
func cutOffMarking(t *lab.Topology, k unit.Bytes) {
	w := &t.Switch.WRED
	w.MinThreshold, w.MaxThreshold, w.DropProbability = k, k, 100
}

// dcqcnMessage is the size of a transfer, unless a figure says another: those of figure 3, and most
// in the authors' deployment are smaller ([DCQCN] section 7).
const dcqcnMessage = 4_000_000

// unfairFlows are the flows of [DCQCN] figure 3. The text puts H4 on the ToR of R, T4, and lets
// ECMP map those of H1 to H3 to the two uplinks of T4. The testbed's hosts are named by their ToR
// (H11 is host 1 of T1), so H1 to H3 are one host of each other ToR.
func unfairFlows() []scenario.Flow {
	return scenario.Many("h4-2", nicd.FlowRequest{MessageBytes: dcqcnMessage}, "h1-1", "h2-1",
		"h3-1", "h4-1")
}

// victim is the flow of VS to VR of [DCQCN] figure 4, which shares only uplinks of T1 with flows
// that are congested elsewhere. The text has VS on T1, and VR where no path from T3 to R passes:
// T2.
const victim = "victim"

// victimFlows are the flows of [DCQCN] figure 4: the victim first, H11 to H14 of T1, and so many
// hosts of T3 to R on T4.
func victimFlows(sendersUnderT3 int) []scenario.Flow {
	like := nicd.FlowRequest{MessageBytes: dcqcnMessage}
	flows := []scenario.Flow{{FlowRequest: like, From: "h1-5", To: "h2-1"}}
	flows[0].Name = victim
	from := []string{"h1-1", "h1-2", "h1-3", "h1-4", "h3-1", "h3-2"}
	return append(flows, scenario.Many("h4-1", like, from[:4+sendersUnderT3]...)...)
}

// dcqcnPayload is the path MTU that an Ethernet MTU of 1500 leaves, which the paper has.
const dcqcnPayload = 1024

// dcqcnPacket is what a packet takes of a link: with all headers, preamble and gap.
const dcqcnPacket = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + ib.BTHLen + dcqcnPayload +
	ib.ICRCLen + wire.Overhead

// onLine is what goodput takes of a link. [DCQCN] gives throughput as shares of a link: four
// senders on 40 Gb/s have 10 Gb/s each.
func onLine(goodput float64) float64 { return goodput * float64(dcqcnPacket) / dcqcnPayload }

const throughputNote = "Throughput is the share of a link, with headers, preamble and gaps: the " +
	"paper's figures of 10 and 20 Gb/s are shares of 40 Gb/s, and with the path MTU of 1024 " +
	"bytes only 92.6 % of a link can be payload."

// near reports whether a value is within a part of what is wanted.
func near(got, want, part float64) bool { return math.Abs(got-want) <= part*want }

// brief prints a value for comparison: to three digits, large ones to one.
func brief(x float64) string {
	if math.Abs(x) >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// manyFlowsNote tells why queues of many flows are not the paper's.
const manyFlowsNote = "Many flows that all raise their rate by R_AI = 40 Mb/s every 55 us must " +
	"be told to slow down often. The paper's own model (equations 5 to 9) has a fixed point " +
	"only as long as that takes less marking than Pmax = 1 %: up to 13 flows with packets of " +
	"1106 bytes on the line. By hand, for rare marks, p^3 = R_AI / (R_C r^3 tau' T^2), with r " +
	"the packets a second of a flow (roce/fluid/fixedpoint.go): p = 0.04 % N^(4/3), of which " +
	"fast recovery leaves three quarters. With 20 flows it takes 1.6 %. With more than 13 the " +
	"queue climbs above Kmax = 200 KB, where everything is marked, all flows slow down " +
	"together, the queue runs empty, and so on, also if the flows begin one after the other. " +
	"The paper's queues, 100 KB at most and 76.6 KB, would be half a percent of marking at " +
	"most by its figure 14 and equation 5. Section 5.1 has only that p is less than 1 % for " +
	"reasonable settings."
