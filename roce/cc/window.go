package cc

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// fixed is what an algorithm without timers and without CNPs, CNMs and probes is made of.
type fixed struct{}

func (fixed) Sent(unit.Time, unit.Bytes)   {}
func (fixed) CNP(unit.Time, CNP)           {}
func (fixed) CNM(unit.Time, CNM)           {}
func (fixed) RTT(unit.Time, time.Duration) {}
func (fixed) NextWake() unit.Time          { return unit.Never }
func (fixed) Wake(unit.Time)               {}

// fed is what the parameters of an algorithm say that lives on the feedback of each packet.
type fed struct{}

// HandlesCNP says that CNPs have no effect.
func (fed) HandlesCNP() bool { return false }

// HandlesCNM says that CNMs have none.
func (fed) HandlesCNM() bool { return false }

// Needs says that every packet is told of.
func (fed) Needs() Needs { return Needs{Feedback: true, Every: 1} }

// product is the bandwidth-delay product, and a packet at least.
func product(s Setup, rtt time.Duration) float64 {
	return max(float64(max(s.MTU, 1)), float64(s.Line)/8*rtt.Seconds())
}

// paced is the limit of a window of bytes: one beneath a packet lets a packet through each time
// that it would take the window to be a packet.
func paced(line unit.Rate, window, mtu float64, rtt time.Duration) Limit {
	if window >= mtu {
		return Limit{Rate: line, Window: unit.Bytes(window)}
	}
	rate := unit.Rate(math.Round(window * 8 / rtt.Seconds()))
	return Limit{Rate: min(max(rate, 1), line), Window: unit.Bytes(mtu)}
}

// checks collects the faults of parameters.
type checks []error

func (c *checks) must(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Errorf(format, args...))
	}
}

// part wants a value in (0, 1].
func (c *checks) part(name string, v float64) {
	c.must(v > 0 && v <= 1, "%s: %v is not in (0, 1]", name, v)
}

// delay wants a duration up to a second.
func (c *checks) delay(name string, d time.Duration) {
	c.must(d > 0 && d <= time.Second, "%s: %v is not in (0, 1s]", name, d)
}
