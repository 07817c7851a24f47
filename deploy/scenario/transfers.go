package scenario

// Transfers is the goodput of every message of a flow that arrived after the warm-up, in bits per
// second: its size by the time since the message before it had arrived. So it is of use for flows
// whose messages follow each other without a gap.
func (r *Run) Transfers(flow int) []float64 {
	placed := r.placed(flow)
	size := float64(r.Flows[flow].MessageBytes)
	before, warm := 0.0, r.warm()
	if warm > 0 {
		before = placed[warm-1]
	}
	return transfers(before, placed[warm:], size, r.Scenario.Interval.Seconds())
}

// transfers finds in a cumulative series, of which before is the value one interval before its
// first, the times at which it passed multiples of size. Between two samples it is on the straight
// line that joins them.
func transfers(before float64, placed []float64, size, interval float64) (rates []float64) {
	next := (float64(int(before/size)) + 1) * size
	last := -1.0 // when the multiple before next was passed; negative: not known
	for i, now := range placed {
		for now >= next {
			at := (float64(i) + (next-before)/(now-before)) * interval
			if last >= 0 {
				rates = append(rates, size*8/(at-last))
			}
			last, next = at, next+size
		}
		before = now
	}
	return rates
}
