package uverbs

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// resting is the flag of a submission ring whose daemon sleeps, or is about to: whoever publishes
// entries takes it away and rings.
const resting = 1

// burst is how many entries of one program a turn takes at most, so that none keeps the loop.
const burst = 256

// Poll takes what programs have submitted. It is the loop's.
func (s *Server) Poll(t loop.Turn) (worked bool) {
	at := abi.Time{Virtual: int64(t.Clock), Mono: t.Mono, Speed: math.Float64bits(t.Speed),
		Lost: s.cfg.Driver.TimeLost().Nanoseconds()}
	for _, p := range s.programs {
		p.ring.PutTime(at)
		if p.submit(t.Now) > 0 {
			worked = true
		}
	}
	s.cfg.Host.Serve(t.Now) // also what others have changed between the turns
	if s.trouble {
		s.trouble, worked = false, true
		for _, p := range s.programs {
			p.failBroken(t.Now)
		}
	}
	return worked
}

// Rest lets programs ring from here on, and reports whether none has submitted anything.
func (s *Server) Rest() bool {
	quiet := true
	for _, p := range s.programs {
		p.ring.Flag().Store(resting)
		if n, ok := p.ring.Ready(); !p.ended && (n > 0 || !ok) {
			quiet = false
		}
	}
	return quiet
}

// rung empties the doorbell of p. What was submitted is found by Poll in the same turn.
func (p *program) rung(unit.Time) (keep bool) {
	var b [64]byte
	for {
		n, err := unix.Read(p.bell, b[:])
		if err == unix.EINTR {
			continue
		}
		if n == 0 {
			return false // the program has closed it, or died
		}
		if n < len(b) {
			return true
		}
	}
}

// event passes on what happened to a queue pair or a shared receive queue.
func (s *Server) event(now unit.Time, e nic.Event) {
	if e.Kind == nic.SRQLimit {
		if q := s.shared[e.SRQ]; q != nil {
			q.program.async(asyncSRQLimit, q.handle, now, "")
		}
		return
	}
	q := s.queues[e.QPN]
	if q == nil {
		return
	}
	switch e.Kind {
	case nic.QPFatal:
		q.program.async(asyncQPFatal, q.handle, now, "")
	case nic.PathError:
		q.program.async(asyncPathError, q.handle, now, e.Why.String())
	case nic.PathMigrated:
		q.program.async(asyncPathMigrated, q.handle, now, "")
	}
}

// Kinds of asynchronous events, as rdma.EventKind has them.
const (
	asyncQPFatal = iota
	asyncCQError
	asyncSRQLimit
	asyncPathError
	asyncPathMigrated
)
