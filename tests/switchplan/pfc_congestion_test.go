package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// enough is headroom that covers the tester's answer on these links, with a frame in the way.
func enough(c *pipeline.Config) {
	c.Pools[0].Size = 600 * unit.KB
	headroomOf(30 * unit.KB)(c)
}

// full is a stream at the rate of its link that obeys PFC if its class is lossless.
func full(b *bench, in, out int, dscp uint8, count int) stream {
	s := stream{port: portID(in), at: b.now().Add(start), count: count,
		frame: &packet{from: station(in), to: station(out), dscp: dscp}}
	if p := pfc.Priority(b.cfg.Ports[in].Classify.DSCP[dscp]); losslessSet.Has(p) {
		s.obey = pfc.SetOf(p)
	}
	return s
}

// rest runs until nothing is due, stored or on its way any more.
func (b *bench) rest() {
	b.Helper()
	for range 500 {
		b.run(b.now().Add(20 * time.Microsecond))
		var idle bool
		b.do(theTester, func(unit.Time) { idle = b.tester.idle() })
		if idle && b.agree() && b.snapshot().Ledger.Buffered.Frames == 0 {
			return
		}
	}
	b.Fatalf("not at rest at %v", b.now())
}

// busy is for how long a port sent without a gap, from the first frame to the last.
func (b *bench) busy(port int) (took, least time.Duration) {
	data, _ := b.arrivals(port)
	var s unit.Serial
	for i := range data {
		least += s.Time(wire.OnLine(unit.Bytes(len(data[i].bytes))), b.cfg.Ports[port].Rate)
	}
	first := onWire(unit.Bytes(len(data[0].bytes)), b.cfg.Ports[port].Rate)
	return data[len(data)-1].at.Sub(data[0].at) + first, least
}

// test_m2o_oversubscribe_lossless.py: three senders at full rate into one port.
func TestM2OOversubscribeLossless(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_m2o_oversubscribe_lossless", config: enough,
		checks: "3 senders at full rate into one port: nothing lost, the port never idle"},
		func(b *bench) {
			const out, count = 2, 300
			for _, in := range []int{0, 1, 3} {
				b.send(full(b, in, out, dscpLossless, count))
			}
			b.rest()
			b.noDrops()
			b.whole(out, 3*count)
			for _, in := range []int{0, 1, 3} {
				if _, control := b.arrivals(in); firstOf(control, losslessTC, true) == nil {
					b.Errorf("no XOFF to sender %d", in)
				}
			}
			took, least := b.busy(out)
			b.near("port busy", least.Seconds()/took.Seconds(), 1, 0.01)
		})
}

// test_m2o_oversubscribe_lossy.py: the same with a lossy class.
func TestM2OOversubscribeLossy(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_m2o_oversubscribe_lossy", config: enough,
		checks: "2 lossy senders at full rate into one port: drops, no PFC, the port never idle"},
		func(b *bench) {
			const out, count = 2, 600
			b.send(full(b, 0, out, dscpLossy, count), full(b, 1, out, dscpLossy, count))
			b.rest()
			for in := range 2 {
				if _, control := b.arrivals(in); len(control) != 0 {
					b.Errorf("%d PFC frames to sender %d", len(control), in)
				}
			}
			data, _ := b.arrivals(out)
			lost := b.snapshot().Ledger.Dropped[frame.DropBuffer].Frames
			b.equal("forwarded and dropped", len(data)+int(lost), 2*count)
			if lost == 0 {
				b.Error("nothing was dropped")
			}
			took, least := b.busy(out)
			b.near("port busy", least.Seconds()/took.Seconds(), 1, 0.01)
		})
}

// test_m2o_oversubscribe_lossless_lossy.py: a lossy class takes nothing from a lossless one but its
// weight of the port.
func TestM2OOversubscribeLosslessLossy(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_m2o_oversubscribe_lossless_lossy", config: enough,
		checks: "lossless and lossy at full rate into one port: drops of the lossy class alone"},
		func(b *bench) {
			const out, count = 2, 500
			b.send(full(b, 0, out, dscpLossless, count), full(b, 1, out, dscpLossy, count))
			b.rest()
			snap := b.snapshot()
			var lossless, lossy uint64
			for _, p := range snap.Ports {
				for why := range p.Dropped[losslessTC] {
					lossless += p.Dropped[losslessTC][why]
					lossy += p.Dropped[lossyTC][why]
				}
			}
			b.equal("dropped of the lossless class", lossless, 0)
			if lossy == 0 {
				b.Error("nothing was dropped of the lossy class")
			}
			b.equal("lossless forwarded", snap.Ports[out].Sent[losslessTC].Frames, count)
		})
}

// test_lossless_response_to_external_pause_storms.py: the switch that is paused pauses its sender.
func TestLosslessResponseToExternalPauseStorms(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_lossless_response_to_external_pause_storms",
		checks: "a storm at the egress is handed on to the sender, nothing is lost",
		config: enough}, func(b *bench) {
		const in, out, count = 0, 2, 400
		b.send(full(b, in, out, dscpLossless, count),
			stream{port: out, at: b.now().Add(2 * start), every: stormEvery, count: 5,
				frame: asks(stormQuanta, losslessTC)})
		b.rest()
		b.noDrops()
		b.whole(out, count)
		_, control := b.arrivals(in)
		if firstOf(control, losslessTC, true) == nil || firstOf(control, losslessTC, false) == nil {
			b.Error("the sender saw no XOFF, or no XON")
		}
	})
}

// test_lossless_response_to_throttling_pause_storms.py: pauses that last half of the time between
// them let half of the rate through.
func TestLosslessResponseToThrottlingPauseStorms(t *testing.T) {
	const period, quanta = 100 * time.Microsecond, 977
	conform(t, card{plan: &pfcPlan, name: "test_lossless_response_to_throttling_pause_storms",
		checks: "pauses of half of the time leave half of the rate, nothing is lost",
		config: enough}, func(b *bench) {
		const in, out, count, periods = 0, 2, 800, 8
		from := b.now().Add(10 * start)
		b.send(full(b, in, out, dscpLossless, count),
			stream{port: out, at: from, every: period, count: periods + 1,
				frame: asks(quanta, losslessTC)})
		b.rest()
		b.noDrops()
		b.whole(out, count)
		begin := b.takesEffect(out, from, wire.MinFrame)
		n := within(b.begun(out, losslessTC), begin, begin.Add(periods*period))
		open := period - pfc.Duration(quanta, linkRate)
		want := float64(periods*open) / float64(onWire(packet{}.size(), linkRate))
		b.near("frames", float64(n), want, 0.03)
	})
}

// test_pfc_no_congestion_throughput.py: two pairs at full rate that share nothing.
func TestPfcNoCongestionThroughput(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_pfc_no_congestion_throughput",
		checks: "two pairs at full rate: nothing lost, no PFC, ports never idle"},
		func(b *bench) {
			const count = 300
			b.send(full(b, 0, 2, dscpLossless, count), full(b, 1, 3, dscpOther, count))
			b.rest()
			b.noDrops()
			for in := range 2 {
				_, control := b.arrivals(in)
				b.equal("PFC frames", len(control), 0)
				b.whole(in+2, count)
				took, least := b.busy(in + 2)
				b.near("port busy", least.Seconds()/took.Seconds(), 1, 0.01)
			}
		})
}

// test_pfc_mixed_speed.py: a fast ingress and a slow egress.
func TestPfcMixedSpeed(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_pfc_mixed_speed",
		checks: "10 Gb/s into 2.5 Gb/s: nothing lost, the egress never idle",
		config: func(c *pipeline.Config) {
			enough(c)
			c.Ports[2].Rate = linkRate / 4
		}}, func(b *bench) {
		const in, out, count = 0, 2, 250
		b.send(full(b, in, out, dscpLossless, count))
		b.rest()
		b.noDrops()
		b.whole(out, count)
		took, least := b.busy(out)
		b.near("port busy", least.Seconds()/took.Seconds(), 1, 0.01)
	})
}

// test_valid_src_mac_pfc_frame.py and test_valid_pfc_frame_with_snappi.py: what the switch sends is
// a PFC frame as the standard draws it. IEEE 802.1Q-2022 figure 36-1.
func TestValidPfcFrame(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_valid_pfc_frame",
		checks: "destination, source, type, opcode, enable vector, times and padding"},
		func(b *bench) {
			const in, out = 0, 2
			n := packet{}.size()
			b.send(block(out, b.now().Add(time.Microsecond), losslessTC, otherTC))
			var end unit.Time
			for _, dscp := range []uint8{dscpLossless, dscpOther} {
				limit := fits(b.cfg, &b.cfg.Ports[in].Groups[dscp], n)
				s := stream{port: in, at: b.now().Add(start), every: pace, count: limit + 1,
					frame: &packet{from: in, to: out, dscp: dscp}}
				b.send(s)
				end = max(end, s.end())
			}
			b.run(end)
			b.drain(out, losslessTC, otherTC)
			_, control := b.arrivals(in)
			seen := make(map[uint8]bool)
			for _, a := range control {
				validPFC(b, a.bytes)
				seen[a.body().Enabled()] = true
			}
			if !seen[1<<losslessTC|1<<otherTC] {
				b.Errorf("no frame for both classes: %v", seen)
			}
		})
}

func validPFC(b *bench, f []byte) {
	b.Helper()
	var want wire.ControlFrame
	want.Init(switchMAC(0), wire.OpPFC)
	got := pfcBody(f)
	want.PFC().SetEnabled(got.Enabled())
	for p := range uint8(wire.Priorities) {
		q := got.Quanta(p)
		on := got.Enabled()&(1<<p) != 0
		if on && !losslessSet.Has(pfc.Priority(p)) || q != 0 && (!on || q != wire.MaxQuanta) {
			b.Errorf("priority %d: enabled %v, quanta %d", p, on, q)
		}
		want.PFC().SetQuanta(p, q)
	}
	if string(f) != string(want[:]) {
		b.Errorf("PFC frame\n% x, want\n% x", f, want)
	}
}
