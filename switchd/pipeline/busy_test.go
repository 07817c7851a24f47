package pipeline

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// BenchmarkBusySwitch is a frame through a switch in which all eight queues of every port hold
// frames: the scheduler has a choice, and what it chooses is out of the cache.
func BenchmarkBusySwitch(b *testing.B) {
	for _, ports := range []int{2, 32, 128} {
		b.Run(fmt.Sprintf("ports=%d", ports), func(b *testing.B) { benchmarkBusySwitch(b, ports) })
	}
}

func benchmarkBusySwitch(b *testing.B, ports int) {
	const standing = 4 // frames in each queue
	cfg := testConfig(ports)
	for i := range cfg.Ports {
		for tc := range uint8(8) {
			cfg.Ports[i].Classify.DSCP[tc] = tc
		}
	}
	sw := newBenchOf(b, cfg, ports*8*standing)
	for i := range ports {
		mac := wiretest.MACOrNumber(i).MAC()
		if err := sw.sw.MACs().AddStatic(mac, dataplane.PortID(i)); err != nil {
			b.Fatal(err)
		}
	}
	for i := range ports {
		from, to := wiretest.MACOrNumber(i), wiretest.MACOrNumber((i+1)%ports)
		for n := range 8 * standing {
			f := sw.pool.Get()
			f.Set(wiretest.Packet{Src: from, Dst: to, DSCP: uint8(n % 8), ECN: wire.ECT0,
				Payload: 1000}.Bytes())
			f.Meta.Class = cfg.Ports[i].Classify.Classify(f.Bytes())
			sw.sw.Receive(sw.now, dataplane.PortID(i), f)
		}
	}
	b.ReportAllocs()
	in := 0
	for b.Loop() {
		out := in + 1
		if out == ports {
			out = 0
		}
		sw.now += 217
		f := sw.sw.Transmit(sw.now, dataplane.PortID(out))
		sw.sw.Receive(sw.now, dataplane.PortID(in), f)
		in = out
	}
	if l := sw.sw.Ledger(); l.Sent.Frames != uint64(b.N) || l.DroppedTotal().Frames != 0 {
		b.Fatalf("%d of %d frames came through", l.Sent.Frames, b.N)
	}
}
