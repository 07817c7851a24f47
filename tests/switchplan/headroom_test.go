package switchplan

import (
	"math"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/thresholds"
)

// flight is how many frames a sender at full rate still gets through after the switch has decided
// to stop it, the one that made it decide included. From the last bit of that frame on,
//
//	wait      a frame that the switch has begun to send must end first
//	pfc       the PFC frame is sent
//	2 delay   it goes to the sender, and what the sender sent meanwhile comes
//	response  the sender takes that long to obey
//
// and a frame that has begun is finished. [DCQCN] section 4 calls it t_flight, for any frame; here
// the frames are known, so it is exact.
func flight(b *bench, wait time.Duration, n unit.Bytes) int {
	rate := b.cfg.Ports[0].Rate
	deaf := wait + onWire(wire.MinFrame, rate) + 2*b.delay + b.card.response
	bits := int64(wire.OnLine(n)) * 8
	return 1 + int(math.Ceil(deaf.Seconds()*float64(rate)/float64(bits)))
}

// overrun lets a sender at full rate run into a stopped egress and obey the PFC that comes, and
// returns how many of its frames were lost. wait is for how long the wire back to the sender is
// still taken when the group goes to XOFF.
func overrun(b *bench, wait time.Duration) (lost uint64) {
	const in, out, other = 0, 2, 1
	data := packet{from: in, to: out, dscp: dscpLossless}
	rate := b.cfg.Ports[in].Rate
	limit := fits(b.cfg, &b.cfg.Ports[in].Groups[losslessTC], data.size())
	took := onWire(data.size(), rate)
	s := stream{port: in, at: b.now().Add(10 * start), frame: &data, obey: losslessSet,
		count: limit + flight(b, wait, data.size()) + 40}
	end := s.at.Add(time.Duration(limit+20)*took + 10*b.card.response + 10*b.delay)
	stop := block(out, b.now().Add(time.Microsecond), losslessTC)
	stop.every = pfc.Duration(wire.MaxQuanta, b.cfg.Ports[out].Rate) / 2
	stop.count = int(end.Sub(stop.at)/stop.every) + 1
	b.send(stop, s)
	if wait > 0 {
		// One frame back to the sender begins so that it ends wait after the decision.
		back := packet{from: other, to: in, dscp: dscpLossy}
		decided := s.at.Add(time.Duration(limit+1)*took + b.delay)
		begins := decided.Add(wait - onWire(back.size(), rate))
		b.send(stream{port: other, at: begins.Add(-onWire(back.size(), rate) - b.delay), count: 1,
			frame: &back})
	}
	b.run(end)
	lost = b.snapshot().Ledger.DroppedTotal().Frames
	b.drain(out, losslessTC)
	return lost
}

func headroomOf(n unit.Bytes) func(c *pipeline.Config) {
	return func(c *pipeline.Config) {
		each(c, func(p *pipeline.Port) { p.Groups[losslessTC].Headroom = n })
	}
}

// edge checks that a lossless class drops nothing with the computed headroom and does drop with
// one frame less. In virtual time it also finds the least headroom without a drop by bisection.
func edge(b *bench, wait time.Duration) {
	n := packet{}.size()
	want := unit.Bytes(flight(b, wait, n)) * n
	lossAt := func(headroom unit.Bytes) (lost uint64) {
		b.again(headroomOf(headroom), func(b *bench) { lost = overrun(b, wait) })
		return lost
	}
	b.equal("lost with the computed headroom", lossAt(want), 0)
	b.equal("lost with one frame less", lossAt(want-n), 1)
	if b.mode == onRealFrames {
		return
	}
	bad, good := unit.Bytes(0), 2*want // lossAt(good) is 0 as it is at want
	for good-bad > 1 {
		if middle := (good + bad) / 2; lossAt(middle) == 0 {
			good = middle
		} else {
			bad = middle
		}
	}
	b.equal("edge by bisection", good, want)
	line := thresholds.Emulated{Rate: b.cfg.Ports[0].Rate, Delay: b.delay, Frame: n,
		Reaction: b.card.response}
	if wait > 0 {
		line.Reverse = n
	}
	b.equal("by rocelab thresholds", line.Uniform(), want)
}

// Headroom: test_pfc_pause_response_with_snappi.py, test_pfc_single_lossless_headroom. The lossless
// class drops nothing when headroom is as computed, and does drop when it is one frame less.
func TestHeadroom(t *testing.T) {
	const answer = 20 * time.Microsecond
	conform(t, card{plan: &pfcPlan, name: "test_pfc_single_lossless_headroom", config: slow,
		checks: "1 Gb/s: enough as computed, too little by one frame", response: answer},
		func(b *bench) { edge(b, 0) })
	conform(t, card{plan: &pfcPlan, name: "headroom, PFC behind a frame", config: slow,
		checks: "the PFC frame waits until the frame before it has ended", response: answer},
		func(b *bench) {
			// The frame before begins at the last moment before the decision.
			edge(b, onWire(packet{}.size(), b.cfg.Ports[0].Rate)-time.Nanosecond)
		})
	conform(t, card{plan: &pfcPlan, name: "test_pfc_pause_multi_lossless_headroom", config: slow,
		checks: "both lossless classes of a port at once", response: answer}, bothEdges)
	for _, rate := range []unit.Rate{10, 40, 100, 400} {
		rate *= unit.GbPerSecond
		conform(t, card{plan: &pfcPlan, name: "headroom at " + rate.String(),
			checks:   "against a sender as slow as IEEE 802.3 allows",
			response: pfc.MaxResponse(rate),
			config: func(c *pipeline.Config) {
				c.Pools[0].Size = 4 * unit.MB
				each(c, func(p *pipeline.Port) { p.Rate = rate })
			}}, func(b *bench) { edge(b, 0) })
	}
}

// bothEdges is edge where both lossless classes of a port run into the stopped egress, their frames
// in turns. Of two such classes each needs the headroom for what comes of it alone.
func bothEdges(b *bench) {
	const in, out = 0, 2
	n := packet{}.size()
	run := func(headroom unit.Bytes) (most unit.Bytes, lost uint64) {
		b.again(func(c *pipeline.Config) {
			headroomOf(headroom)(c)
			each(c, func(p *pipeline.Port) { p.Groups[otherTC].Headroom = headroom })
		}, func(b *bench) {
			b.send(block(out, b.now().Add(time.Microsecond), losslessTC, otherTC))
			for _, dscp := range []uint8{dscpLossless, dscpOther} {
				s := full(b, in, out, dscp, 100)
				// Two streams of half of the rate each.
				s.every = 2 * onWire(n, b.cfg.Ports[in].Rate)
				if dscp == dscpOther {
					s.at = s.at.Add(s.every / 2)
				}
				b.send(s)
			}
			b.run(b.now().Add(250 * onWire(n, b.cfg.Ports[in].Rate)))
			snap := b.snapshot()
			for _, tc := range []int{losslessTC, otherTC} {
				most = max(most, snap.Ports[in].Groups[tc].HeadroomWatermark)
			}
			lost = snap.Ledger.DroppedTotal().Frames
			b.drain(out, losslessTC, otherTC)
		})
		return most, lost
	}
	// With room to spare, the watermark says what is needed.
	most, lost := run(unit.Bytes(flight(b, 0, n)) * n)
	b.equal("lost with the headroom of one class alone", lost, 0)
	_, lost = run(most)
	b.equal("lost with the headroom that was used", lost, 0)
	if _, lost = run(most - n); lost == 0 {
		b.Error("nothing lost with one frame less")
	}
}

// noDrops checks that nothing was lost anywhere.
func (b *bench) noDrops() {
	b.Helper()
	l := b.snapshot().Ledger
	for why, c := range l.Dropped {
		if c.Frames != 0 {
			b.Errorf("%d frames dropped: %v", c.Frames, frame.Reason(why))
		}
	}
}
