package bpf

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
)

// Where the bytes of class 0 are, and the count of FilteredTold; switch.c has the layout.
const (
	filteredBytesAt = 8 * classify.Classes
	filteredToldAt  = 2 * filteredBytesAt
)

// Filtered is how many data frames of a traffic class were dropped by the watchdog's verdict since
// the program was loaded. It reads memory that the program writes, and calls nobody. The length is
// of the whole frame as it arrived.
func (p *Program) Filtered(tc uint8) (n dataplane.Count) {
	if p.seen == nil || tc >= classify.Classes {
		return n
	}
	// Whole words, so that each is read in one go. What is counted in between is seen next time.
	n.Frames = binary.NativeEndian.Uint64(p.seen[8*int(tc):])
	n.Bytes = binary.NativeEndian.Uint64(p.seen[filteredBytesAt+8*int(tc):])
	return n
}

// FilteredTold is how many of all of them were of the kinds in PortConfig.Told.
func (p *Program) FilteredTold() uint64 {
	if p.seen == nil {
		return 0
	}
	return binary.NativeEndian.Uint64(p.seen[filteredToldAt:])
}

// mapFiltered maps the value of m and closes m, which the program and the mapping keep alive.
func (p *Program) mapFiltered(m *ebpf.Map) error {
	if m == nil {
		return nil
	}
	defer m.Close()
	mem, err := unix.Mmap(m.FD(), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map the drop counters of %s: %w", p.name, err)
	}
	p.seen = mem
	return nil
}

func (p *Program) unmapFiltered() error {
	if p.seen == nil {
		return nil
	}
	mem := p.seen
	p.seen = nil
	if err := unix.Munmap(mem); err != nil {
		return fmt.Errorf("unmap the drop counters of %s: %w", p.name, err)
	}
	return nil
}
