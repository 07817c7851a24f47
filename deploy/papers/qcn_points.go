package papers

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/switchd/qos"
)

// sampler is a congestion point with a queue that stays at the length that it is told.
type sampler struct {
	point qos.CongestionPoint
	frame unit.Bytes
	rng   *rand.Rand
}

func newSampler(jitter float64, frame unit.Bytes, seed uint64) *sampler {
	c := qos.NetFPGA() // Qeq 33 KB, W 2
	c.Jitter = jitter
	return &sampler{qos.NewCongestionPoint(c), frame, rand.New(rand.NewPCG(seed, 0))}
}

// next enqueues frames until one is sampled, and returns how much that took.
func (s *sampler) next(queue unit.Bytes) (qos.Feedback, unit.Bytes) {
	for n := s.frame; ; n += s.frame {
		if fb, ok := s.point.Enqueued(s.frame, queue, s.rng); ok {
			return fb, n
		}
	}
}

// congestionPoint finds what [QCN] section 2, "The CP Algorithm", says.
func congestionPoint(n map[string]float64, seed uint64) {
	const frame = 500 // divides every period of table 1
	const qeq, full = 33_000, 165_000
	for row := range qcnPeriods {
		s := newSampler(0, frame, seed)
		// A queue that does not change has Qdelta = 0, and its length alone makes Fb.
		queue := unit.Bytes(qeq + math.Ceil(float64(8*row+4)*full/63))
		s.next(queue)
		s.next(queue)
		_, period := s.next(queue)
		n[qcnRow(row)] = float64(period) / 1e3
	}
	s := newSampler(0, frame, seed)
	s.next(43_000)
	fb, _ := s.next(53_000)
	n["eq 1"] = float64(fb.Quantized)
	s = newSampler(0, frame, seed)
	s.next(qeq)
	before := s.point.Congested
	s.next(qeq)
	n["eq 1, Q = Qeq"] = float64(s.point.Congested - before)
	n[qcnJitter] = widestJitter(newSampler(0.15, 100, seed))
}

// widestJitter is how far a period of 150 KB is off at most, in percent.
func widestJitter(s *sampler) (most float64) {
	s.next(0) // the first period has none
	for range 1000 {
		_, period := s.next(0)
		most = max(most, 100*math.Abs(float64(period)/150e3-1))
	}
	return most
}

// limiter is a reaction point of the 10 Gb/s baseline without jitter.
type limiter struct{ cc.Algorithm }

func newLimiter() limiter {
	p, err := cc.NewParams("qcn", "baseline")
	if err != nil {
		panic(err) // its own name
	}
	p.(*cc.QCNParams).Jitter = 0
	return limiter{p.New(cc.Setup{Line: 10 * unit.GbPerSecond})}
}

// value reads a variable of the section.
func (l limiter) value(name string) float64 {
	for _, v := range l.State() {
		if v.Name == name {
			return v.Value
		}
	}
	panic("QCN has no " + name)
}

func (l limiter) cr() float64 { return l.value("current_rate_bps") }
func (l limiter) tr() float64 { return l.value("target_rate_bps") }

func (l limiter) message(now unit.Time, fb uint8) { l.CNM(now, cc.CNM{Feedback: fb}) }

const (
	gb = 1e9
	ms = unit.Time(time.Millisecond)
)

// reactionPoint finds what [QCN] section 2, "The RP Algorithm", says.
func reactionPoint(n map[string]float64) {
	l := newLimiter()
	l.message(0, 32)
	n["eq 2"], n["eq 3"] = l.cr()/gb, l.tr()/gb
	l.Sent(0, 5*150*unit.KB)
	n["eq 4"] = l.cr() / gb

	l = newLimiter()
	l.message(0, 63)
	n["eq 2, most"] = l.cr() / gb

	l = newLimiter()
	l.message(0, 32)
	l.Sent(0, 150*unit.KB)
	l.message(0, 32)
	l.Sent(0, 5*150*unit.KB)
	l.Sent(0, 3*75*unit.KB)
	n["eq 5"], n["eq 6"] = l.tr()/gb, l.cr()/gb

	n["eq 7"], n["eq 8"] = hyperActive()

	l = newLimiter()
	l.message(0, 32)
	l.Sent(0, 100*unit.KB)
	l.message(ms, 32)
	n["extra recovery, TR"], n["extra recovery, CR"] = l.tr()/gb, l.cr()/gb
	n["extra recovery, bytes"] = l.value("byte_counter") / 1e3
	n["extra recovery, timer"] = float64(l.NextWake()) / float64(ms)

	l = newLimiter()
	for range 4 {
		l.message(0, 63)
	}
	n["target reduction"] = l.tr() / gb
}

// hyperActive returns by how much three increases of that kind raise TR in Mb/s, and how far the
// last CR is from the middle between the one before and TR, in b/s.
func hyperActive() (raised, off float64) {
	l := newLimiter()
	for range 3 { // makes room below the line's rate
		l.message(0, 63)
		l.Sent(0, 150*unit.KB)
	}
	l.message(0, 63)
	l.Sent(0, 5*150*unit.KB) // the byte counter is past recovery
	l.Wake(75 * ms)          // and so is the timer, by its fifth cycle of 15 ms
	before := l.tr()
	l.Wake(75*ms + 15*ms/2)
	l.Sent(83*ms, 75*unit.KB)
	was := l.cr()
	l.Wake(90 * ms)
	return (l.tr() - before) / 1e6, math.Abs(l.cr() - (was+l.tr())/2)
}
