package mmu

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// uniform is a buffer of one pool in which every PG of every port has the same profile.
func uniform(ports int, size unit.Bytes, p Profile) Config {
	c := Config{Pools: []Pool{{Name: "ingress", Size: size}},
		Groups: make([][Groups]Profile, ports), Queues: make([][Queues]QueueProfile, ports)}
	for port := range c.Groups {
		for pg := range c.Groups[port] {
			c.Groups[port][pg] = p
		}
	}
	return c
}

func mustNew(t testing.TB, c Config) *Buffer {
	t.Helper()
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// at is the place of frames from a port and PG to queue 0 of port 0.
func at(port frame.PortID, pg PG) Where { return Where{In: port, Group: pg} }

// fill admits frames of n bytes until one is not stored or the PG goes to XOFF.
func fill(b *Buffer, w Where, n unit.Bytes) (admitted unit.Bytes, why frame.Reason) {
	for {
		if why = b.Admit(w, n); why != frame.NoReason {
			return admitted, why
		}
		admitted += n
		if b.Group(w.In, w.Group).XOFF {
			return admitted, why
		}
	}
}

// changes drains NextChange.
func changes(b *Buffer) (all []Change) {
	for {
		c, ok := b.NextChange()
		if !ok {
			return all
		}
		all = append(all, c)
	}
}
