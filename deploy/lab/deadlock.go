package lab

import (
	"context"
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/deadlock"
)

// Deadlock asks every switch of the lab what its paused groups wait for, and returns the cycles
// of pauses among them.
func (l *Lab) Deadlock(ctx context.Context) (deadlock.Report, error) {
	info := l.Topology.Info()
	return info.FindDeadlock(func(node string) (w switchd.Waits, err error) {
		err = l.Client(node).Call(ctx, "GET", "/v1/waits", nil, &w)
		return w, err
	})
}

// FindDeadlock is Deadlock for whoever reaches a lab's switches in another way.
//
// The switches answer one after the other while the lab goes on, so a cycle in what they say may
// never have been: each of its pauses was there, but not all at once. So they are asked twice, and
// a cycle counts if it is there again with each of its pauses as old as before. Then all of them
// were there between the two rounds, and what a paused queue held it still holds.
func (i *Info) FindDeadlock(ask func(node string) (switchd.Waits, error)) (deadlock.Report, error) {
	first, err := i.cycles(ask)
	if err != nil || len(first.Cycles) == 0 {
		return first, err
	}
	again, err := i.cycles(ask)
	if err != nil {
		return again, err
	}
	again.Cycles = slices.DeleteFunc(again.Cycles, func(c deadlock.Cycle) bool {
		return !slices.ContainsFunc(first.Cycles, func(before deadlock.Cycle) bool {
			return slices.Equal(c.Ports, before.Ports)
		})
	})
	return again, nil
}

// cycles joins one round of answers.
func (i *Info) cycles(ask func(node string) (switchd.Waits, error)) (deadlock.Report, error) {
	var parts []deadlock.Part
	var links []deadlock.Link
	for _, n := range i.Nodes {
		if n.Kind != Switch {
			continue
		}
		w, err := ask(n.Name)
		if err != nil {
			return deadlock.Report{}, fmt.Errorf("%s: what its groups wait for: %w", n.Name, err)
		}
		parts = append(parts, deadlock.Part{Device: n.Name, Waits: w.Waits})
	}
	for _, l := range i.Links {
		var ends [2]deadlock.Port
		for j, e := range l.Endpoints {
			ends[j] = deadlock.Port{Device: e.Node, Name: e.Device}
		}
		links = append(links, deadlock.Link{A: ends[0], B: ends[1]})
	}
	return deadlock.Find(parts, links), nil
}
