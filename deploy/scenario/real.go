package scenario

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/result"
)

// RealOptions are what a run on real frames may be told.
type RealOptions struct {
	Log *slog.Logger // nil: nobody wants to know
	// Ready, if not nil, is called when everything is prepared and time still stands at zero.
	Ready func(ctx context.Context, l *lab.Lab) error
	// Second, if not nil, is called every second of real time.
	Second func(ctx context.Context, l *lab.Lab) error
	// Ended, if not nil, is called when everything that is due has happened.
	Ended func(ctx context.Context, l *lab.Lab) error
	// Closing, if not nil, is called before the lab is removed, however the run ended, so that
	// whoever uses it can stop to.
	Closing func()
	// Tell, if not nil, hears how much of the virtual time has passed.
	Tell func(passed, of time.Duration)
}

// Real runs the scenario on a lab of real frames, and its twin in virtual time, and certifies what
// happened by comparing the two.
func (s *Scenario) Real(ctx context.Context, o RealOptions) (r *Run, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	v, err := s.begin()
	if err != nil {
		return nil, err
	}
	l, err := lab.Up(ctx, s.Topology, o.Log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if o.Closing != nil {
			o.Closing()
		}
		if e := l.Close(); err == nil {
			err = e
		}
	}()
	v.node = func(name string) daemon.Caller { return l.Client(name) }
	if r, err = (&realSession{session: v, lab: l, options: o}).run(ctx); err != nil {
		return nil, err
	}
	alike := *s
	alike.Probes = nil // they have told what they saw
	twin, err := alike.Virtual(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("virtual time: %w", err)
	}
	r.Twin = twin
	r.certify(compare(r, twin))
	return r, nil
}

// realSession is a scenario at work on a lab.
type realSession struct {
	*session
	lab     *lab.Lab
	options RealOptions
}

// run lets the scenario happen and reads what all nodes have to say.
func (s *realSession) run(ctx context.Context) (*Run, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if s.options.Ready != nil {
		if err := s.options.Ready(ctx, s.lab); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	probes := s.probes()
	s.await(probes)
	s.lab.Start()
	if err := s.follow(ctx, probes); err != nil {
		return nil, err
	}
	s.lab.Pause()
	took := time.Since(began)
	if err := s.settle(ctx, time.Duration(s.lab.Page.Status().Virtual)); err != nil {
		return nil, err
	}
	r, err := s.collect(ctx)
	if err != nil {
		return nil, err
	}
	r.Clock = clockOf(s.lab, took)
	if s.options.Ended != nil {
		if err := s.options.Ended(ctx, s.lab); err != nil {
			return nil, err
		}
	}
	return r, s.statuses(ctx, r)
}

func clockOf(l *lab.Lab, real time.Duration) *result.Clock {
	st := l.Page.Status()
	return &result.Clock{RealNs: real.Nanoseconds(), Dilation: float64(real) / float64(st.Virtual),
		HeldShare: float64(st.Held) / float64(real)}
}

// stalled is for how long virtual time may stand still before the run is given up.
const stalled = 20 * time.Second

// drain is how long the clock runs on after the end of the scenario, for what is on its way.
const drain = 2 * time.Millisecond

// await has the clock stand still at the next probe.
func (s *realSession) await(probes []Probe) {
	next := unit.Never
	if len(probes) > 0 {
		next = unit.Time(probes[0].At)
	}
	s.lab.Page.StopAt(next)
}

// look makes the probes that are due, while time stands still at each, and returns the others.
func (s *realSession) look(ctx context.Context, now unit.Time, probes []Probe) ([]Probe, error) {
	for len(probes) > 0 && now >= unit.Time(probes[0].At) {
		if err := s.settle(ctx, probes[0].At); err != nil {
			return nil, err
		}
		if err := probes[0].Look(ctx, s.node); err != nil {
			return nil, fmt.Errorf("probe at %v: %w", probes[0].At, err)
		}
		probes = probes[1:]
		s.await(probes)
	}
	return probes, nil
}

// follow lets time pass until the scenario is over.
func (s *realSession) follow(ctx context.Context, probes []Probe) (err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	var seen unit.Time
	moved := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-s.lab.Failed():
			return fmt.Errorf("a daemon ended in the middle of the run: %w", err)
		case <-tick.C:
			if s.options.Second == nil {
				continue
			}
			if err := s.options.Second(ctx, s.lab); err != nil {
				return err
			}
		case <-poll.C:
			now := s.lab.Page.Status().Virtual
			if probes, err = s.look(ctx, now, probes); err != nil {
				return err
			}
			if now >= unit.Time(s.Duration+drain) {
				return nil
			}
			if now > seen {
				seen, moved = now, time.Now()
			}
			if s.options.Tell != nil {
				s.options.Tell(time.Duration(now), s.Duration)
			}
			if time.Since(moved) > stalled {
				return fmt.Errorf("virtual time stands still at %v: a daemon does not answer", now)
			}
		}
	}
}

// settle waits until every loop has done all that was due when the clock stopped, at end: two looks
// at all daemons that find the same counts.
func (s *realSession) settle(ctx context.Context, end time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, stalled)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var before uint64
	for {
		var sum uint64
		behind := false
		for _, n := range s.Topology.Nodes {
			var st daemon.Status
			if err := s.get(ctx, n.Name, "/v1/status", &st); err != nil {
				return err
			}
			behind = behind || st.VirtualNs < end.Nanoseconds()
			for _, p := range st.Ports {
				sum += p.Sent + p.Received
			}
		}
		if !behind && sum == before {
			return nil
		}
		before = sum
		select {
		case <-ctx.Done():
			return fmt.Errorf("the daemons do not come to rest: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// statuses asks every daemon how it did.
func (s *realSession) statuses(ctx context.Context, r *Run) error {
	for name, n := range r.nodes {
		if err := s.get(ctx, name, "/v1/status", &n.status); err != nil {
			return err
		}
	}
	return nil
}
