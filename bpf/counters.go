package bpf

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/classify"
)

// Counters is what a program counted since it was loaded, over all CPUs; rocelab.h has its twin.
// They count what arrived, also when the socket's rings overflowed and the machine never saw it.
type Counters struct {
	Received  uint64
	ToSocket  uint64
	ToKernel  uint64 // NIC only
	NoSocket  uint64 // dropped: nobody has bound this queue
	NoMeta    uint64 // sent on without metadata
	NoTag     uint64 // dropped: no room for the VLAN tag that was beside the frame
	Malformed uint64
	Watchdog  [classify.Classes]uint64 // data frames dropped by the watchdog's verdict
	PFCFrames uint64
	PFCXOFF   [classify.Classes]uint64 // PFC frames with the class enabled, time above zero
	PFCXON    [classify.Classes]uint64 // PFC frames with the class enabled, time zero
}

func (c *Counters) add(o *Counters) {
	c.Received += o.Received
	c.ToSocket += o.ToSocket
	c.ToKernel += o.ToKernel
	c.NoSocket += o.NoSocket
	c.NoMeta += o.NoMeta
	c.NoTag += o.NoTag
	c.Malformed += o.Malformed
	c.PFCFrames += o.PFCFrames
	for i := range classify.Classes {
		c.Watchdog[i] += o.Watchdog[i]
		c.PFCXOFF[i] += o.PFCXOFF[i]
		c.PFCXON[i] += o.PFCXON[i]
	}
}

// Counters reads the counters of all CPUs and adds them up.
func (p *Program) Counters() (sum Counters, err error) {
	var perCPU []Counters
	if err := p.maps.counts.Lookup(uint32(0), &perCPU); err != nil {
		return sum, fmt.Errorf("read counters of %s: %w", p.name, err)
	}
	for i := range perCPU {
		sum.add(&perCPU[i])
	}
	return sum, nil
}
