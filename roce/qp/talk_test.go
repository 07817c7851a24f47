package qp

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// The conversations of two rxe, as roce/ib/testdata tells, with our machine in the place of one of
// them. What was lost was lost before it was captured, so the capture is what each end received.

// talk is one direction of requests of a capture, and what came back.
type talk struct {
	packets []said
	mtu     int
	first   ib.PSN
	key     uint32
	va      uint64 // lowest that was named
	bytes   int    // from there on
	work    []asked
}

// said is one packet.
type said struct {
	at      unit.Time
	frame   []byte
	request bool
}

// asked is one work request, as far as it is in the capture.
type asked struct {
	op      Op
	psn     ib.PSN
	packets int
	length  int
	va      uint64
	add     uint64
	payload []byte
}

// listen takes a capture apart. mtu is what the tool was told.
func listen(t *testing.T, name string, mtu int) *talk {
	t.Helper()
	c := &talk{mtu: mtu}
	var requester netip.Addr
	frames, times := capturedAt(t, name)
	byPSN := map[ib.PSN]ib.Packet{}
	for i, f := range frames {
		p := opened(t, f)
		if p.Info.Transport != ib.RC {
			continue
		}
		if !requester.IsValid() && p.Info.Request() {
			requester, c.first = sourceOf(f), p.BTH.PSN()
		}
		mine := sourceOf(f) == requester
		if mine != p.Info.Request() {
			continue // the other direction of requests
		}
		c.packets = append(c.packets, said{times[i], f, mine})
		if mine {
			byPSN[p.BTH.PSN()] = larger(byPSN[p.BTH.PSN()], p)
		}
	}
	if len(c.packets) < 8 {
		t.Fatalf("%s: %d packets", name, len(c.packets))
	}
	c.understand(byPSN)
	return c
}

// larger is that of two requests of one PSN which asks for more: the other was resumed.
func larger(a, b ib.Packet) ib.Packet {
	if a.BTH == nil || b.RETH != nil && a.RETH != nil && b.RETH.Length() > a.RETH.Length() {
		return b
	}
	return a
}

// understand finds the work requests, in the order of their PSNs.
func (c *talk) understand(byPSN map[ib.PSN]ib.Packet) {
	for psn := c.first; ; {
		p, ok := byPSN[psn]
		if !ok {
			break
		}
		a := asked{psn: psn, packets: 1}
		switch p.Info.Verb {
		case ib.Read:
			a.op, a.length = Read, int(p.RETH.Length())
			a.packets = max(1, (a.length+c.mtu-1)/c.mtu)
		case ib.Atomic:
			a.op, a.length, a.va, a.add = FetchAdd, AtomicLen, p.Atomic.VA(), p.Atomic.SwapAdd()
			c.key = p.Atomic.RKey()
		default:
			a.op = map[ib.Verb]Op{ib.Send: Send, ib.Write: Write}[p.Info.Verb]
			for end := p; ; a.packets++ {
				a.payload = append(a.payload, end.Payload...)
				if end.Info.Place.Ends() {
					break
				}
				if end, ok = byPSN[psn.Add(a.packets)]; !ok {
					return // the capture ends in the middle
				}
			}
			a.length = len(a.payload)
		}
		if p.RETH != nil {
			a.va, c.key = p.RETH.VA(), p.RETH.RKey()
		}
		c.span(a.va, a.length)
		c.work = append(c.work, a)
		psn = psn.Add(a.packets)
	}
}

// span widens the memory that the requests name.
func (c *talk) span(va uint64, n int) {
	if va == 0 {
		return
	}
	if c.va == 0 {
		c.va = va
	}
	c.bytes = max(c.bytes+int(max(c.va, va)-va), int(max(c.va, va)-c.va)+n)
	c.va = min(c.va, va)
}

// ends makes both sides; which of them speaks for itself is the test's choice.
func (c *talk) ends(t *testing.T) (a, b *side) {
	t.Helper()
	change := func(cfg *Config) {
		cfg.QPN, cfg.MTU = opened(t, c.packets[0].frame).BTH.DestQP(), c.mtu
		cfg.SendQueue, cfg.ReceiveQueue, cfg.ReadDepth, cfg.Resources = 128, 128, 128, 128
	}
	a, b = newSide(t, 0, change), newSide(t, 1, change)
	connect(t, a, b, c.first, 7)
	for _, s := range c.packets {
		h := ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.9.0.2"),
			Dest: netip.MustParseAddr("10.9.0.1"), DestQP: opened(t, s.frame).BTH.DestQP()})
		if s.request {
			a.headers = h
		} else {
			b.headers = h
		}
	}
	b.region.Bytes = make([]byte, max(c.bytes, regionSize))
	b.adopt(c.key, c.va)
	c.remember(t, b)
	return a, b
}

// remember fills the memory that the requests name with what the answers say was there.
func (c *talk) remember(t *testing.T, b *side) {
	t.Helper()
	added := map[uint64]uint64{} // by address, before the request
	for _, w := range c.work {
		for _, s := range c.packets {
			p := opened(t, s.frame)
			i := p.BTH.PSN().Sub(w.psn)
			if s.request || i < 0 || i >= w.packets {
				continue
			}
			at := b.region.Bytes[w.va-c.va:]
			if p.Info.Verb == ib.ReadReply {
				copy(at[i*c.mtu:], p.Payload)
			} else if p.AtomicAck != nil {
				binary.NativeEndian.PutUint64(at, p.AtomicAck.Original()-added[w.va])
			}
		}
		added[w.va] += w.add
	}
}
