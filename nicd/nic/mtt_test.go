package nic

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/roce/qp"
)

// The cache against a list in which the page used last stands last.
func TestMTTAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6).Draw(t, "entries")
		m := newMTT(size)
		var list []page
		var hits, misses uint64
		for range rapid.IntRange(0, 200).Draw(t, "uses") {
			p := page{rapid.Uint32Range(0, 1).Draw(t, "key"),
				rapid.Uint64Range(0, 5).Draw(t, "page")}
			at := slices.Index(list, p)
			if at >= 0 {
				hits++
				list = slices.Delete(list, at, at+1)
			} else if misses++; len(list) == size {
				list = list[1:]
			}
			list = append(list, p)
			if hit := m.use(p); hit != (at >= 0) {
				t.Fatalf("page %+v: hit %v, the list had it at %d", p, hit, at)
			}
		}
		if m.hits != hits || m.misses != misses || len(m.slots) != len(list) {
			t.Fatalf("%d hits, %d misses, %d pages; want %d, %d, %d", m.hits, m.misses,
				len(m.slots), hits, misses, len(list))
		}
	})
}

// [RDMA at scale] 4.4: "2K MTT entries can only handle 8MB". In turn, 8 MB always hit when they
// are in, and one page more never does, because the one that is next was used least recently.
func TestPaperMTT(t *testing.T) {
	for pages, hit := range map[uint64]bool{PaperMTTEntries: true, PaperMTTEntries + 1: false} {
		m := newMTT(PaperMTTEntries)
		for range 3 {
			for number := range pages {
				m.use(page{1, number})
			}
		}
		if want := 2 * pages; hit && (m.hits != want || m.misses != pages) ||
			!hit && (m.hits != 0 || m.misses != 3*pages) {
			t.Errorf("%d pages: %d hits, %d misses", pages, m.hits, m.misses)
		}
	}
	if m := PaperMTTEntries * SmallPage; m != 8<<20 {
		t.Errorf("%v are translated", m)
	}
}

// The pipeline waits for each translation that a packet needs and does not find: the first packet
// of a page, and one that lies across two of them. A SEND goes where its receive says.
func TestTranslation(t *testing.T) {
	const cost = 10 * time.Microsecond
	a, b, _ := newPeers(t, func(c *Config) {
		slow(c)
		c.Receive.MTT = MTTConfig{Entries: 8, PageSize: SmallPage, MissCost: cost}
	})
	wr := a.request(b, 2048)
	wr.Remote.VA += 4096 - 512 // the first packet lies across a border, the second behind it
	if err := a.Post(0, a.local.QPN, wr); err != nil {
		t.Fatal(err)
	}
	send := qp.WR{Op: qp.Send, Local: wr.Local}
	send.Local.Length = 100
	if err := b.PostReceive(0, b.local.QPN, qp.ReceiveWR{Local: qp.Local{Key: b.region.Key,
		VA: b.region.VA + 5*4096, Length: 100}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Post(0, a.local.QPN, send); err != nil {
		t.Fatal(err)
	}
	now := a.now
	for _, want := range []time.Duration{2 * cost, 0, cost} {
		f := a.send(now)
		for f == nil {
			now = a.NextWake()
			a.Wake(now)
			f = a.send(now)
		}
		b.give(now, f)
		if got := b.NextWake().Sub(now); got != want+time.Microsecond {
			t.Errorf("served in %v, want %v", got, want+time.Microsecond)
		}
		now = b.NextWake()
		b.Wake(now)
	}
	if v := b.Receiving(); v.MTTHits != 1 || v.MTTMisses != 3 || v.Served != 3 {
		t.Errorf("%+v", v)
	}
	b.balanced(t)
}

// A table that is full takes new pages without memory.
func BenchmarkMTT(b *testing.B) {
	m := newMTT(PaperMTTEntries)
	b.ReportAllocs()
	for i := range uint64(b.N) {
		m.use(page{1, i % (2 * PaperMTTEntries)})
	}
}
