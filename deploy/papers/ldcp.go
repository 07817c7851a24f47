package papers

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// ldcpExperiments are those of [LDCP]. The draft prints no numbers: its claims are sentences.
func ldcpExperiments() []suite.Experiment {
	return []suite.Experiment{ldcpSteadyQueue(), ldcpFastStart(), ldcpIncast(),
		ldcpDelayedAck(), ldcpPCC()}
}

// ldcpMarking are K_min, K_max, P_max and K of [LDCP] 2.1 and 2.3, which the draft leaves open.
//
// Ours are for 40 Gb/s and a round trip of 10 us, whose product is 50 KB. K_min is a tenth of that,
// five packets, so that bursts of a few packets pass. K_max is the product: a queue so long doubles
// the round trip, and all are told. P_max = 1 makes the way between the two one straight line, on
// which the windows of flows find their point without a jump. K, above which first packets are
// dropped, is K_max: there nobody who is on the way may grow either.
type ldcpMarking struct {
	min, max unit.Bytes
	percent  float64 // P_max
	k        unit.Bytes
}

var ldcpMarks = ldcpMarking{5 * unit.KB, 50 * unit.KB, 100, 50 * unit.KB}

// ldcpBuffer is what the frames of one ingress port may take, in place of buf_max of [LDCP] 2.1,
// which is an egress port's.
const ldcpBuffer = 1 * unit.MB

// ldcpStar is hosts on 40 Gb/s with a round trip of 10 us, base_rtt of the algorithm's defaults,
// without PFC: the class of the data is lossy.
func ldcpStar(hosts int, c nicd.CCConfig, m ldcpMarking, seed uint64) lab.Topology {
	t := fabric.Star("ldcp", hosts, fabric.Links{Rate: 40 * unit.GbPerSecond,
		Delay: 2500 * time.Nanosecond})
	t.Seed, t.NIC.CC = seed, c
	t.NIC.PFCEnable, t.Switch.PFCEnable = []uint8{}, []uint8{}
	t.Switch.Lossy = switchd.BufferProfile{StaticTh: ldcpBuffer}
	value := func(n unit.Bytes) switchd.Value { return switchd.Value(fmt.Sprint(int64(n))) }
	queues := map[string]map[string]switchd.Value{}
	for i := range hosts {
		queues[sonic.Slot(fmt.Sprintf("swp%d", i+1), scenario.DataQueue)] =
			map[string]switchd.Value{"wred_profile": "ldcp"}
	}
	// [LDCP] eq 3 is a step: nothing is dropped below K, all above.
	t.Switch.QoS = switchd.Overlay{"queue": queues, "wred_profile": {"ldcp": {
		"ecn": "ecn_all", "wred_green_enable": "true",
		"green_min_threshold": value(m.k), "green_max_threshold": value(m.k),
		"ecn_green_min_threshold": value(m.min), "ecn_green_max_threshold": value(m.max),
		"ecn_green_mark_probability": switchd.Value(fmt.Sprint(m.percent))}}}
	return t
}

// ldcpControls are compared by the experiments.
var (
	ldcpControl  = nicd.CCConfig{Algorithm: "ldcp"}
	probeControl = nicd.CCConfig{Algorithm: "ldcp_probe"}
	dcqcnControl = nicd.CCConfig{Algorithm: "dcqcn"}
)

// dcqcnMarks is the marking of DCQCN beside it: its own, [DCQCN] figure 14. It drops nothing early.
var dcqcnMarks = ldcpMarking{5 * unit.KB, 200 * unit.KB, 1, ldcpBuffer}

// hostNames are h1 to hn.
func hostNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("h%d", i+1))
	}
	return names
}

// bottleneck is the queue to the last of hosts.
func bottleneck(hosts int) []scenario.Queue {
	return []scenario.Queue{{Switch: "sw0", Port: fmt.Sprintf("swp%d", hosts),
		Queue: scenario.DataQueue}}
}
