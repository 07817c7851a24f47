package pipeline

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// traffic is a switch in which everybody is known, and a frame from each port to the next.
func traffic(t testing.TB, ports int) (*bench, [][]byte) {
	b := newBench(t, testConfig(ports))
	frames := make([][]byte, ports)
	for i := range ports {
		mac := wiretest.MACOrNumber(i).MAC()
		if err := b.sw.MACs().AddStatic(mac, dataplane.PortID(i)); err != nil {
			t.Fatal(err)
		}
		frames[i] = data(wiretest.MACOrNumber(i), wiretest.MACOrNumber((i+1)%ports), 1082)
	}
	return b, frames
}

// through takes one frame through the switch: forward, admit, mark, store, schedule.
func through(b *bench, f *frame.Frame, in, out dataplane.PortID) *frame.Frame {
	b.now += 217
	b.sw.Receive(b.now, in, f)
	return b.sw.Transmit(b.now, out)
}

// BenchmarkPipeline is a frame from Receive to Transmit, once as it comes from the XDP program,
// which has classified it, and once classified here.
func BenchmarkPipeline(b *testing.B) {
	for _, ports := range []int{2, 5, 32, 128} {
		for _, by := range []string{"xdp", "go"} {
			b.Run(fmt.Sprintf("ports=%d/classified=%s", ports, by), func(b *testing.B) {
				benchmarkPipeline(b, ports, by == "xdp")
			})
		}
	}
}

func benchmarkPipeline(b *testing.B, ports int, byXDP bool) {
	sw, bytes := traffic(b, ports)
	frames := make([]*frame.Frame, ports)
	classes := make([]frame.Class, ports)
	for i := range frames {
		frames[i] = sw.pool.Get()
		frames[i].Set(bytes[i])
		if byXDP {
			classes[i] = sw.sw.ports[i].classify.Classify(bytes[i])
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		out := i + 1
		if out == ports {
			out = 0
		}
		frames[i].Meta.Class = classes[i]
		frames[i] = through(sw, frames[i], dataplane.PortID(i), dataplane.PortID(out))
		i = out
	}
	if l := sw.sw.Ledger(); l.Sent.Frames != uint64(b.N) {
		b.Fatalf("%d of %d frames came through", l.Sent.Frames, b.N)
	}
}

// BenchmarkStandingQueue is the same at the bottleneck of an incast: four senders, one receiver and
// 1,000 frames in its queue, so that every frame is marked, and out of the cache when it leaves.
func BenchmarkStandingQueue(b *testing.B) {
	const senders, standing = 4, 1000
	sw, _ := traffic(b, senders+1)
	bytes := data(1, senders, 1082)
	class := sw.sw.ports[0].classify.Classify(bytes)
	for i := range standing {
		f := sw.pool.Get()
		f.Set(bytes)
		f.Meta.Class = class
		sw.sw.Receive(sw.now, dataplane.PortID(i%senders), f)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		sw.now += 217
		f := sw.sw.Transmit(sw.now, senders)
		f.Meta.Class = class
		sw.sw.Receive(sw.now, dataplane.PortID(i%senders), f)
		i++
	}
	if _, marked := sw.sw.QueueCounts(senders, 3); marked.Frames < uint64(b.N) {
		b.Fatalf("%d of %d frames marked", marked.Frames, b.N)
	}
}

// BenchmarkBusyQueues is a frame through a switch in which all eight queues of every port hold
// frames: the scheduler has a choice, and what it chooses is out of the cache.
func BenchmarkBusyQueues(b *testing.B) {
	for _, ports := range []int{2, 32, 128} {
		b.Run(fmt.Sprintf("ports=%d", ports), func(b *testing.B) { benchmarkBusyQueues(b, ports) })
	}
}

func benchmarkBusyQueues(b *testing.B, ports int) {
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

// TestDataPathAllocatesNothing covers data, floods, pauses in both directions, links and
// snapshots.
func TestDataPathAllocatesNothing(t *testing.T) {
	b, frames := traffic(t, 5)
	flood := data(1, 0xffff, 1082)
	pause := wiretest.PFC(9, map[uint8]uint16{3: 100})
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	inject := func(port dataplane.PortID, bytes []byte) {
		f := b.pool.Get()
		f.Set(bytes)
		b.sw.Receive(b.now, port, f)
	}
	if n := testing.AllocsPerRun(200, func() {
		inject(0, frames[0])
		inject(0, flood)
		inject(1, pause)
		for port := range dataplane.PortID(5) {
			for f := b.sw.Transmit(b.now, port); f != nil; f = b.sw.Transmit(b.now, port) {
				f.Release()
			}
		}
		b.wait(5 * us)
		b.sw.SetLink(b.now, 2, false)
		b.sw.SetLink(b.now, 2, true)
		b.sw.Snapshot(b.now, &s)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	b.check()
}
