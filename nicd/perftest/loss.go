package perftest

import (
	"fmt"
	"io"
	"time"
)

// loss is the time that the NIC's clock lost while something was measured: of which a watch would
// have seen more than the result says. In a lab nothing is lost.
type loss struct {
	from, to time.Duration // what had been lost when it began and when it ended
	window   time.Duration // that was measured, in the NIC's time
}

// begin is called with what has been lost before anything counts.
func (l *loss) begin(lost time.Duration) { l.from, l.to = lost, lost }

func (l *loss) lost() time.Duration { return l.to - l.from }

// longer is how many times as long it took by the wall clock as by the NIC's. If that has a
// dilation it is the wall clock slowed down by it.
func (l *loss) longer() float64 {
	if l.window <= 0 {
		return 1
	}
	return 1 + l.lost().Seconds()/l.window.Seconds()
}

// warn says of a result that time was lost, and what it is by the wall clock.
func (l *loss) warn(w io.Writer, size int, wall string) {
	if w == nil || l.lost() <= 0 {
		return
	}
	fmt.Fprintf(w, "WARNING: %d bytes: the NIC's clock lost %v while %v were measured; "+
		"by the wall clock the average is %s\n", size, l.lost(), l.window, wall)
}

func (s *session) warnBandwidth(r *summary) {
	r.loss.warn(s.warn, int(r.size), fmt.Sprintf("%.2f %s", r.average/r.loss.longer(),
		s.c.unitName()))
}

func (s *session) warnLatency(r *roundTrips) {
	r.loss.warn(s.warn, r.size, fmt.Sprintf("%.2f usec", r.wallAverage(s.c.Test.halves())))
}

// wallAverage is the average latency by the wall clock, in microseconds. It is of all rounds: which
// of them the lost time was in nobody knows.
func (r *roundTrips) wallAverage(halves int) float64 {
	n := max(r.count, len(r.times), 1)
	return float64(r.loss.window+r.loss.lost()) / float64(time.Microsecond) / float64(halves) /
		float64(n)
}
