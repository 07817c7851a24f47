package pipeline

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/qos"
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

// BenchmarkBusyQueues is a frame through a port with eight busy queues, plain, with a minimum and a
// maximum rate for each queue and one for the port, with a congestion point at each, and with
// telemetry.
func BenchmarkBusyQueues(b *testing.B) {
	for _, c := range []struct {
		name   string
		change func(*Config)
	}{
		{"plain", func(*Config) {}},
		{"shaped", func(c *Config) {
			shape := &c.Ports[1].Shaper
			for q := range shape.Queues {
				shape.Queues[q] = qos.Shape{Min: unit.GbPerSecond, Max: 6 * unit.GbPerSecond}
			}
			shape.Port = qos.Shape{Max: 41 * unit.GbPerSecond}
		}},
		{"qcn", func(c *Config) {
			for q := range c.Ports[1].Queues {
				c.Ports[1].Queues[q].QCN = qos.NetFPGA()
			}
		}},
		{"telemetry", func(c *Config) {
			c.Telemetry = Telemetry{Queues: 0xff, Hops: 8, MaxFrame: 1518}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			config := testConfig(2)
			for tc := range uint8(8) {
				config.Ports[0].Classify.DSCP[tc] = tc
			}
			c.change(&config)
			benchmarkBusyQueues(b, config)
		})
	}
}

func benchmarkBusyQueues(b *testing.B, config Config) {
	const standing, length = 100, 1082
	sw := newBench(b, config)
	if err := sw.sw.MACs().AddStatic(wiretest.MACOrNumber(2).MAC(), 1); err != nil {
		b.Fatal(err)
	}
	const headers = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	for tc := range uint8(8) {
		bytes := wiretest.Packet{Src: 1, Dst: 2, DSCP: tc, ECN: wire.ECT0,
			Payload: length - headers}.Bytes()
		for range standing {
			sw.rx(0, bytes)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		sw.now += 217
		f := sw.sw.Transmit(sw.now, 1)
		f.Resize(length) // without telemetry
		sw.sw.Receive(sw.now, 0, f)
		if m := sw.sw.Transmit(sw.now, 0); m != nil {
			m.Release() // a CNM
		}
	}
	if l := sw.sw.Ledger(); l.Sent.Frames < uint64(b.N) {
		b.Fatalf("%d of %d frames came through", l.Sent.Frames, b.N)
	}
}
