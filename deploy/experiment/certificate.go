package experiment

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/deploy/result"
)

// certify judges whether the run was faithful: whether every frame arrived at the time its sender
// computed, before the receiver had decided anything later, and whether every frame is accounted
// for. If so, what happened is what happens in virtual time (package loop says why), and to prove
// it the same scenario has been run there.
func (s *session) certify(run *result.Run, g *gathered, d difference) {
	c := &run.Certificate
	c.Valid = true
	check := func(name, value, limit string, ok bool) {
		c.Checks = append(c.Checks, result.Check{Name: name, Value: value, Limit: limit, OK: ok})
		c.Valid = c.Valid && ok
	}
	var slips uint64
	for _, n := range g.all() {
		slips += n.Loop.Slips.Count
	}
	check("arrivals behind a decision", fmt.Sprint(slips), "0", slips == 0)

	check("values that differ from virtual time", d.String(), "0", d.differ == 0)

	lost, unexplained := s.losses(g)
	check("frames lost in sockets and rings", fmt.Sprint(lost), "0", lost == 0)
	check("frames sent but never received", fmt.Sprint(unexplained), "0", unexplained == 0)
	broken := ""
	var headroom uint64
	for _, n := range g.all() {
		if n.Ledger.Fault != "" {
			broken = n.Name + ": " + n.Ledger.Fault
		}
		headroom += n.Ledger.Dropped[frame.DropHeadroom.String()].Frames
	}
	check("conservation ledgers", orText(broken, "all balance"), "all balance", broken == "")
	limit := "0"
	if len(s.Faults) > 0 {
		limit = "any: faults are injected" // which may well overrun the headroom
	}
	check("drops in the lossless class", fmt.Sprint(headroom), limit,
		headroom == 0 || len(s.Faults) > 0)
}

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
