package switchplan

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// On real frames the watchdog's verdict is enforced by the port's XDP program, as in switchd.

// heed has the program drop what the machine says; in virtual time there is none.
func (r *realFrames) heed(e pipeline.Event) {
	classes := uint8(r.sw.StormedClasses(e.Port))
	if err := r.loops[theSwitch].SetFilter(e.Port, classes); err != nil {
		r.t.Error(err)
	}
}

func (*virtual) heed(pipeline.Event) {}

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
