package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestAbsentFrameHasItsTurn: it comes among the arrivals of a moment by its port, whenever that
// became known, and before all that is not an arrival. Who is told hears which fault keeps the link
// down.
func TestAbsentFrameHasItsTurn(t *testing.T) {
	var e engine.Engine
	var order []string
	dev := &recorder{order: &order}
	node := e.Add(dev, make([]engine.Port, 3))
	node.OnAbsent(func(now unit.Time, p dataplane.PortID, down frame.Faults) {
		order = append(order, fmt.Sprintf("absent %d@%d faults %b", p, now, down))
	})
	pool := frame.NewPool(4, 64)
	e.At(100, func(unit.Time) { order = append(order, "call") })
	e.Arrive(node, 2, 100, pool.Get())
	e.Absent(node, 1, 100)
	e.Arrive(node, 0, 100, pool.Get())
	e.Run(100)
	node.Target(1).SetState(fault.State{Down: 1 << 5})
	e.Absent(node, 1, 50) // late: time never goes back
	e.Run(101)
	want := []string{"frame 0@100", "absent 1@100 faults 0", "frame 2@100", "call",
		"absent 1@100 faults 100000"}
	if !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

// recorder is an idle device that notes when frames arrive.
type recorder struct {
	order *[]string
	ready dataplane.PortSet
}

func (d *recorder) Receive(now unit.Time, p dataplane.PortID, f *frame.Frame) {
	*d.order = append(*d.order, fmt.Sprintf("frame %d@%d", p, now))
	f.Release()
}
func (d *recorder) Transmit(unit.Time, dataplane.PortID) *frame.Frame { return nil }
func (d *recorder) Ready() *dataplane.PortSet                         { return &d.ready }
func (d *recorder) NextWake() unit.Time                               { return unit.Never }
func (d *recorder) Wake(unit.Time)                                    {}
func (d *recorder) SetLink(unit.Time, dataplane.PortID, bool)         {}
func (d *recorder) Ledger() dataplane.Ledger                          { return dataplane.Ledger{} }
