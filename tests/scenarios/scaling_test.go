package scenarios

import (
	"math"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// total is one figure of an outcome that must not depend on the speed of the clock.
type total struct {
	name  string
	value func(*outcome) float64
	// grain is by how much the figure may differ for reasons other than marking: an
	// acknowledgement or a CNP that falls just before or just after the end at each of the four
	// senders, and a queue whose frames came a link's delay later.
	grain float64
}

var totals = []total{
	{"bytes delivered", func(o *outcome) float64 { return float64(o.delivered) }, 4 * 64 * 1024},
	{"packets marked", func(o *outcome) float64 { return float64(o.marks) }, 20},
	{"CNPs", func(o *outcome) float64 { return float64(o.cnps) }, 4},
	{"mean queue", func(o *outcome) float64 { return o.queue.Length.Mean }, 500},
}

// sigmas is how many standard deviations are taken for chance: once in a million runs it is not.
const sigmas = 5

// shortIncast is long enough for the queue to build up, to be marked away, and for the senders to
// recover. The longer links make it cheap for the loops, which meet once in a delay.
func shortIncast(seed uint64) (setup, span) {
	s := incast("dcqcn", 64<<10, seed)
	s.delay = 4 * time.Microsecond
	return s, span{2 * time.Millisecond, 6 * time.Millisecond, 2 * time.Millisecond}
}

// The scaling law: how much time is stretched changes nothing. The same incast on real loops at
// dilation k and 2k gives the totals of virtual time.
//
// Which packets are marked is drawn, and the draws fall on other packets if arrivals move by
// nanoseconds, as they do on loops. So two runs are two samples of one distribution, whose
// standard deviation virtual time tells: it is that of runs with different seeds of marking. A
// run on loops may be five of them from the mean, two runs on loops five times the square root
// of two from each other, plus the grain of each total.
func TestScalingLaw(t *testing.T) {
	const seeds, k = 16, 200
	var sample []outcome
	for seed := range uint64(seeds) {
		cfg, at := shortIncast(seed)
		s := newStar(t, cfg)
		sample = append(sample, measure(t, s, newVirtual(t, s), at))
	}
	onLoops := func(k float64) outcome {
		cfg, at := shortIncast(1)
		s := newStar(t, cfg)
		l := newLoops(t, s, k)
		o := measure(t, s, l, at)
		if lag := l.page.Status().WorstLag; lag > cfg.delay {
			t.Errorf("k = %g: a loop was %v late, links are %v long", k, lag, cfg.delay)
		}
		return o
	}
	once, twice := onLoops(k), onLoops(2*k)
	for _, f := range totals {
		mean, deviation := spread(sample, f.value)
		a, b := f.value(&once), f.value(&twice)
		t.Logf("%s: %.0f +- %.0f in virtual time, %.0f at k = %d, %.0f at k = %d", f.name, mean,
			deviation, a, k, b, 2*k)
		far := sigmas*deviation + f.grain
		if math.Abs(a-mean) > far || math.Abs(b-mean) > far {
			t.Errorf("%s: %.0f and %.0f on loops, want %.0f +- %.0f", f.name, a, b, mean, far)
		}
		if apart := sigmas*math.Sqrt2*deviation + f.grain; math.Abs(a-b) > apart {
			t.Errorf("%s: %.0f and %.0f on loops, more than %.0f apart", f.name, a, b, apart)
		}
	}
	if once.marks == 0 || once.cnps == 0 || once.delivered < unit.MB {
		t.Errorf("%d marks, %d CNPs, %d bytes: the scenario shows little", once.marks, once.cnps,
			once.delivered)
	}
}

// spread is the mean and the standard deviation of a figure over a sample.
func spread(sample []outcome, value func(*outcome) float64) (mean, deviation float64) {
	n := float64(len(sample))
	for i := range sample {
		mean += value(&sample[i]) / n
	}
	var squares float64
	for i := range sample {
		d := value(&sample[i]) - mean
		squares += d * d
	}
	return mean, math.Sqrt(squares / (n - 1))
}
