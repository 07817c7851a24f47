package papers

import (
	"fmt"
	"slices"
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
		Title: "Chatty servers query more than a thousand servers at a time; their two ToRs have " +
			"alpha = 1/64 in place of 1/16.",
		Shorter: "8 ms of queries in place of a night's; pause frames are told by five minutes " +
			"as in the paper. On real frames it is 4 ms, of two chatty servers and a ToR of four " +
			"that answer for all.",
		Cells: alphaCells, Judge: judgeAlpha,
	}
}

// alphas are the default of the first type of ToR, and that of the new one.
var alphas = []sonic.Alpha{paperAlpha, {Num: 1, Den: 64}}

// newToRs are the two of the new type. The paper does not say where they stand; here it is in one
// podset.
var newToRs = []string{"t1-1", "t1-2"}

// answerSizes are what one server answers. The paper gives none.
var answerSizes = []int{1 << 10, 2 << 10, 4 << 10}

// chattyShape is how large the network is, and how much of it talks.
type chattyShape struct {
	net      fabric.PodsetShape
	chatty   int           // servers of each ToR of the new type
	period   time.Duration // between two questions of one
	duration time.Duration
	sizes    []int
}

func (c chattyShape) name(alpha sonic.Alpha, size int) string {
	return fmt.Sprintf("alpha=%d/%d answers=%dKB", alpha.Num, alpha.Den, size>>10)
}

// askedServers is how many servers a chatty one asks at a time, which were "more than one thousand
// servers simultaneously": those below the other 46 ToRs of figure 7. Smaller networks have fewer,
// of which each answers for several.
const askedServers = 46 * 24

// chattyOf is section 6.2's in the network of figure 7.
func chattyOf(o suite.Options) chattyShape {
	c := chattyShape{net: fabric.Figure7(), chatty: 6, period: 2 * time.Millisecond,
		duration: 8 * time.Millisecond, sizes: answerSizes}
	if o.Short {
		c.net = fabric.PodsetShape{Podsets: 1, Leaves: 4, ToRs: 4, Hosts: 12}
		c.chatty, c.duration, c.sizes = 2, 6*time.Millisecond, []int{4 << 10}
	}
	if o.Mode == suite.Real {
		c.net = fabric.PodsetShape{Podsets: 1, Leaves: 4, ToRs: 3, Hosts: 4}
		c.chatty, c.duration, c.sizes = 1, 4*time.Millisecond, []int{4 << 10}
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

// hosts are the chatty servers, and those below all other ToRs.
func (c chattyShape) hosts() (chatty, servers []string) {
	for podset := range c.net.Podsets {
		for tor := range c.net.ToRs {
			name := fmt.Sprintf("%d-%d", podset+1, tor+1)
			for h := range c.net.Hosts {
				host := fmt.Sprintf("h%s-%d", name, h+1)
				if !slices.Contains(newToRs, "t"+name) {
					servers = append(servers, host)
				} else if h < c.chatty {
					chatty = append(chatty, host)
				}
			}
		}
	}
	return chatty, servers
}

// scenario has every chatty server read from all others that it asks, all at the same moment, again
// and again; the chatty ones take turns. A READ is question and answer. Servers of other ToRs read
// a little from each other meanwhile: the other services.
func (c chattyShape) scenario(alpha sonic.Alpha, size int) *scenario.Scenario {
	t := fabric.Podsets("chatty", c.net, scaleLinks)
	t.Switch.Lossless.DynamicTh = &sonic.Alpha{Num: paperAlpha.Num, Den: paperAlpha.Den}
	for _, tor := range newToRs {
		own(&t, tor, fmt.Sprintf("lossless_profile: {dynamic_th: %d/%d}", alpha.Num, alpha.Den))
	}
	// A question at a time is all that a queue pair has, of which there are thousands.
	t.NIC.QP.SendQueue, t.NIC.QP.ReceiveQueue = 2, 2
	chatty, servers := c.hosts()
	for _, from := range chatty {
		own(&t, from, fmt.Sprintf("{max_qps: %d, max_regions: %[1]d}", 2*askedServers))
	}
	s := &scenario.Scenario{Topology: t, Duration: c.duration, Interval: c.duration / 10}
	rounds := int(c.duration / c.period)
	for i, from := range chatty {
		phase := c.period * time.Duration(i) / time.Duration(len(chatty))
		for q := range askedServers {
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

// What a cell tells beside latencies: the pause frames that the new ToRs sent, those of all leaves,
// and those that servers received.
const (
	alphaPauses  = "pauses of the new ToRs"
	alphaLeaves  = "pauses of leaves"
	alphaServers = "pauses to servers"
	alphaAsked   = "asked p99"
	alphaService = "service p99"
)

// alphaNumbers are all of them, in the order of the figures.
var alphaNumbers = []string{alphaPauses, alphaLeaves, alphaServers, alphaAsked, alphaService}

// measure takes the completion times of all questions and of what the other services read, and the
// pause frames.
func (c chattyShape) measure(r *scenario.Run, out *suite.Outcome) {
	chatty, _ := c.hosts()
	var asked, service []float64
	for i, f := range r.Flows {
		for _, m := range r.Messages(i) {
			us := float64(m.CompletedNs-m.ArrivedNs) / 1e3
			if slices.Contains(chatty, f.From) {
				asked = append(asked, us)
			} else {
				service = append(service, us)
			}
		}
	}
	n := out.Numbers
	n[alphaAsked], n["asked max"] = suite.Quantile(asked, 0.99), suite.Quantile(asked, 1)
	n[alphaService], n["service max"] = suite.Quantile(service, 0.99), suite.Quantile(service, 1)
	for _, node := range r.Scenario.Topology.Nodes {
		if node.Kind != lab.Switch {
			continue
		}
		sent, _ := r.PFC(node.Name)
		if slices.Contains(newToRs, node.Name) {
			n[alphaPauses] += float64(sent)
		}
		switch node.Name[0] {
		case 'l':
			n[alphaLeaves] += float64(sent)
		case 't':
			for i := range c.net.Hosts {
				p := r.Port(node.Name, fmt.Sprintf("swp%d", i+1))
				n[alphaServers] += float64(p.PFCSent[scenario.DataQueue])
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
	sums := make(map[string][2]float64) // over the sizes, by what and alpha
	curves := make(map[string][2]suite.Curve)
	for i, size := range c.sizes {
		x.Names = append(x.Names, unit.Bytes(size).String())
		for k, alpha := range alphas {
			n := byCell(found, c.name(alpha, size)).Numbers
			for _, w := range alphaNumbers {
				sum, curve := sums[w], curves[w]
				sum[k] += n[w]
				add(&curve[k], float64(i), n[w])
				sums[w], curves[w] = sum, curve
			}
		}
	}
	for _, w := range alphaNumbers {
		f := suite.Figure{Title: w, X: x, Y: suite.Axis{Label: w, Unit: alphaUnit(w)}}
		for k, curve := range curves[w] {
			curve.Kind, curve.From = suite.Bars, suite.Ours
			curve.Name = fmt.Sprintf("alpha = %d/%d", alphas[k].Num, alphas[k].Den)
			f.Curves = append(f.Curves, curve)
		}
		v.Figures = append(v.Figures, f)
	}
	v.Claims = alphaClaims(o, c, sums)
	v.Notes = alphaNotes(o, c, sums)
	return v
}

// alphaClaims are the paper's of numbers with alpha = 1/16 and 1/64.
func alphaClaims(o suite.Options, c chattyShape, sums map[string][2]float64) []suite.Claim {
	pauses, servers := sums[alphaPauses], sums[alphaServers]
	more := suite.Claim{Text: "with alpha = 1/64 the ToRs of the chatty servers send more pause " +
		"frames", Ours: pauses[1], Unit: "pause frames",
		Rule:  fmt.Sprintf("at least twice the %.0f with 1/16", pauses[0]),
		Holds: pauses[1] > 0 && pauses[1] >= 2*pauses[0]}
	spread := suite.Claim{Text: "they propagate to servers", Paper: "up to 60000 in 5 minutes",
		Ours: servers[1] * float64(incident) / float64(c.duration) / float64(len(c.sizes)),
		Unit: "pause frames in 5 minutes", Rule: "more than with 1/16",
		Holds: servers[1] > servers[0]}
	rises := func(text, number string) suite.Claim {
		ratio := 0.0
		if sums[number][0] > 0 {
			ratio = sums[number][1] / sums[number][0]
		}
		return suite.Claim{Text: text, Paper: "increased dramatically", Ours: ratio,
			Unit: "times that with 1/16", Rule: "> 1.5", Holds: ratio > 1.5}
	}
	if o.Mode == suite.Real {
		return []suite.Claim{more}
	}
	return []suite.Claim{more, spread,
		rises("the 99th percentile of what chatty servers wait for answers rises", alphaAsked),
		rises("the 99th percentile of other services' latency rises", alphaService)}
}

func alphaNotes(o suite.Options, c chattyShape, sums map[string][2]float64) []string {
	chatty, servers := c.hosts()
	notes := []string{
		fmt.Sprintf("A question with its answer is a READ. The paper tells neither how many are "+
			"chatty, nor how much is answered, nor how often is asked: %d servers ask each %v, "+
			"together %d times. The numbers are summed over the sizes of the answers; each size "+
			"is in the figures.", len(chatty), c.period, len(chatty)*askedServers),
		fmt.Sprintf("The pauses go by the leaves, which sent %.0f with 1/64 and %.0f with 1/16, "+
			"to ToRs and spines, and hold up what has nothing to do with the chatty servers. "+
			"What those wait for is their own links, whatever alpha is, unless these run empty "+
			"meanwhile.", sums[alphaLeaves][1], sums[alphaLeaves][0]),
	}
	if o.Mode == suite.Real {
		return append(notes, fmt.Sprintf("Whether pauses reach servers, and what anybody waits, "+
			"is judged in virtual time only. Here %d servers answer for %d, so that each has "+
			"far too much to say; they are below one ToR, so that their own traffic meets no "+
			"paused leaf; and the one chatty server of a ToR shares its uplinks with nobody.",
			len(servers), askedServers))
	}
	return append(notes, fmt.Sprintf("Servers receive no pauses here: one owes the chatty ones %d "+
		"answers at most, %d KB at 4 KB each, and its ToR, which has alpha = 1/16, has room for "+
		"them. The incident's servers received them, so they had more to say, which the paper "+
		"does not tell.", len(chatty), len(chatty)*4))
}

func alphaUnit(what string) string {
	if what == alphaAsked || what == alphaService {
		return "us"
	}
	return ""
}
