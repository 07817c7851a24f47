package nic

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// MTTConfig is the cache of address translations that makes a slow receiver: the NIC's Memory
// Translation Table has few entries of its own, the rest is in the host's memory, and the receive
// pipeline waits while one is fetched. [RDMA at scale] 4.4
//
// What SENDs and WRITEs place is translated. We deviate: the answers to our own READs are not.
type MTTConfig struct {
	Entries  int           // 2048 in the paper; 0: translation costs nothing and is not counted
	PageSize unit.Bytes    // what an entry translates: 4 KiB, or the paper's remedy of 2 MiB
	MissCost time.Duration // the paper gives none
}

// The paper's sizes: 2K entries of 4 KB are 8 MB.
const (
	PaperMTTEntries            = 2048
	SmallPage       unit.Bytes = 4 << 10
	LargePage       unit.Bytes = 2 << 20
)

const maxMTTEntries = 1 << 20

func (c *MTTConfig) validate(buffered bool) (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("receive.mtt."+format, args...))
		}
	}
	must(c.Entries >= 0 && c.Entries <= maxMTTEntries, "entries: %d is not in 0..%d", c.Entries,
		maxMTTEntries)
	must(c.Entries == 0 || c.PageSize >= SmallPage && c.PageSize&(c.PageSize-1) == 0,
		"page_size: %v is not a power of two from %v up", c.PageSize, SmallPage)
	must(c.MissCost >= 0 && c.MissCost <= maxReceiveTime, "miss_cost: %v is not in 0..%v",
		c.MissCost, maxReceiveTime)
	must(c.Entries == 0 || buffered, "entries: receive.buffer is not set, where packets could wait")
	return faults
}

// page is what an entry translates. Each region has pages of its own.
type page struct {
	key    uint32
	number uint64
}

// mtt is a cache of a fixed number of pages, of which the least recently used goes first.
type mtt struct {
	slots        map[page]int32
	entries      []entry
	newest       int32
	oldest       int32
	hits, misses uint64
}

type entry struct {
	page         page
	newer, older int32
}

const noEntry = -1

func newMTT(entries int) mtt {
	return mtt{slots: make(map[page]int32, entries), entries: make([]entry, 0, entries),
		newest: noEntry, oldest: noEntry}
}

// use looks a page up, and puts it in if it is not there. It reports whether it was.
func (m *mtt) use(p page) (hit bool) {
	i, hit := m.slots[p]
	switch {
	case hit:
		m.hits++
		m.unlink(i)
	case len(m.entries) < cap(m.entries):
		m.misses++
		i = int32(len(m.entries))
		m.entries = append(m.entries, entry{})
	default:
		m.misses++
		i = m.oldest
		m.unlink(i)
		delete(m.slots, m.entries[i].page)
	}
	if !hit {
		m.slots[p] = i
	}
	m.entries[i] = entry{page: p, newer: noEntry, older: m.newest}
	if m.newest != noEntry {
		m.entries[m.newest].newer = i
	} else {
		m.oldest = i
	}
	m.newest = i
	return hit
}

func (m *mtt) unlink(i int32) {
	e := &m.entries[i]
	if e.newer != noEntry {
		m.entries[e.newer].older = e.older
	} else {
		m.newest = e.older
	}
	if e.older != noEntry {
		m.entries[e.older].newer = e.newer
	} else {
		m.oldest = e.newer
	}
}

// translate is how long the pipeline waits for the translations that a frame needs.
func (n *NIC) translate(f *frame.Frame) (wait time.Duration) {
	r := &n.receiving
	region, off, size, ok := n.touches(f)
	if !ok {
		return 0
	}
	small := uint64(r.cfg.MTT.PageSize)
	for number := off / small; number <= (off+uint64(size)-1)/small; number++ {
		if !r.mtt.use(page{region.Key, number}) {
			wait += r.cfg.MTT.MissCost
		}
	}
	return wait
}

// touches finds the memory that a frame is for.
func (n *NIC) touches(f *frame.Frame) (region *qp.Region, off uint64, size int, ok bool) {
	class := &f.Meta.Class
	if class.Kind != frame.RoCE4 && class.Kind != frame.RoCE6 {
		return nil, 0, 0, false
	}
	var p ib.Packet
	if !takeApart(f, &p) {
		return nil, 0, 0, false
	}
	source, _ := addresses(f.Head(), class)
	c := n.conn(p.BTH.DestQP())
	if c == nil || source != c.remote.IP {
		return nil, 0, 0, false
	}
	return c.qp.Touches(&p)
}
