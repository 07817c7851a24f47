package pipeline

import (
	"bytes"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/qos"
)

// FuzzSampledFrames has a congestion point that samples every frame of any bytes, and telemetry for
// all. What leaves is what came in, with records behind it or not, or a message about it that can
// be read; and the account balances.
func FuzzSampledFrames(f *testing.F) {
	for i, seed := range fuzzSeeds() {
		f.Add(seed, uint8(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, headers uint8) {
		const ports = 2
		c := testConfig(ports)
		c.Pools[0].Size, c.MACs.Max = unit.MB, 16
		c.Telemetry = Telemetry{Queues: 0xff, Hops: 2, MaxFrame: maxFrame}
		for i := range c.Ports {
			for q := range c.Ports[i].Queues {
				c.Ports[i].Queues[q].QCN = qos.QCNConfig{Qeq: 1, W: 2, Base: 1,
					Headers: int(headers % 65)}
			}
		}
		b := newBenchOf(t, c, 2*ports)
		if len(in) > maxFrame {
			return
		}
		b.rx(0, in)
		for port := range dataplane.PortID(ports) {
			for out := b.tx(port); out != nil; out = b.tx(port) {
				if !bytes.HasPrefix(out, in) && !isCNM(out) {
					t.Errorf("port %d sends % x", port, out)
				}
			}
		}
		b.check()
		if n := b.pool.InUse() + b.sw.cnms.InUse(); n != 0 {
			t.Errorf("%d frames stay behind", n)
		}
	})
}

// isCNM reports whether a frame is a CNM, behind any tags, that can be read.
func isCNM(f []byte) bool {
	eth, ok := wire.AsEthernet(f)
	if !ok {
		return false
	}
	at, next := wire.EthernetLen, eth.Type()
	for next == wire.TypeVLAN || next == wire.TypeSTag || next == wire.TypeCNTag {
		tag, ok := wire.AsTag(f[at:])
		if !ok {
			return false
		}
		at, next = at+wire.TagLen, tag.Type()
	}
	_, ok = wire.AsCNM(f[at:])
	return ok && next == wire.TypeCNM
}
