package app

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Arrivals says how the times between messages are distributed around their mean.
type Arrivals uint8

// The distributions.
const (
	Periodic Arrivals = iota // all alike
	Poisson                  // exponentially
)

// Backlog is how many messages may have arrived that are not posted yet.
const Backlog = 1024

// message is one of a flow.
type message struct {
	arrived, posted unit.Time
	bytes           int
}

// source makes messages: what size they have, and when they arrive if that is not when they can be
// posted. Sizes and times have generators of their own, so the one does not depend on the other,
// nor either of them on the network.
type source struct {
	sizes    Sizes // nil: all have bytes
	bytes    int
	arrivals Arrivals
	ofSizes  *rand.Rand
	ofTimes  *rand.Rand

	interval time.Duration // mean time between arrivals; 0: they come when they can be posted
	next     unit.Time     // arrival
	arrived  uint64
	ring     []message // of arrivals, by their number without the missed
	head     uint64
	tail     uint64
}

// The streams of a flow's generators.
const (
	sizeStream = iota
	timeStream
)

func newSource(f *Flow) source {
	s := source{sizes: f.Sizes, bytes: f.Local.Length, arrivals: f.Arrivals,
		interval: f.Interval, next: f.Start,
		ofSizes: rand.New(rand.NewPCG(f.Seed, sizeStream)),
		ofTimes: rand.New(rand.NewPCG(f.Seed, timeStream))}
	if f.Interval > 0 {
		s.ring = make([]message, Backlog)
		if f.Arrivals == Poisson {
			s.next = s.next.Add(s.gap(f.Interval)) // the process has no memory of a start
		}
	}
	return s
}

// gap draws a time of the given mean.
func (s *source) gap(mean time.Duration) time.Duration {
	if s.arrivals == Poisson {
		return time.Duration(s.ofTimes.ExpFloat64() * float64(mean))
	}
	return mean
}

// fresh is a message that arrives now.
func (s *source) fresh(now unit.Time) message {
	m := message{arrived: now, bytes: s.bytes}
	if s.sizes != nil {
		m.bytes = s.sizes.draw(s.ofSizes)
	}
	return m
}

// arrive lets the next message arrive, at its time, and reports whether there was room for it. One
// that finds none has drawn its size too, so that those behind it are the same as without.
func (s *source) arrive() bool {
	m := s.fresh(s.next)
	s.next = s.next.Add(s.gap(s.interval))
	s.arrived++
	if s.waiting() == Backlog {
		return false
	}
	s.ring[s.tail%Backlog] = m
	s.tail++
	return true
}

// waiting is how many messages have arrived and not been taken.
func (s *source) waiting() uint64 { return s.tail - s.head }

// take returns the message that has waited for longest, or with none arriving by themselves a new
// one.
func (s *source) take(now unit.Time) message {
	if s.interval == 0 {
		return s.fresh(now)
	}
	s.head++
	return s.ring[(s.head-1)%Backlog]
}

func (f *Flow) validateTimes() error {
	switch {
	case f.Interval < 0 || f.Idle < 0:
		return fmt.Errorf("interval %v and idle %v must not be negative", f.Interval, f.Idle)
	case f.Interval > 0 && f.Idle > 0:
		return fmt.Errorf("messages that arrive by themselves do not wait for others: interval " +
			"and idle are both given")
	case f.Arrivals > Poisson:
		return fmt.Errorf("arrivals %d are not known", f.Arrivals)
	}
	return nil
}
