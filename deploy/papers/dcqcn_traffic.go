package papers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// The benchmark traffic of [DCQCN] section 6.2: pairs of hosts that serve requests of users, and
// one rebuild of a disk, which is an incast.

const (
	benchmarkHosts = 5  // on each ToR
	userPairs      = 20 // unless an experiment varies them
	userFlow       = "user"
	incastFlow     = "incast"
)

// userSizes is how large transfers of users are. The paper derives them from a trace of its own,
// which it does not print. These are the flows of a cluster of web search as published in the
// paper's reference [2], DCTCP, figure 4, in the points that simulators use; 87 % of them are below
// 4 MB, as most are in the authors' deployment (section 7).
func userSizes() []nicd.SizePoint {
	return []nicd.SizePoint{{Bytes: 1, P: 0}, {Bytes: 10_000, P: 0.15}, {Bytes: 20_000, P: 0.2},
		{Bytes: 30_000, P: 0.3}, {Bytes: 50_000, P: 0.4}, {Bytes: 80_000, P: 0.53},
		{Bytes: 200_000, P: 0.6}, {Bytes: 1_000_000, P: 0.7}, {Bytes: 2_000_000, P: 0.8},
		{Bytes: 5_000_000, P: 0.9}, {Bytes: 10_000_000, P: 0.97}, {Bytes: 30_000_000, P: 1}}
}

// benchmarkFlows are so many pairs of hosts and an incast of a degree, all chosen at random by the
// seed. All of them always have more to send. The choice of pairs does not depend on the degree,
// and fewer pairs are among more.
func benchmarkFlows(t *lab.Topology, pairs, degree int, seed uint64) (flows []scenario.Flow) {
	var hosts []string
	for _, n := range t.Nodes {
		if n.Kind == lab.Host {
			hosts = append(hosts, n.Name)
		}
	}
	add := func(kind string, i int, from, to string, like nicd.FlowRequest) {
		like.Name = fmt.Sprintf("%s %d", kind, i+1)
		flows = append(flows, scenario.Flow{FlowRequest: like, From: from, To: to})
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	who := dice.Perm(len(hosts))[:degree+1]
	for i, from := range who[1:] {
		add(incastFlow, i, hosts[from], hosts[who[0]],
			nicd.FlowRequest{MessageBytes: dcqcnMessage})
	}
	dice = rand.New(rand.NewPCG(seed, 1))
	for i := range pairs {
		two := dice.Perm(len(hosts))[:2]
		add(userFlow, i, hosts[two[0]], hosts[two[1]],
			nicd.FlowRequest{Sizes: userSizes(), Seed: dice.Uint64()})
	}
	return flows
}

// measureBenchmark takes the throughput of all flows of users and of the incast, in Gb/s.
func measureBenchmark(r *scenario.Run, out *suite.Outcome) {
	for i, f := range r.Flows {
		kind, _, _ := strings.Cut(f.Name, " ")
		s := out.Series[kind]
		s.X, s.Y = append(s.X, float64(len(s.X)+1)), append(s.Y, onLine(r.Goodput(i))/1e9)
		out.Series[kind] = s
	}
	for _, frames := range r.Dropped() {
		out.Numbers[droppedFrames] += float64(frames)
	}
	for _, spine := range []string{"s1", "s2"} {
		received := r.Column(spine, switchd.ColumnPFCReceived)
		warm := received[int(r.Scenario.Warmup/r.Scenario.Interval)-1]
		out.Numbers[spineStart] += warm
		out.Numbers[spinePauses] += received[len(received)-1] - warm
	}
	out.Numbers[counted] = (r.Scenario.Duration - r.Scenario.Warmup).Seconds()
}

// What else is found of a run of benchmark traffic.
const (
	droppedFrames = "dropped frames"
	spinePauses   = "PFC frames that the spines received after the warm-up"
	spineStart    = "PFC frames that the spines received in the warm-up"
	counted       = "seconds after the warm-up"
)

// benchmarkTiming is how long benchmark traffic runs, and from when on it counts: pauses have
// spread after 7 ms.
func benchmarkTiming(o suite.Options) (duration, warmup time.Duration) {
	if o.Short {
		return 4 * time.Millisecond, 2 * time.Millisecond
	}
	return 24 * time.Millisecond, 9 * time.Millisecond
}

const benchmarkShorter = "A run of the paper lasts two minutes. Here it is 24 ms, of which the " +
	"last 15 ms count."

// benchmark is one setting of the traffic.
type benchmark struct {
	control       control
	pairs, degree int
}

func (b benchmark) String() string {
	return fmt.Sprintf("%s pairs=%d degree=%d", b.control, b.pairs, b.degree)
}

// cells are the runs of a setting, each seed with other hosts.
func (b benchmark) cells(o suite.Options) (cells []suite.Cell) {
	duration, warmup := benchmarkTiming(o)
	o.Each(func(seed uint64) {
		cells = append(cells, run(fmt.Sprintf("%v seed=%d", b, seed), func() *scenario.Scenario {
			top := dcqcnTestbed("benchmark", benchmarkHosts, b.control)
			top.Seed = seed
			return &scenario.Scenario{Topology: top, Duration: duration, Warmup: warmup,
				Flows:    benchmarkFlows(&top, b.pairs, b.degree, seed),
				Interval: 100 * time.Microsecond}
		}, measureBenchmark))
	})
	return cells
}

// of says which outcomes are of the setting.
func (b benchmark) of(found []suite.Outcome) (its []suite.Outcome) {
	for _, o := range found {
		if strings.HasPrefix(o.Cell, b.String()+" ") {
			its = append(its, o)
		}
	}
	return its
}

// quantile is that of the throughput of all flows of a kind in all runs, in Gb/s.
func (b benchmark) quantile(found []suite.Outcome, kind string, p float64) float64 {
	var all []float64
	for _, o := range b.of(found) {
		all = append(all, o.Series[kind].Y...)
	}
	return suite.Quantile(all, p)
}

// The quantiles of section 6.2.
const median, tail = 0.5, 0.1

func quantileName(p float64) string {
	if p == median {
		return "median"
	}
	return "10th percentile"
}

// benchmarkFigure is drawn like a panel of figures 16 and 17: a quantile of the throughput of a
// kind of flows against what the settings vary, without and with DCQCN.
func benchmarkFigure(title string, found []suite.Outcome, kind string, p float64, x suite.Axis,
	values []int, setting func(c control, value int) benchmark) suite.Figure {
	f := suite.Figure{Title: title, X: x, Y: suite.Axis{Label: "throughput", Unit: "Gb/s"}}
	for _, c := range []control{pfcAlone, dcqcnOn} {
		curve := suite.Curve{Name: string(c), Kind: suite.Line, From: suite.Ours}
		for _, value := range values {
			curve.X = append(curve.X, float64(value))
			curve.Y = append(curve.Y, setting(c, value).quantile(found, kind, p))
		}
		f.Curves = append(f.Curves, curve)
	}
	return f
}

const benchmarkNote = "The paper does not print the sizes of its users' transfers. Ours are " +
	"those of a web search cluster (DCTCP, figure 4), four at a time on each pair, and " +
	"quantiles are of the throughput of pairs and of senders of the incast."
