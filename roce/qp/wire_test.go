package qp

import (
	"math/rand/v2"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// badWire carries packets with loss, duplication, reordering and corruption, by seed.
type badWire struct {
	rng    *rand.Rand
	faults float64 // probability of each fault
	flying []flight
}

type flight struct {
	at   unit.Time
	to   *side
	data []byte
}

func (w *badWire) send(now unit.Time, to *side, b []byte) bool {
	if b == nil {
		return false
	}
	if w.rng.Float64() < w.faults {
		return true
	}
	delay := unit.Time(1000)
	if w.rng.Float64() < w.faults {
		delay += unit.Time(w.rng.IntN(20_000)) // others overtake it
	}
	if w.rng.Float64() < w.faults {
		b = slices.Clone(b)
		b[14+w.rng.IntN(len(b)-14)] ^= 1 << w.rng.IntN(8)
	}
	w.flying = append(w.flying, flight{now + delay, to, b})
	if w.rng.Float64() < w.faults {
		w.flying = append(w.flying, flight{now + delay + unit.Time(w.rng.IntN(9000)), to, b})
	}
	return true
}

// deliver hands over what has arrived. Damaged packets die at the ICRC, as in a NIC; but damage
// in the fields that it leaves out must not kill the connection either.
func (w *badWire) deliver(now unit.Time) {
	slices.SortStableFunc(w.flying, func(a, b flight) int { return int(a.at - b.at) })
	for len(w.flying) > 0 && w.flying[0].at <= now {
		f := w.flying[0]
		w.flying = w.flying[1:]
		if p, ok := ib.Open(f.data, 14, 34); ok && p.CheckICRC() {
			f.to.Receive(now, &p)
		}
	}
}

// next is when something arrives; unit.Never if nothing is on its way.
func (w *badWire) next() unit.Time {
	at := unit.Never
	for i := range w.flying {
		at = min(at, w.flying[i].at)
	}
	return at
}
