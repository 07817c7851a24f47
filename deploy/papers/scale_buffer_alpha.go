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
	"github.com/rocelab/rocelab/switchd/sonic"
)

func scaleBufferAlpha() suite.Experiment {
	return suite.Experiment{
		ID: "scale-buffer-alpha", Paper: atScale, Where: "section 6.2, figure 10", Modes: both,
		Seeds: 1,
		Title: "Chatty servers query more than a thousand servers at a time; their ToR has " +
			"alpha = 1/64 in place of 1/16.",
		Shorter: "8 ms of queries (4 ms on real frames, from fewer servers) in place of a " +
			"night's; pause frames are told by five minutes as in the paper.",
		Cells: alphaCells, Judge: judgeAlpha,
	}
}

// alphas are the default of the first type of ToR, and that of the new one.
var alphas = []sonic.Alpha{paperAlpha, {Num: 1, Den: 64}}

// answerSizes are what one server answers. The paper gives none.
var answerSizes = []int{1 << 10, 2 << 10, 4 << 10}

// chattyShape is how large the network is, and how much of it talks.
type chattyShape struct {
	tors, leaves, hosts int           // of each ToR
	chatty              int           // hosts of the first ToR
	asked               int           // servers that a chatty one asks at a time
	period              time.Duration // between two questions of one
	duration            time.Duration
	sizes               []int
}

func (c chattyShape) name(alpha sonic.Alpha, size int) string {
	return fmt.Sprintf("alpha=%d/%d answers=%dKB", alpha.Num, alpha.Den, size>>10)
}

// chattyOf is section 6.2's: ToRs of 24 servers and 4 leaves (section 5.4), and questions to "more
// than one thousand servers simultaneously".
func chattyOf(o suite.Options) chattyShape {
	c := chattyShape{tors: 4, leaves: 4, hosts: 24, chatty: 6, asked: 1008,
		period: 2 * time.Millisecond, duration: 8 * time.Millisecond, sizes: answerSizes}
	if o.Short {
		c.hosts, c.chatty, c.duration, c.sizes = 12, 2, 6*time.Millisecond, []int{4 << 10}
	}
	if o.Mode == suite.Real {
		c = chattyShape{tors: 2, leaves: 4, hosts: 4, chatty: 1, asked: 1008,
			period: 2 * time.Millisecond, duration: 4 * time.Millisecond, sizes: []int{4 << 10}}
	}
	return c
}

func alphaCells(o suite.Options) (cells []suite.Cell) {
	c := chattyOf(o)
	for _, size := range c.sizes {
		for _, alpha := range alphas {
			cells = append(cells, run(c.name(alpha, size),
				func() *scenario.Scenario { return c.scenario(alpha, size) },
				func(r *scenario.Run, out *suite.Outcome) { c.measure(r, out) }))
		}
	}
	return cells
}

// scenario has every chatty server read from all others that it asks, all at the same moment, again
// and again; the chatty ones take turns. A READ is question and answer. Servers of other ToRs read
// a little from each other meanwhile: the other services.
func (c chattyShape) scenario(alpha sonic.Alpha, size int) *scenario.Scenario {
	t := fabric.TwoTier("chatty", c.tors, c.leaves, c.hosts, scaleLinks)
	t.Switch.Lossless.DynamicTh = &sonic.Alpha{Num: paperAlpha.Num, Den: paperAlpha.Den}
	own(&t, "t1", fmt.Sprintf("lossless_profile: {dynamic_th: %d/%d}", alpha.Num, alpha.Den))
	s := &scenario.Scenario{Topology: t, Duration: c.duration, Interval: c.duration / 10}
	var servers []string
	for tor := 2; tor <= c.tors; tor++ {
		for h := range c.hosts {
			servers = append(servers, fmt.Sprintf("h%d-%d", tor, h+1))
		}
	}
	rounds := int(c.duration / c.period)
	for i := range c.chatty {
		from := fmt.Sprintf("h1-%d", i+1)
		phase := c.period * time.Duration(i) / time.Duration(c.chatty)
		for q := range c.asked {
			s.Flows = append(s.Flows, scenario.Flow{From: from, To: servers[q%len(servers)],
				FlowRequest: nicd.FlowRequest{Name: fmt.Sprintf("%s asks %d", from, q),
					Verb: "read", MessageBytes: size, Depth: 1, Log: rounds,
					StartNs:    phase.Nanoseconds(),
					IntervalNs: c.period.Nanoseconds()}})
		}
	}
	for i, from := range servers {
		to := servers[(i+len(servers)/2)%len(servers)]
		s.Flows = append(s.Flows, scenario.Flow{From: from, To: to,
			FlowRequest: nicd.FlowRequest{Verb: "read", MessageBytes: 512, Depth: 1,
				Seed: uint64(i) + 1, Arrivals: "poisson", Log: serviceLog,
				IntervalNs: serviceInterval.Nanoseconds()}})
	}
	return s
}

// The other services: how often a server reads on average, and how many of its reads are looked at,
// which is all.
const (
	serviceInterval = 50 * time.Microsecond
	serviceLog      = 4000
)

// incident is for how long figure 10 counts pause frames.
const incident = 5 * time.Minute

// measure takes the completion times of all questions and of what the other services read, and the
// pause frames that ToR t1 sent to its leaves and that servers received.
func (c chattyShape) measure(r *scenario.Run, out *suite.Outcome) {
	var asked, service []float64
	for i, f := range r.Flows {
		for _, m := range r.Messages(i) {
			if us := float64(m.CompletedNs-m.ArrivedNs) / 1e3; f.From[:3] == "h1-" {
				asked = append(asked, us)
			} else {
				service = append(service, us)
			}
		}
	}
	n := out.Numbers
	n["asked p99"], n["asked max"] = suite.Quantile(asked, 0.99), suite.Quantile(asked, 1)
	n["service p99"], n["service max"] = suite.Quantile(service, 0.99), suite.Quantile(service, 1)
	sent, _ := r.PFC("t1")
	n["pauses of t1"] = float64(sent)
	for _, node := range r.Scenario.Topology.Nodes {
		if node.Kind == lab.Switch && node.Name[0] == 't' {
			for i := range c.hosts {
				p := r.Port(node.Name, fmt.Sprintf("swp%d", i+1))
				n["pauses to servers"] += float64(p.PFCSent[scenario.DataQueue])
			}
		}
	}
	for _, dropped := range r.Dropped() {
		n["dropped"] += float64(dropped)
	}
}

func judgeAlpha(o suite.Options, found []suite.Outcome) (v suite.Verdict) {
	c := chattyOf(o)
	x := suite.Axis{Label: "answer of a server"}
	what := []string{"pauses of t1", "pauses to servers", "asked p99", "service p99"}
	sums := make(map[string][2]float64) // over the sizes, by what and alpha
	curves := make(map[string][2]suite.Curve)
	for i, size := range c.sizes {
		x.Names = append(x.Names, unit.Bytes(size).String())
		for k, alpha := range alphas {
			n := byCell(found, c.name(alpha, size)).Numbers
			for _, w := range what {
				sum, curve := sums[w], curves[w]
				sum[k] += n[w]
				add(&curve[k], float64(i), n[w])
				sums[w], curves[w] = sum, curve
			}
		}
	}
	for _, w := range what {
		f := suite.Figure{Title: w, X: x, Y: suite.Axis{Label: w, Unit: alphaUnit(w)}}
		for k, curve := range curves[w] {
			curve.Kind, curve.From = suite.Bars, suite.Ours
			curve.Name = fmt.Sprintf("alpha = %d/%d", alphas[k].Num, alphas[k].Den)
			f.Curves = append(f.Curves, curve)
		}
		v.Figures = append(v.Figures, f)
	}
	pauses, servers := sums["pauses of t1"], sums["pauses to servers"]
	v.Claims = []suite.Claim{
		{Text: "with alpha = 1/64 the ToR of the chatty servers sends more pause frames",
			Ours: pauses[1], Unit: "pause frames",
			Rule:  fmt.Sprintf("at least twice the %.0f with 1/16", pauses[0]),
			Holds: pauses[1] > 0 && pauses[1] >= 2*pauses[0]},
		{Text: "they propagate to servers", Paper: "up to 60000 in 5 minutes",
			Ours:  servers[1] * float64(incident) / float64(c.duration) / float64(len(c.sizes)),
			Unit:  "pause frames in 5 minutes",
			Rule:  "more than with 1/16",
			Holds: servers[1] > servers[0]},
	}
	for _, w := range []string{"asked p99", "service p99"} {
		text := "the 99th percentile of what chatty servers wait for answers rises"
		if w == "service p99" {
			text = "the 99th percentile of other services' latency rises"
		}
		ratio := 0.0
		if sums[w][0] > 0 {
			ratio = sums[w][1] / sums[w][0]
		}
		v.Claims = append(v.Claims, suite.Claim{Text: text, Paper: "increased dramatically",
			Ours: ratio, Unit: "times that with 1/16", Rule: "> 1.5", Holds: ratio > 1.5})
	}
	v.Notes = []string{
		"A question with its answer is a READ. The paper tells neither how much is answered nor " +
			"how often is asked; six chatty servers ask 1008 others every 2 ms. The numbers are " +
			"summed over the sizes of the answers; each size is in the figures.",
		"What a chatty server waits for is its own link, whatever alpha is, until the pauses of " +
			"its ToR reach the ToRs of those that answer. Servers that have nothing to do with " +
			"it suffer most: the leaves cannot send to its ToR, fill, and pause all ToRs.",
		"Servers receive no pauses here, because their own ToRs have alpha = 1/16 and room for " +
			"what one server sends in the milliseconds of the run. In the paper's incident it " +
			"went on for hours, and thousands of servers were below two such ToRs.",
	}
	return v
}

func alphaUnit(what string) string {
	if what == "asked p99" || what == "service p99" {
		return "us"
	}
	return ""
}
