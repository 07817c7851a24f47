package suite

import (
	"fmt"
	"strings"
	"time"
)

// text is the line of a terminal.
func (p *Progress) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d cells, %s", p.ended, p.total, clock(now.Sub(p.began)))
	if left, ok := p.left(now); ok {
		fmt.Fprintf(&b, ", about %s left", clock(left))
	}
	separator := ": "
	for _, r := range p.running {
		fmt.Fprintf(&b, "%s%v", separator, r.job)
		if share := r.share.Load(); share > 0 {
			fmt.Fprintf(&b, " %.0f %%", 100*float64(share)/millionths)
		}
		separator = ", "
	}
	line := []rune(b.String())
	return string(line[:min(len(line), max(1, p.Columns-1))])
}

// left estimates the time until all cells have ended, if there is anything to tell it from: what
// cells took in this run or in an earlier one, and how far those are that run.
func (p *Progress) left(now time.Time) (left time.Duration, ok bool) {
	work, longest := p.expected, time.Duration(0)
	for experiment, n := range p.unknown {
		one, known := p.usual(experiment, now)
		if n > 0 && !known {
			return 0, false
		}
		work += time.Duration(n) * one
	}
	for _, r := range p.running {
		rest, known := p.rest(r, now)
		if !known {
			return 0, false
		}
		work += rest
		longest = max(longest, rest)
	}
	return max(longest, work/time.Duration(max(1, p.jobs))), true
}

// usual is what a cell of an experiment takes: as others of it, or as others at all, which have
// ended or at least tell how far they are.
func (p *Progress) usual(experiment string, now time.Time) (time.Duration, bool) {
	its, any := p.measured[experiment], p.all
	if its == nil {
		its = new(mean)
	}
	for _, r := range p.running {
		if share, ok := r.passed(); ok && p.measured[r.job.key.Experiment] == nil {
			all := time.Duration(float64(now.Sub(r.began)) / share)
			if any.add(all); r.job.key.Experiment == experiment {
				its.add(all)
			}
		}
	}
	if its.n > 0 {
		return its.get(), true
	}
	return any.get(), any.n > 0
}

// passed is the share of a cell's virtual time that has passed, once it tells something: the first
// moments of a run, when queues fill, are not like the others.
func (r *running) passed() (share float64, ok bool) {
	const enough = 0.05
	share = float64(r.share.Load()) / millionths
	return share, share >= enough
}

// rest is how long a cell will still run.
func (p *Progress) rest(r *running, now time.Time) (time.Duration, bool) {
	gone := now.Sub(r.began)
	if share, ok := r.passed(); ok {
		return time.Duration(float64(gone) * (1 - share) / share), true
	}
	all, known := p.usual(r.job.key.Experiment, now)
	if r.job.before != nil {
		all, known = r.job.before.took(), true
	}
	return max(0, all-gone), known
}

// clock prints minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
