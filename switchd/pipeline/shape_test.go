package pipeline

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/qos"
)

// fill puts n frames of a class into a switch, for station 2 at port 1.
func (b *bench) fill(dscp uint8, length, n int) {
	b.t.Helper()
	const headers = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	for range n {
		b.rx(0, wiretest.Packet{Src: 1, Dst: 2, DSCP: dscp, ECN: wire.ECT0,
			Payload: length - headers}.Bytes())
	}
}

// transmit sends what port 1 has at the rate of its wire, as a driver does, until a time. It
// returns the bytes by DSCP.
func (b *bench) transmit(rate unit.Rate, end unit.Time) map[uint8]unit.Bytes {
	b.t.Helper()
	sent := map[uint8]unit.Bytes{}
	var wireTime unit.Serial
	for b.now < end {
		f := b.tx(1)
		if f == nil {
			if b.sw.NextWake() > end {
				break
			}
			b.wait(b.sw.NextWake() - b.now)
			continue
		}
		n := unit.Bytes(len(f))
		if ip, ok := wire.AsIPv4(f[wire.EthernetLen:]); ok {
			sent[ip.DSCP()] += n + wire.FCSLen
		}
		b.wait(unit.Time(wireTime.Time(wire.OnLine(n), rate)))
		b.sw.Ready().Add(1)
	}
	b.now = max(b.now, end)
	return sent
}

// shapedBench has station 2 known at port 1, whose shaper is c.
func shapedBench(t *testing.T, c qos.ShaperConfig) *bench {
	t.Helper()
	config := testConfig(2)
	config.Ports[1].Shaper = c
	b := newBenchOf(t, config, 8192)
	if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(2).MAC(), 1); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestShapedQueue: classes 3 and 4 wait, one with a maximum of 1 Gb/s. It gets that, woken by
// NextWake once class 4 has gone; the ledger holds, and the counters tell.
func TestShapedQueue(t *testing.T) {
	var c qos.ShaperConfig
	c.Queues[3] = qos.Shape{Max: unit.GbPerSecond, MaxBurst: 15040}
	b := shapedBench(t, c)
	b.fill(3, 1500, 500)
	b.fill(4, 1500, 500)
	end := unit.Time(time.Millisecond)
	sent := b.transmit(40*unit.GbPerSecond, end)
	// A burst of 10 frames, 1 Gb/s for 1 ms, and the frame that passes the mark.
	if want := unit.Bytes(15040 + 125000); sent[3] < want || sent[3] > want+1504 {
		t.Errorf("class 3 sent %d bytes, want %d", sent[3], want)
	}
	if sent[4] != 500*1504 {
		t.Errorf("class 4 sent %d bytes, want all", sent[4])
	}
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	q := &s.Ports[1].Queues[3]
	if q.Shaped.Frames == 0 || q.Shaped.Frames > q.Sent.Frames || q.Guaranteed.Frames != 0 {
		t.Errorf("shaped %v of %v, guaranteed %v", q.Shaped, q.Sent, q.Guaranteed)
	}
	if n := s.Ports[1].Queues[4].Shaped.Frames; n != 0 {
		t.Errorf("queue 4 has no rate, and %d frames of it were shaped", n)
	}
	b.check()
}

// TestGuaranteedQueue: class 0 has a minimum of 30 Gb/s, and 99 others to share with.
func TestGuaranteedQueue(t *testing.T) {
	config := testConfig(2)
	config.Ports[1].Shaper.Queues[0] = qos.Shape{Min: 30 * unit.GbPerSecond}
	config.Ports[1].Scheduler.Weight[3] = 99
	b := newBenchOf(t, config, 8192)
	b.rx(1, data(2, 9, 100)) // Where station 2 is.
	b.fill(0, 1500, 1000)
	b.fill(3, 1500, 1000)
	sent := b.transmit(40*unit.GbPerSecond, 100*us)
	// 375 KB and a burst of 12 KB in 100 us.
	if got := sent[0]; got < 375_000 || got > 400_000 {
		t.Errorf("class 0 sent %d bytes", got)
	}
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	if q := &s.Ports[1].Queues[0]; q.Guaranteed.Frames < q.Sent.Frames*9/10 {
		t.Errorf("%v of %v guaranteed", q.Guaranteed, q.Sent)
	}
	b.check()
}

// TestPortShaperLetsPausesPass: a port at its maximum sends nothing but PFC frames, and those do
// not use up the rate.
func TestPortShaperLetsPausesPass(t *testing.T) {
	config := testConfig(2)
	config.Pools[0].Size = 100 * unit.KB
	config.Ports[0].Shaper.Port = qos.Shape{Max: unit.MbPerSecond, MaxBurst: 1}
	b := newBench(t, config)
	b.rx(0, data(1, 9, 100)) // Where station 1 is.
	b.rx(1, data(2, 1, 1000))
	b.rx(1, data(2, 1, 1000))
	if f := b.tx(0); len(f) != 1000 {
		t.Fatalf("sent % x", f)
	}
	if f := b.tx(0); f != nil {
		t.Fatalf("above its rate the port sent % x", f)
	}
	b.fill(3, 1500, 40) // Into XOFF at port 0.
	pause := b.tx(0)
	if eth, ok := wire.AsEthernet(pause); !ok || eth.Type() != wire.TypeMACControl {
		t.Fatalf("want a PFC frame, got % x", pause)
	}
	// 1004 bytes less the burst of 1, at 1 Mb/s, are 8024 us.
	at := b.sw.ports[0].heldUntil
	if at != 8024*us {
		t.Errorf("held until %v", at)
	}
	b.wait(at - b.now)
	for range 2 { // The XOFF may be due again first.
		if f := b.tx(0); len(f) == 1000 {
			b.check()
			return
		}
	}
	t.Error("the port was not released")
}

// TestDroppedFrameCostsNoRate: what WRED drops at dequeue is not charged to a shaper.
func TestDroppedFrameCostsNoRate(t *testing.T) {
	config := testConfig(2)
	p := &config.Ports[1]
	p.Queues[0].WRED = qos.WREDConfig{Drop: qos.Curve{Kmax: 1500, Pmax: 1}, At: qos.AtDequeue}
	p.Shaper.Queues[0] = qos.Shape{Max: unit.MbPerSecond, MaxBurst: 1}
	b := newBench(t, config)
	b.rx(1, data(2, 9, 100))
	const headers = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	for range 5 {
		b.rx(0, wiretest.Packet{Src: 1, Dst: 2, ECN: wire.NotECT, Payload: 1000 - headers}.Bytes())
	}
	if f := b.tx(1); len(f) != 1000 {
		t.Fatalf("sent % x", f)
	}
	l := b.sw.Ledger()
	if n := l.Dropped[frame.DropWRED].Frames; n == 0 {
		t.Errorf("nothing was dropped")
	}
	if got := b.sw.Ready().Has(dataplane.PortID(1)); !got {
		t.Error("not ready")
	}
	b.check()
}
