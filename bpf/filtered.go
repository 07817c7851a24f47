package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// The words of the map; switch.c has the layout.
const (
	filteredFrames = 0
	filteredBytes  = filteredFrames + classify.Classes
	filteredRead   = filteredBytes + classify.Classes + 1 // behind the number of records written
	filteredDrops  = filteredRead + 1
	filteredWords  = filteredDrops + maxDrops
)

// maxDrops is how many records there is room for: one for each frame on its way.
const maxDrops = clock.LinkFrames

// What is where in a record, from the lowest bit on: check, length, class, turn of the ring.
const (
	dropLengthAt = clock.CheckBits
	dropClassAt  = dropLengthAt + 16
	dropTurnAt   = dropClassAt + 3
)

// record is a record of a drop.
type record uint64

func (r record) field(from, to int) uint64 { return uint64(r) << (64 - to) >> (64 - to + from) }

// Drop is a data frame that was dropped by the watchdog's verdict.
type Drop struct {
	Class uint8
	Check clock.Check
	Bytes unit.Bytes
}

// Filtered is how many data frames of a traffic class were dropped by the watchdog's verdict since
// the program was loaded, without those that Dropped shows. It reads memory that the program
// writes, and calls nobody. The length is of the whole frame as it arrived.
func (p *Program) Filtered(tc uint8) (n dataplane.Count) {
	if p.drops == nil || tc >= classify.Classes {
		return n
	}
	n.Frames = p.drops.At(filteredFrames + int(tc)).Load()
	n.Bytes = p.drops.At(filteredBytes + int(tc)).Load()
	return n
}

// Dropped is the oldest of the dropped frames of the kinds in PortConfig.Told, in the order in
// which they came. It is the same one until NextDrop; false if there is none. It calls nobody
// either.
func (p *Program) Dropped() (d Drop, ok bool) {
	if p.drops == nil {
		return d, false
	}
	n := p.drops.At(filteredRead).Load()
	r := record(p.drops.At(filteredDrops + int(n%maxDrops)).Load())
	if turn := r.field(dropTurnAt, 64); turn != (n/maxDrops+1)%(1<<(64-dropTurnAt)) {
		return d, false
	}
	return Drop{Class: uint8(r.field(dropClassAt, dropTurnAt)),
		Check: clock.Check(r.field(0, dropLengthAt)),
		Bytes: unit.Bytes(r.field(dropLengthAt, dropClassAt))}, true
}

// NextDrop goes on to the next of the frames that Dropped shows. There must be one.
func (p *Program) NextDrop() { p.drops.At(filteredRead).Add(1) }

// mapDrops maps the value of m and closes m, which the program and the mapping keep alive.
func (p *Program) mapDrops(m *ebpf.Map) (err error) {
	if m == nil {
		return nil
	}
	defer m.Close()
	p.drops, err = shm.Map(m.FD(), "the drops of "+p.name, filteredWords)
	return err
}

func (p *Program) unmapDrops() error {
	if p.drops == nil {
		return nil
	}
	words := p.drops
	p.drops = nil
	if err := words.Close(); err != nil {
		return fmt.Errorf("unmap the drops of %s: %w", p.name, err)
	}
	return nil
}
