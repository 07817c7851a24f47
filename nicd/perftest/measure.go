package perftest

import (
	"context"
	"fmt"
)

// measure runs the test for every size, with the exchanges that perftest has in between.
func (s *session) measure(ctx context.Context) error {
	switch {
	case s.c.Test.Kind == Latency:
		return s.measureLatency(ctx)
	case s.c.Test.Verb == Send:
		return s.measureSends(ctx)
	}
	return s.measureOneSided(ctx)
}

// measureSends: before every size both ends wait until receives are posted.
func (s *session) measureSends(ctx context.Context) error {
	d := directions{s.c.client() || s.c.Bidirectional, !s.c.client() || s.c.Bidirectional}
	for _, size := range s.c.sizes() {
		if d.receive {
			if err := s.traffic.prepareReceives(size); err != nil {
				return err
			}
		}
		s.traffic.prepareCheck(size)
		if err := s.barrier(); err != nil {
			return err
		}
		if err := s.runBandwidth(ctx, size, d); err != nil {
			return err
		}
		if s.c.AllSizes {
			if err := s.barrier(); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureOneSided: the server only waits, unless it sends too.
func (s *session) measureOneSided(ctx context.Context) error {
	if !s.c.client() && !s.c.Bidirectional {
		return s.serve()
	}
	for _, size := range s.c.sizes() {
		s.traffic.prepareCheck(size)
		if s.c.WarmUp && !s.c.Check {
			if err := s.traffic.warmUp(ctx, size); err != nil {
				return err
			}
		}
		if s.c.Bidirectional {
			if err := s.barrier(); err != nil {
				return err
			}
		}
		if err := s.runBandwidth(ctx, size, directions{send: true}); err != nil {
			return err
		}
	}
	if s.c.Bidirectional {
		return s.traffic.verifyWritten(s.c.Size)
	}
	if err := s.barrier(); err != nil {
		return err
	}
	_, err := swapSummaries(s.x, s.report.last())
	return err
}

// serve waits for the client to be through, and reports what it measured.
func (s *session) serve() error {
	if err := s.outlast(); err != nil {
		return err
	}
	result, err := swapSummaries(s.x, summary{})
	if err != nil {
		return err
	}
	if err := s.traffic.verifyWritten(s.c.Size); err != nil {
		return err
	}
	return s.report.bandwidth(result, nil)
}

// runBandwidth measures one size and reports it. With traffic both ways the ends add what each of
// them sent.
func (s *session) runBandwidth(ctx context.Context, size int, d directions) error {
	sent, got, err := s.traffic.runBandwidth(ctx, size, d)
	mine := &sent
	if !d.send {
		mine = &got
	}
	own := mine.summary(s.c)
	if err != nil {
		if mine.messages > 0 {
			_ = s.report.bandwidth(own, nil) // the error is worse
			s.warnBandwidth(&own)
		}
		return err
	}
	s.warnBandwidth(&own)
	if !s.c.Bidirectional || s.c.Duration > 0 && s.c.Test.Verb == Send {
		return s.report.bandwidth(own, nil)
	}
	if s.c.AllSizes && s.c.Test.Verb != Send {
		if err := s.barrier(); err != nil {
			return err
		}
	}
	theirs, err := swapSummaries(s.x, own)
	if err != nil {
		return err
	}
	return s.report.bandwidth(own, &theirs)
}

// measureLatency: with SENDs both ends wait before every size until receives are posted. The
// server of READs and atomics does nothing.
func (s *session) measureLatency(ctx context.Context) error {
	send := s.c.Test.Verb == Send
	if !s.c.client() && s.c.Test.oneSided() {
		return nil
	}
	for _, size := range s.c.sizes() {
		if s.c.Test.Verb == Write {
			s.traffic.fillSends(size) // the peer may have written already: clear nothing
		} else {
			s.traffic.prepareCheck(size)
		}
		if send {
			if err := s.traffic.prepareReceives(size); err != nil {
				return err
			}
			if err := s.barrier(); err != nil {
				return err
			}
		}
		trips, err := s.traffic.runLatency(ctx, size)
		if err != nil {
			if len(trips.times) > tail {
				_ = s.report.latency(&trips) // the error is worse
				s.warnLatency(&trips)
			}
			return err
		}
		if len(trips.times) <= tail && s.c.Duration == 0 {
			return fmt.Errorf("%d times are too few for a result", len(trips.times))
		}
		if err := s.report.latency(&trips); err != nil {
			return err
		}
		s.warnLatency(&trips)
	}
	return nil
}
