package qp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// The captures are those of roce/ib: Linux rxe talking to itself, as its README tells.

// captured returns the packets of a capture, each a copy.
func captured(t *testing.T, name string) [][]byte {
	t.Helper()
	frames, _ := capturedAt(t, name)
	return frames
}

// capturedAt returns when they were captured too, from the first on.
func capturedAt(t *testing.T, name string) (frames [][]byte, times []unit.Time) {
	t.Helper()
	return readCapture(t, name)
}

func readCapture(t fataler, name string) (frames [][]byte, times []unit.Time) {
	t.Helper()
	f, err := os.Open("../ib/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var start time.Time
	for {
		b, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return frames, times
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(frames) == 0 {
			start = info.Timestamp
		}
		frames, times = append(frames, b), append(times, unit.Time(info.Timestamp.Sub(start)))
	}
}

// sourceOf is who sent a packet.
func sourceOf(b []byte) netip.Addr {
	if l4Of(b) == wire.EthernetLen+wire.IPv4Len {
		return netip.AddrFrom4([4]byte(b[26:30]))
	}
	return netip.AddrFrom16([16]byte(b[22:38]))
}

// transport is what a QP decides of a packet: BTH to the end of the padding.
func transport(b []byte) []byte { return b[l4Of(b)+wire.UDPLen : len(b)-ib.ICRCLen] }

// adopt gives the side's region the key and address that the capture has.
func (s *side) adopt(key uint32, va uint64) {
	s.mem.Deregister(s.region)
	s.region.Key, s.region.VA, s.region.gone = key, va, false
	s.mem.byKey[key] = s.region
}

// rxePair is a pair at path MTU 1024 whose QP numbers and first PSN are the capture's.
func rxePair(t *testing.T, first []byte) (a, b *side) {
	t.Helper()
	p := opened(t, first)
	mtu := func(c *Config) { c.QPN, c.MTU = p.BTH.DestQP(), 1024 }
	a, b = newSide(t, 0, mtu), newSide(t, 1, mtu)
	connect(t, a, b, p.BTH.PSN(), 7)
	a.headers = ib.NewHeaders(ib.Endpoints{Source: netip.MustParseAddr("10.9.0.2"),
		Dest: netip.MustParseAddr("10.9.0.1"), DestQP: p.BTH.DestQP()})
	b.headers = a.headers
	return a, b
}

// IBTA 9.4.4. To rxe's READ requests our answers are rxe's, but for the three that the excerpt
// leaves out; and the requests of ours for the same work are rxe's.
func TestReadIsRxes(t *testing.T) {
	frames := captured(t, "read.pcap")
	a, b := rxePair(t, frames[0])
	request := opened(t, frames[0])
	va, key := request.RETH.VA(), request.RETH.RKey()
	b.adopt(key, va)
	for i, at := range map[int]int{1: 0, 3: 1024, 4: 2048, 5: 3072} {
		p := opened(t, frames[i])
		copy(b.region.Bytes[at:], p.Payload)
	}
	for _, i := range []int{0, 2} {
		a.post(t, WR{Op: Read, Local: a.local(0, 4096), Remote: Remote{VA: va, RKey: key}})
		if got := a.next(0); !bytes.Equal(transport(got), transport(frames[i])) {
			t.Errorf("request\n got %x\nwant %x", transport(got), transport(frames[i]))
		}
		b.receive(t, 0, frames[i])
	}
	for i, want := range []int{1, 3, 4, 5, 6, 0, 0, 7} {
		got := b.next(0)
		if want != 0 && !bytes.Equal(transport(got), transport(frames[want])) {
			t.Errorf("answer %d\n got %x\nwant %x", i, transport(got), transport(frames[want]))
		}
		a.receive(t, 0, got)
	}
	wantStatus(t, a.polled(), Success, Success)
	sameBytes(t, "fetched", a.region.Bytes[:4096], b.region.Bytes[:4096])
}

// IBTA 9.4.5. The same for FETCH_ADD.
func TestFetchAddIsRxes(t *testing.T) {
	frames := captured(t, "atomic.pcap")
	a, b := rxePair(t, frames[0])
	va, key := opened(t, frames[0]).Atomic.VA(), opened(t, frames[0]).Atomic.RKey()
	b.adopt(key, va)
	for i := range 3 {
		at, original := 64*i, opened(t, frames[3+i]).AtomicAck.Original()
		binary.NativeEndian.PutUint64(b.region.Bytes[at:], original)
		a.post(t, WR{Op: FetchAdd, Local: a.local(8*i, AtomicLen),
			Remote: Remote{VA: va + uint64(at), RKey: key},
			Atomic: ib.AtomicOperands{SwapAdd: 1}})
		if got := a.next(0); !bytes.Equal(transport(got), transport(frames[i])) {
			t.Errorf("request\n got %x\nwant %x", transport(got), transport(frames[i]))
		}
		b.receive(t, 0, frames[i])
		if sum := binary.NativeEndian.Uint64(b.region.Bytes[at:]); sum != original+1 {
			t.Errorf("memory has %d, want %d", sum, original+1)
		}
	}
	for i := range 3 {
		got := b.answer()
		if !bytes.Equal(transport(got), transport(frames[3+i])) {
			t.Errorf("answer\n got %x\nwant %x", transport(got), transport(frames[3+i]))
		}
		a.receive(t, 0, got)
	}
	wantStatus(t, a.polled(), Success, Success, Success)
}
