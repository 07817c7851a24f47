package pipeline

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

const us = unit.Time(1000)

// maxFrame is the longest frame that a driver can receive.
const maxFrame = 2048

// testConfig is the switch of [DCQCN] with some ports: classes 3 and 4 lossless, all others lossy.
func testConfig(ports int) Config {
	c := Config{Pools: []mmu.Pool{{Name: "ingress", Size: 12 * unit.MB}}, Seed: 1}
	for i := range ports {
		p := Port{Rate: 40 * unit.GbPerSecond, MAC: wiretest.MACOrNumber(100 + i).MAC(),
			PFCSend: pfc.SetOf(3, 4), PFCObey: pfc.SetOf(3, 4), Map: qos.Identity(),
			Scheduler: qos.DWRRConfig{Weight: [8]int{1, 1, 1, 1, 1, 1, 1, 1}, MTU: 1500}}
		p.Classify.DSCP = [64]uint8{3: 3, 4: 4, 26: 3, 48: 6}
		for g := range p.Groups {
			p.Groups[g] = mmu.Profile{Limit: mmu.Alpha(1, 1)}
		}
		for _, g := range []int{3, 4} {
			p.Groups[g] = mmu.Profile{Limit: mmu.Alpha(1, 1), Lossless: true, Headroom: 22400,
				XONOffset: 3000}
			p.Queues[g].WRED.Mark = qos.Curve{Kmin: 5 * unit.KB, Kmax: 200 * unit.KB, Pmax: 0.01}
		}
		c.Ports = append(c.Ports, p)
	}
	return c
}

// bench is a switch with its pool and the time. Everything goes through the monitor of the
// conformance tests.
type bench struct {
	t    testing.TB
	sw   *Switch
	dev  *conform.Monitor
	pool *frame.Pool
	now  unit.Time
	node *sim.Node // where a net has it
}

func newBench(t testing.TB, c Config) *bench {
	t.Helper()
	return newBenchOf(t, c, 4096)
}

// newBenchOf has so many frames.
func newBenchOf(t testing.TB, c Config, frames int) *bench {
	t.Helper()
	b := &bench{t: t, pool: frame.NewPool(frames, maxFrame)}
	sw, err := New(c, b.pool)
	if err != nil {
		t.Fatal(err)
	}
	b.sw, b.dev = sw, conform.Watch(sw, len(c.Ports))
	return b
}

// rx lets a frame arrive; a frame for which the pool has nothing is lost before the switch.
func (b *bench) rx(port dataplane.PortID, bytes []byte) {
	b.t.Helper()
	f := b.pool.Get()
	if f == nil || !f.Set(bytes) {
		b.t.Fatal("no frame for the test")
	}
	f.Meta.Arrived, f.Meta.Port = b.now, port
	b.dev.Receive(b.now, port, f)
}

// tx asks for a frame like a driver whose wire is free, and returns its bytes, or nil.
func (b *bench) tx(port dataplane.PortID) []byte {
	b.t.Helper()
	if !b.sw.Ready().Has(port) {
		if f := b.sw.Transmit(b.now, port); f != nil {
			b.t.Fatalf("port %d sends, but was not in Ready", port)
		}
		return nil
	}
	f := b.dev.Transmit(b.now, port)
	if f == nil {
		b.sw.Ready().Remove(port)
		return nil
	}
	bytes := append([]byte(nil), f.Bytes()...)
	f.Release()
	return bytes
}

// wait lets time pass, with the wakes that fall into it.
func (b *bench) wait(d unit.Time) {
	b.t.Helper()
	end := b.now + d
	for last := unit.Time(-1); b.sw.NextWake() <= end; {
		b.now = max(b.now, b.sw.NextWake())
		if b.now == last {
			b.t.Fatalf("woken twice at %v", b.now)
		}
		last = b.now
		b.dev.Wake(b.now)
	}
	b.now = end
}

// check looks at the ledger, and at what the monitor found.
func (b *bench) check() {
	b.t.Helper()
	if len(b.dev.Faults) > 0 {
		b.t.Fatal(b.dev.Faults)
	}
	l := b.sw.Ledger()
	if err := l.Check(); err != nil {
		b.t.Fatal(err)
	}
}

// data is a RoCE frame of n bytes in class 3.
func data(src, dst wiretest.MACOrNumber, n int) []byte {
	const headers = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	return wiretest.Packet{Src: src, Dst: dst, DSCP: 26, ECN: wire.ECT0,
		Payload: n - headers}.Bytes()
}
