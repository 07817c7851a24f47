package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
)

// numbers are what a run is summed up by. For each group of traffic
//
//	NAME.goodput_gbps             payload placed after the warm-up, all flows together
//	NAME.flow_min_gbps, flow_p10_gbps, flow_median_gbps, flow_max_gbps
//	NAME.jain                     fairness of the flows
//	NAME.messages                 completed
//	NAME.mct_mean_us, mct_p50_us, mct_p99_us, mct_max_us   message completion times
//	NAME.finish_us                when the last of its messages was complete
//
// for each queue QUEUE.mean_kb, p99_kb, max_kb and utilisation, and of the whole network
// pfc_frames, ecn_marks, cnps, retransmitted and dropped.
func (f *File) numbers(r *scenario.Run, groups [][]int) map[string]float64 {
	n := map[string]float64{"pfc_frames": 0, "ecn_marks": 0, "cnps": 0, "retransmitted": 0,
		"dropped": 0}
	for i, flows := range groups {
		f.Traffic[i].numbers(n, r, flows)
	}
	for i, q := range f.queues {
		l := r.QueueLength(i)
		name := q.String() + "."
		n[name+"mean_kb"], n[name+"p99_kb"] = l.MeanBytes/1e3, l.P99Bytes/1e3
		n[name+"max_kb"], n[name+"utilisation"] = l.MaxBytes/1e3, r.Utilisation(i)
	}
	for _, node := range f.network.Nodes {
		if node.Kind == lab.Switch {
			sent, _ := r.PFC(node.Name)
			n["pfc_frames"] += float64(sent)
			n["ecn_marks"] += float64(r.Marked(node.Name))
			continue
		}
		n["cnps"] += float64(r.NIC(node.Name).Counters["np_cnp_sent"])
	}
	for _, frames := range r.Dropped() {
		n["dropped"] += float64(frames)
	}
	return n
}

// numbers adds those of a group.
func (t *Traffic) numbers(n map[string]float64, r *scenario.Run, flows []int) {
	name := t.Name + "."
	var rates, times []float64
	var sum, finish float64
	for _, i := range flows {
		rate := r.Goodput(i) / 1e9
		rates = append(rates, rate)
		sum += rate
		st := r.Flow(i)
		n[name+"messages"] += float64(st.Messages)
		n["retransmitted"] += float64(st.Retransmitted)
		finish = max(finish, float64(st.LastNs)/1e3)
		for _, m := range r.Messages(i) {
			times = append(times, float64(m.CompletedNs-m.PostedNs)/1e3)
		}
	}
	n[name+"goodput_gbps"], n[name+"jain"] = sum, suite.Jain(rates)
	for which, q := range map[string]float64{"min": 0, "p10": 0.1, "median": 0.5, "max": 1} {
		n[fmt.Sprintf("%sflow_%s_gbps", name, which)] = suite.Quantile(rates, q)
	}
	if len(times) == 0 {
		return
	}
	var total float64
	for _, us := range times {
		total += us
	}
	n[name+"mct_mean_us"], n[name+"finish_us"] = total/float64(len(times)), finish
	for which, q := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		n[fmt.Sprintf("%smct_%s_us", name, which)] = suite.Quantile(times, q)
	}
}

// names are those of numbers in the order of a table: groups and queues as in the file, then the
// rest.
func (f *File) names(n map[string]float64) (names []string) {
	var prefixes []string
	for i := range f.Traffic {
		prefixes = append(prefixes, f.Traffic[i].Name+".")
	}
	for _, q := range f.queues {
		prefixes = append(prefixes, q.String()+".")
	}
	rank := func(name string) int {
		return slices.IndexFunc(prefixes, func(p string) bool {
			return len(name) > len(p) && name[:len(p)] == p
		})
	}
	names = slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(names, func(a, b string) int {
		ra, rb := rank(a), rank(b)
		if ra < 0 {
			ra = len(prefixes)
		}
		if rb < 0 {
			rb = len(prefixes)
		}
		return ra - rb
	})
	return names
}

// measures are what a sweep shows if nobody asks for others: of each group goodput, fairness and
// the 99th percentile of completion times, of each queue its mean and 99th percentile, and PFC and
// drops.
func (f *File) measures(n map[string]float64) (chosen []string) {
	for _, name := range f.names(n) {
		last := name[strings.LastIndex(name, ".")+1:]
		if slices.Contains(shown, last) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

var shown = []string{"goodput_gbps", "jain", "mct_p99_us", "mean_kb", "p99_kb", "pfc_frames",
	"dropped"}
