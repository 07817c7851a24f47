package scenario

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/deploy/result"
)

// CheckTwin is the name of the check that compares a run with its twin.
const CheckTwin = "values that differ from virtual time"

// certify judges whether the run was faithful: whether every frame arrived at the time its sender
// computed, before the receiver had decided anything later, and whether every frame is accounted
// for. If so, what happened is what happens in virtual time (package loop says why), and to prove
// it the same scenario has been run there.
func (r *Run) certify(d difference) {
	c := &result.Certificate{Valid: true}
	r.Certificate = c
	check := func(name, value, limit string, ok bool) {
		c.Checks = append(c.Checks, result.Check{Name: name, Value: value, Limit: limit, OK: ok})
		c.Valid = c.Valid && ok
	}
	var slips, lost uint64
	broken := "all balance"
	r.each(func(name string, n *node) {
		slips += n.status.Loop.Slips.Count
		for _, p := range n.status.Ports {
			lost += p.Lost
		}
		if n.status.Ledger.Fault != "" {
			broken = name + ": " + n.status.Ledger.Fault
		}
	})
	check("arrivals behind a decision", fmt.Sprint(slips), "0", slips == 0)
	check(CheckTwin, d.String(), "0", d.differ == 0)
	check("frames lost in sockets and rings", fmt.Sprint(lost), "0", lost == 0)
	unexplained := r.unexplained()
	check("frames sent but never received", fmt.Sprint(unexplained), "0", unexplained == 0)
	check("conservation ledgers", broken, "all balance", broken == "all balance")
	limit, headroom := "0", r.headroomDrops()
	if r.mayLose() {
		limit = "any: faults are injected" // which may well overrun the headroom
	}
	check("drops in the lossless class", fmt.Sprint(headroom), limit,
		headroom == 0 || r.mayLose())
}

func (r *Run) mayLose() bool { return len(r.Scenario.Topology.Faults) > 0 }

// headroomDrops is how many frames of lossless classes were dropped.
func (r *Run) headroomDrops() (frames uint64) {
	r.each(func(_ string, n *node) {
		frames += n.status.Ledger.Dropped[frame.DropHeadroom.String()].Frames
	})
	return frames
}

// Violations is how many frames lossless classes have lost that they must not lose: without a fault
// that was asked for.
func (r *Run) Violations() uint64 {
	if r.mayLose() {
		return 0
	}
	return r.headroomDrops()
}

// each calls fn for every node in the order of the topology.
func (r *Run) each(fn func(name string, n *node)) {
	for _, n := range r.Scenario.Topology.Nodes {
		fn(n.Name, r.nodes[n.Name])
	}
}

// unexplained compares both ends of every link: what one side gave to the kernel must have been
// seen by the program at the other.
func (r *Run) unexplained() (frames uint64) {
	for _, l := range r.Scenario.Topology.Links {
		var ends [2]daemon.PortStatus
		for i, e := range l.Endpoints {
			for _, p := range r.nodes[e.Node].status.Ports {
				if p.Name == e.Device {
					ends[i] = p
				}
			}
		}
		for i := range ends {
			if sent, seen := ends[i].Sent, ends[1-i].OnDevice; sent > seen {
				frames += sent - seen
			}
		}
	}
	return frames
}
