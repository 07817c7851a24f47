package lab

import (
	"context"
	"fmt"

	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/deadlock"
)

// Deadlock asks every switch of the lab what its paused groups wait for, and returns the cycles
// of pauses among them. The switches answer one after the other while the lab goes on, so a cycle
// that is told of once may be none; one that stays the same is.
func (l *Lab) Deadlock(ctx context.Context) (deadlock.Report, error) {
	return FindDeadlock(&l.Topology, func(node string) (w switchd.Waits, err error) {
		err = l.Client(node).Call(ctx, "GET", "/v1/waits", nil, &w)
		return w, err
	})
}

// FindDeadlock is Deadlock for whoever reaches a lab's switches in another way.
func FindDeadlock(t *Topology, ask func(node string) (switchd.Waits, error)) (
	r deadlock.Report, err error) {
	var parts []deadlock.Part
	var links []deadlock.Link
	for _, n := range t.Nodes {
		if n.Kind != Switch {
			continue
		}
		w, err := ask(n.Name)
		if err != nil {
			return r, fmt.Errorf("%s: what its groups wait for: %w", n.Name, err)
		}
		parts = append(parts, deadlock.Part{Device: n.Name, Waits: w.Waits})
	}
	for i := range t.Links {
		var ends [2]deadlock.Port
		for j, e := range t.Links[i].Endpoints {
			ends[j] = deadlock.Port{Device: e.Node, Name: e.Device}
		}
		links = append(links, deadlock.Link{A: ends[0], B: ends[1]})
	}
	return deadlock.Find(parts, links), nil
}
