package switchplan

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// On real frames the watchdog's verdict is enforced by the port's XDP program, as in switchd.

// enforce has the program of a port drop data frames of these classes.
func (r *realFrames) enforce(port dataplane.PortID, classes pfc.Set) {
	if err := r.loops[theSwitch].SetFilter(port, uint8(classes)); err != nil {
		r.t.Error(err)
	}
}

// filtered is how many frames the programs of the switch's ports dropped.
func (r *realFrames) filtered() (sum uint64) {
	r.do(theSwitch, func(unit.Time) {
		for _, w := range r.wires[theSwitch] {
			for _, n := range w.Filtered().Classes {
				sum += n.Frames
			}
		}
	})
	return sum
}

func (*virtual) filtered() uint64 { return 0 }

// SetFilter puts the verdict into force.
func (k *kept) SetFilter(classes uint8) error { return k.prog.SetWatchdog(classes) }

// Filtered counts from when the case began.
func (k *kept) Filtered() loop.Filtered {
	f := k.count()
	for i, n := range k.dropped.Classes {
		f.Classes[i] = dataplane.Count{Frames: f.Classes[i].Frames - n.Frames,
			Bytes: f.Classes[i].Bytes - n.Bytes}
	}
	f.Told -= k.dropped.Told
	return f
}

func (e *end) count() (f loop.Filtered) {
	f.Told = e.prog.FilteredTold()
	for class := range f.Classes {
		f.Classes[class] = e.prog.Filtered(uint8(class))
	}
	return f
}
