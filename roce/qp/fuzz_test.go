package qp

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/roce/ib"
)

// FuzzResponder feeds a responder with packets that a peer without manners sends. Nothing makes
// it panic, write where there is no right to, deliver more than was posted, or answer for ever.
// Input: for each packet one byte of PSN relative to the expected one, one of address, one of
// length, and the packet from its BTH on, behind one byte with its length.
func FuzzResponder(f *testing.F) {
	for _, name := range []string{"write", "send", "read", "atomic", "rnr", "ud_uc"} {
		seedFrom(f, "../ib/testdata/"+name+".pcap")
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, b := pair(t, func(c *Config) { c.Resources = 2 })
		library := bytes.Clone(b.library.Bytes)
		for i := range 4 {
			if err := b.PostReceive(0, ReceiveWR{Local: b.local(512*i, 300)}); err != nil {
				t.Fatal(err)
			}
		}
		completions := 0
		for len(in) > 4 {
			n := min(int(in[3])+ib.BTHLen, len(in)-4)
			frame := b.wrap(in[:3], in[4:4+n])
			in = in[4+n:]
			if p, ok := ib.Open(frame, 14, 34); ok {
				b.Receive(0, &p)
			}
			b.drain(t)
			completions += len(b.polled())
		}
		if completions > 4 {
			t.Errorf("%d completions of 4 receives", completions)
		}
		if !bytes.Equal(library, b.library.Bytes) {
			t.Error("wrote where only reading is allowed")
		}
	})
}

// wrap makes a frame of a transport packet: of this connection, near the expected PSN, and naming
// memory near the bounds of a region.
func (s *side) wrap(near, body []byte) []byte {
	b := make([]byte, 14+20+8, 600)
	b[14] = 0x45
	b = append(b, body...)
	b = append(b, make([]byte, max(0, ib.BTHLen-len(body))+ib.ICRCLen)...)
	binary.BigEndian.PutUint16(b[38:], uint16(len(b)-34))
	h := (*ib.BTH)(b[42:])
	h.SetPSN(s.resp.expected.Add(int(int8(near[0]))))
	h.SetPKey(ib.DefaultPKey)
	p, ok := ib.Open(b, 14, 34)
	if !ok {
		return b
	}
	region := s.region
	if near[1]&1 != 0 {
		region = s.library
	}
	va, n := region.VA+uint64(int8(near[1])), uint32(near[2])*8
	if near[2]&1 != 0 {
		va += uint64(len(region.Bytes))
	}
	if p.RETH != nil {
		p.RETH.SetVA(va)
		p.RETH.SetRKey(region.Key)
		p.RETH.SetLength(n)
	}
	if p.Atomic != nil {
		p.Atomic.SetVA(va)
		p.Atomic.SetRKey(region.Key)
	}
	return b
}

// drain takes all answers, which are bounded.
func (s *side) drain(t *testing.T) {
	var o ib.Outgoing
	for i := 0; s.HasResponse() || s.Pending(0); i++ {
		if i > 64 {
			t.Fatal("answers for ever")
		}
		if !s.NextResponse(&o) && !s.Next(0, 0, &o) {
			t.Fatal("said that it had a packet")
		}
	}
}

func seedFrom(f *testing.F, name string) {
	file, err := os.Open(name)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		f.Fatal(err)
	}
	var all []byte
	for {
		b, _, err := r.ReadPacketData()
		if err != nil {
			break
		}
		body := b[42 : len(b)-ib.ICRCLen]
		body = body[:min(len(body), 255+ib.BTHLen)]
		all = append(all, 0, 0, 16, byte(len(body)-ib.BTHLen))
		all = append(all, body...)
		f.Add(all[len(all)-4-len(body):])
	}
	f.Add(all)
}
