package experiment

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/deploy/result"
)

// certify judges whether the run was faithful: whether the emulator itself was on time, and
// whether every frame is accounted for. All limits follow from the link's delay d: a frame may
// leave up to d/2 late before anyone decides differently (the loops sleep through the other
// half), and what arrives must be handled within d, or a PAUSE would act later than on hardware.
func (s *session) certify(run *result.Run, g *gathered) {
	c := &run.Certificate
	c.Valid = true
	check := func(name, value, limit string, ok bool) {
		c.Checks = append(c.Checks, result.Check{Name: name, Value: value, Limit: limit, OK: ok})
		c.Valid = c.Valid && ok
	}
	late := func(name string, value, limit time.Duration) {
		check(name, value.String(), "<= "+limit.String(), value <= limit)
	}
	var w worst
	for _, d := range g.all() {
		w.add(d.Loop.Delivered.P99Ns, &w.left99)
		w.add(d.Loop.Delivered.MaxNs, &w.left)
		w.add(d.Loop.Arrived.P99Ns, &w.handled99)
		w.add(d.Loop.Slips.P99Ns, &w.slip99)
	}
	late("frames leave late, p99", w.left99, s.Delay/2)
	late("frames leave late, worst", w.left, s.Delay)
	late("PAUSE, data handled late, p99", w.handled99, s.Delay)
	late("arrivals behind a decision, p99", w.slip99, s.Delay)

	lost, unexplained := s.losses(g)
	check("frames lost in sockets and rings", fmt.Sprint(lost), "0", lost == 0)
	check("frames sent but never received", fmt.Sprint(unexplained), "0", unexplained == 0)
	broken := ""
	var headroom uint64
	for _, d := range g.all() {
		if d.Ledger.Fault != "" {
			broken = d.Name + ": " + d.Ledger.Fault
		}
		headroom += d.Ledger.Dropped[frame.DropHeadroom.String()].Frames
	}
	check("conservation ledgers", orText(broken, "all balance"), "all balance", broken == "")
	check("drops in the lossless class", fmt.Sprint(headroom), "0", headroom == 0)
}

type worst struct{ left99, left, handled99, slip99 time.Duration }

func (*worst) add(ns int64, to *time.Duration) { *to = max(*to, time.Duration(ns)) }

func orText(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

// losses compares both ends of every link: what one side gave to the kernel must have been seen
// by the program at the other, and what the program saw by the machine or the host's kernel.
func (s *session) losses(g *gathered) (lost, unexplained uint64) {
	for _, d := range g.all() {
		for _, p := range d.Ports {
			lost += p.Lost
		}
	}
	for i := range s.Senders + 1 {
		host, port := &g.nics[i].Ports[0], &g.sw.Status.Ports[i]
		for _, pair := range [][2]uint64{{host.Sent, port.OnDevice}, {port.Sent, host.OnDevice}} {
			if pair[0] > pair[1] {
				unexplained += pair[0] - pair[1]
			}
		}
	}
	return lost, unexplained
}
