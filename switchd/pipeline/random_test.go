package pipeline

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// tightConfig is a switch whose every limit is reached soon.
func tightConfig(t *rapid.T, ports int) Config {
	c := testConfig(ports)
	c.Pools[0].Size = 150 * unit.KB
	c.Pools[0].SharedHeadroom = rapid.SampledFrom([]unit.Bytes{0, 0, 9000}).Draw(t, "headroom")
	c.Cell = 208
	drawPools(t, &c)
	for i := range c.Ports {
		p := &c.Ports[i]
		for g := range p.Groups {
			if p.Groups[g].Lossless {
				p.Groups[g].Headroom = 4000
			}
		}
		p.Queues[0].WRED = qos.WREDConfig{Drop: qos.Curve{Kmax: 9000, Pmax: 0.5}, At: qos.AtDequeue}
		p.Queues[1].Buffer.Max = 5000
		p.Queues[3].WRED = qos.WREDConfig{Mark: qos.Curve{Kmin: 1000, Kmax: 9000, Pmax: 0.5},
			At: rapid.SampledFrom([]qos.Point{qos.AtEnqueue, qos.AtDequeue}).Draw(t, "at")}
		p.Watchdog = pfc.WatchdogConfig{Poll: 50 * time.Microsecond,
			Detection: 100 * time.Microsecond, Restoration: 100 * time.Microsecond,
			Action: pfc.Action(rapid.IntRange(0, int(pfc.Alert)).Draw(t, "action")),
			Rule:   pfc.Rule(rapid.IntRange(0, 1).Draw(t, "rule"))}
		p.PauseDelay = time.Duration(rapid.SampledFrom([]int{0, 1511}).Draw(t, "delay"))
		p.Scheduler.Strict = qos.QueueSet(rapid.Uint8().Draw(t, "strict"))
		p.Shaper = shapes(t)
		p.Queues[3].QCN = qos.QCNConfig{Qeq: 2000, W: 2, Base: 8000, Jitter: 0.15, Headers: 40}
	}
	c.Telemetry = Telemetry{Switch: 1, Queues: qos.QueueSet(rapid.Uint8().Draw(t, "telemetry")),
		Hops: 2, MaxFrame: 1400}
	return c
}

// shapes is a shaper whose rates are low against those of the links, or none.
func shapes(t *rapid.T) (c qos.ShaperConfig) {
	if !rapid.Bool().Draw(t, "shaped") {
		return c
	}
	c.Queues[0] = qos.Shape{Max: 10 * unit.MbPerSecond, MaxBurst: 3000}
	c.Queues[3] = qos.Shape{Min: unit.MbPerSecond, Max: 50 * unit.MbPerSecond}
	c.Queues[4] = qos.Shape{Min: unit.MbPerSecond}
	c.Port = qos.Shape{Max: 100 * unit.MbPerSecond, MaxBurst: 1500}
	return c
}

// drawPools gives the switch a second ingress pool, or egress pools, or none of these.
func drawPools(t *rapid.T, c *Config) {
	alpha := rapid.SampledFrom([]int64{1, 4, 32}).Draw(t, "1/alpha")
	if rapid.Bool().Draw(t, "second pool") {
		c.Pools = append(c.Pools, mmu.Pool{Name: "lossy", Size: 60 * unit.KB})
	}
	if rapid.Bool().Draw(t, "egress pools") {
		c.EgressPools = []mmu.Pool{{Name: "egress_lossless", Size: 150 * unit.KB},
			{Name: "egress_lossy", Size: 30 * unit.KB}}
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		for g := range p.Groups {
			p.Groups[g].Limit = mmu.Alpha(1, alpha)
			if !p.Groups[g].Lossless {
				p.Groups[g].Pool = len(c.Pools) - 1
				p.Queues[g].Buffer = mmu.QueueProfile{Pool: len(c.EgressPools) / 2, Reserved: 300,
					Limit: mmu.Alpha(1, alpha)}
			} else {
				p.Queues[g].Buffer.Limit.Static = 150 * unit.KB
			}
		}
	}
}

// walk is random traffic through a switch.
type walk struct {
	*bench
	ports int

	storms uint64 // more than 0 if a watchdog found one
}

func (w *walk) arrive(t *rapid.T) {
	port := dataplane.PortID(rapid.IntRange(0, w.ports-1).Draw(t, "port"))
	p := wiretest.Packet{
		Src:     wiretest.MACOrNumber(rapid.IntRange(1, 6).Draw(t, "src")),
		Dst:     wiretest.MACOrNumber(rapid.SampledFrom([]int{1, 2, 3, 4, 0xffff}).Draw(t, "dst")),
		DSCP:    rapid.SampledFrom([]uint8{0, 3, 4, 26, 48}).Draw(t, "dscp"),
		ECN:     wire.ECN(rapid.IntRange(0, 3).Draw(t, "ecn")),
		V6:      rapid.Bool().Draw(t, "v6"),
		Payload: rapid.IntRange(0, 1400).Draw(t, "len"),
	}
	b := p.Bytes()
	b = b[:len(b)-rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "cut")]
	for range rapid.SampledFrom([]int{1, 1, 30}).Draw(t, "times") {
		w.rx(port, b)
	}
}

func (w *walk) pause(t *rapid.T) {
	port := dataplane.PortID(rapid.IntRange(0, w.ports-1).Draw(t, "port"))
	quanta := map[uint8]uint16{}
	for _, p := range []uint8{3, 4, 6} {
		if rapid.Bool().Draw(t, "enabled") {
			quanta[p] = rapid.SampledFrom([]uint16{0, 1, 500, 65535}).Draw(t, "quanta")
		}
	}
	w.rx(port, wiretest.PFC(9, quanta))
}

// storm lasts longer than what the watchdogs detect.
func (w *walk) storm(t *rapid.T) {
	port := dataplane.PortID(rapid.IntRange(0, w.ports-1).Draw(t, "port"))
	for range 6 {
		w.rx(port, wiretest.PFC(9, map[uint8]uint16{3: 65535}))
		w.wait(40 * us)
	}
}

func (w *walk) send(t *rapid.T) {
	port := dataplane.PortID(rapid.IntRange(0, w.ports-1).Draw(t, "port"))
	for range rapid.IntRange(1, 10).Draw(t, "n") {
		b := w.tx(port)
		if b == nil {
			return
		}
		if ip, ok := wire.AsIPv4(b[wire.EthernetLen:]); ok && ip.Version() == 4 &&
			wire.HeaderChecksum(ip[:]) != 0 {
			t.Fatalf("a frame left with a wrong checksum: % x", b)
		}
	}
}

// TestLedgerAlwaysBalances throws everything at a switch, in any order: frames of all kinds,
// pauses, flapping links, and ports that are asked though nothing may be ready.
func TestLedgerAlwaysBalances(t *testing.T) {
	storms := uint64(0)
	rapid.Check(t, func(rt *rapid.T) {
		const ports = 4
		w := &walk{bench: newBench(t, tightConfig(rt, ports)), ports: ports}
		rt.Repeat(map[string]func(*rapid.T){
			"arrive": w.arrive, "arrive2": w.arrive, "arrive3": w.arrive,
			"pause": w.pause, "send": w.send, "storm": w.storm, "reconfigure": w.reconfigure,
			"wait": func(t *rapid.T) { w.wait(unit.Time(rapid.IntRange(0, 9e5).Draw(t, "ns"))) },
			"link": func(t *rapid.T) {
				port := dataplane.PortID(rapid.IntRange(0, ports-1).Draw(t, "port"))
				w.dev.SetLink(w.now, port, rapid.Bool().Draw(t, "up"))
			},
			"": w.invariants,
		})
		storms += w.storms
	})
	if storms == 0 {
		t.Error("no watchdog ever found a storm")
	}
}

// reconfigure makes it another tight switch, in which frames may be beyond every limit.
func (w *walk) reconfigure(t *rapid.T) {
	if err := w.sw.Reconfigure(w.now, tightConfig(t, w.ports)); err != nil {
		t.Fatal(err)
	}
}

// invariants compares what different parts say about the same thing.
func (w *walk) invariants(t *rapid.T) {
	var s Snapshot
	w.sw.Snapshot(w.now, &s)
	w.check()
	free := uint64(w.pool.InUse() + w.sw.pauses.InUse() + w.sw.cnms.InUse())
	if free != s.Ledger.Buffered.Frames {
		t.Fatalf("%d frames are out of their pools, %d buffered", free, s.Ledger.Buffered.Frames)
	}
	for i := range s.Ports {
		w.storms += s.Ports[i].Watchdog[3].Detected + s.Ports[i].Watchdog[4].Detected
	}
	var queued, grouped unit.Bytes
	var dropped uint64
	for i := range s.Ports {
		p := &s.Ports[i]
		var held pfc.Set
		for g := range p.Groups {
			if p.Groups[g].XOFF {
				held |= w.sw.ports[i].pauses[g]
			}
		}
		if dog := &w.sw.ports[i].watch.dog; dog.Action() != pfc.Alert {
			held &^= dog.Stormed()
		}
		if p.Pausing != held {
			t.Fatalf("port %d: pauses %v, its groups in XOFF %v", i, p.Pausing, held)
		}
		for q := range p.Queues {
			queued += p.Queues[q].Occupancy
		}
		for g := range p.Groups {
			u := &p.Groups[g]
			grouped += u.Reserved + u.Shared + u.Headroom
		}
		for tc := range p.Dropped {
			for _, n := range p.Dropped[tc] {
				dropped += n
			}
		}
	}
	pooled := [2]unit.Bytes{Egress: queued * unit.Bytes(1-min(len(w.sw.cfg.EgressPools), 1))}
	for i := range s.Pools {
		pooled[s.Pools[i].Direction] += s.Pools[i].Occupancy
	}
	if queued != grouped || pooled != [2]unit.Bytes{queued, queued} {
		t.Fatalf("queues hold %d, groups %d, pools %d", queued, grouped, pooled)
	}
	if total := s.Ledger.DroppedTotal().Frames; dropped != total {
		t.Fatalf("ports dropped %d, the ledger %d", dropped, total)
	}
	for port := range dataplane.PortID(w.ports) {
		if !w.sw.Ready().Has(port) {
			if f := w.sw.Transmit(w.now, port); f != nil {
				t.Fatalf("port %d has a frame, but is not in Ready", port)
			}
		}
	}
}

// TestLosslessLosesNothing: four senders that obey PFC one frame late, at full speed into one port
// that runs at a quarter. The lossless class drops nothing, and pauses were needed for it.
func TestLosslessLosesNothing(t *testing.T) {
	c := testConfig(5)
	c.Pools[0].Size = 600 * unit.KB
	b := newBench(t, c)
	b.rx(4, data(5, 1, 1000)) // Where station 5 is.
	paused := [5]bool{}
	sent := uint64(0)
	for round := range 20000 {
		for port := range dataplane.PortID(4) {
			if !paused[port] {
				b.rx(port, data(wiretest.MACOrNumber(1+port), 5, 1000))
				sent++
			}
			if f := b.tx(port); f != nil {
				if body, ok := wire.AsPFC(f[wire.EthernetLen:]); ok && body.Opcode() == wire.OpPFC {
					paused[port] = body.Quanta(3) != 0
				}
			}
		}
		if round%4 == 0 {
			b.tx(4)
		}
		b.wait(us / 4)
	}
	b.check()
	l := b.sw.Ledger()
	if n := l.Dropped[frame.DropHeadroom].Frames + l.Dropped[frame.DropBuffer].Frames; n != 0 {
		t.Errorf("dropped %d", n)
	}
	if sent > 20000/2 || l.Generated.Frames < 100 {
		t.Errorf("%d frames sent with %d pauses: nobody was held back", sent, l.Generated.Frames)
	}
}
