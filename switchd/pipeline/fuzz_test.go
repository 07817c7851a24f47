package pipeline

import (
	"bytes"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// fuzzSeeds are frames of every kind: those of two stations, what controls a link, and damage.
func fuzzSeeds() [][]byte {
	roce := data(1, 2, 1082)
	pause := wiretest.PFC(1, map[uint8]uint16{3: 1})
	pause[wire.EthernetLen+1] = 1 // opcode PAUSE
	cnm := append([]byte(nil), roce[:64]...)
	cnm[12], cnm[13] = 0x22, 0xe7
	reserved := append([]byte(nil), roce...)
	copy(reserved, []byte{0x01, 0x80, 0xc2, 0, 0, 0x0e})
	vlan := []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 4, VID: 5}}
	return [][]byte{
		nil, roce, roce[:len(roce)-1], roce[:20], roce[:wire.EthernetLen], data(2, 1, 200),
		data(1, 0xffff, 300), reserved, pause, cnm,
		wiretest.PFC(1, map[uint8]uint16{3: 0xffff, 4: 0}),
		wiretest.PFC(1, map[uint8]uint16{0: 1, 7: 1})[:wire.EthernetLen+3],
		wiretest.Packet{Src: 2, Dst: 1, V6: true, DSCP: 26, ECN: wire.CE, Payload: 100}.Bytes(),
		wiretest.Packet{Src: 1, Dst: 2, Tags: vlan, Options: 40, Payload: 9}.Bytes(),
		wiretest.Packet{Src: 1, Dst: 2, More: true, Proto: wire.ProtoTCP, Payload: 1}.Bytes(),
	}
}

// FuzzSwitch sends two frames of any bytes into a switch, through one port or two. Nothing panics,
// the account balances, what leaves is what came in, and nothing stays behind when all pauses are
// over.
func FuzzSwitch(f *testing.F) {
	for i, seed := range fuzzSeeds() {
		f.Add(seed, data(2, 1, 100), uint8(i))
		f.Add(data(1, 2, 100), seed, uint8(4*i))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, how uint8) {
		const ports = 3
		c := testConfig(ports)
		c.Pools[0].Size, c.MACs.Max = 1*unit.MB, 16 // a small switch is made quickly
		if how&0x80 != 0 {
			for i := range c.Ports {
				c.Ports[i].Classify.Trust = classify.TrustPCP
			}
		}
		b := newBenchOf(t, c, 2*ports)
		in := [][]byte{first, second}
		for i, port := range []uint8{how % ports, how >> 2 % ports} {
			if len(in[i]) <= maxFrame {
				b.rx(dataplane.PortID(port), in[i])
				b.check()
				b.wait(us)
			}
		}
		b.drain(in)
		b.wait(1000 * us) // The longest pause at 40 Gb/s is 839 us.
		b.drain(in)
		if n := b.pool.InUse() + b.sw.pauses.InUse(); n != 0 {
			t.Errorf("%d frames stay behind", n)
		}
		if l := b.sw.Ledger(); l.Buffered.Frames != 0 || l.Dropped[frame.NoReason].Frames != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// drain takes out all that may be sent now. No queue is long enough for a mark.
func (b *bench) drain(in [][]byte) {
	b.t.Helper()
	for port := range b.sw.ports {
		for out := b.tx(dataplane.PortID(port)); out != nil; out = b.tx(dataplane.PortID(port)) {
			if !bytes.Equal(out, in[0]) && !bytes.Equal(out, in[1]) {
				b.t.Errorf("port %d sends what did not come in: % x", port, out)
			}
		}
	}
	b.check()
}
