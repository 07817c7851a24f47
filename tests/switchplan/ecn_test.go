package switchplan

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// marking gives the lossless queue of port 2 a WRED profile, and a pool that pauses nobody.
func marking(w qos.WREDConfig) func(c *pipeline.Config) {
	return func(c *pipeline.Config) {
		c.Pools[0].Size = 2 * unit.MB
		c.Ports[2].Queues[losslessTC].WRED = w
	}
}

// step is the marking of DCTCP: none up to k, all above it. RFC 8257 section 3.1, and [DCQCN]
// section 3.1 with Kmin = Kmax.
func step(k unit.Bytes) qos.Curve { return qos.Curve{Kmin: k, Kmax: k, Pmax: 1} }

// ecn is a packet from port 0 to port 2 in the lossless class.
func ecn(codepoint wire.ECN) packet {
	return packet{from: 0, to: 2, dscp: dscpLossless, ecn: codepoint}
}

// marks is which of the frames that left port 2 carry CE, by their numbers in the stream.
func marks(b *bench) (list []int) {
	data, _ := b.arrivals(2)
	for i := range data {
		if n, _ := data[i].number(); data[i].class.ECN == wire.CE {
			list = append(list, n)
		}
	}
	return list
}

// span is a run of numbers, or the word none.
func span(list []int) any {
	if len(list) == 0 {
		return "none"
	}
	if last := list[len(list)-1]; last-list[0]+1 == len(list) {
		return []int{list[0], last}
	}
	return list
}

// burst sends count frames into the stopped port, and lets it run.
func burst(b *bench, p packet, count int) {
	s := stream{port: 0, at: b.now().Add(start), every: pace, count: count, frame: &p}
	b.send(block(2, b.now().Add(time.Microsecond), losslessTC), s)
	b.run(s.end())
	b.drain(2, losslessTC)
	b.whole(2, count)
}

// test_dequeue_ecn_with_snappi.py: a frame is marked by the queue that is behind it when it leaves,
// so of a burst the first are marked and the last are not: the sender hears of it a queue sooner.
func TestDequeueEcn(t *testing.T) {
	const k = 20 * unit.KB
	conform(t, card{plan: &ecnPlan, name: "test_dequeue_ecn",
		checks: "of a burst those are marked that leave more than Kmax behind them",
		config: marking(qos.WREDConfig{Mark: step(k), At: qos.AtDequeue})}, func(b *bench) {
		p := ecn(wire.ECT0)
		const count = 50
		burst(b, p, count)
		// Frame i leaves count-1-i behind it; marked if those are more than k bytes.
		b.equal("marked", span(marks(b)), []int{0, count - 2 - int(k/p.size())})
	})
}

// The same burst where frames are marked when they are queued: [DCQCN] section 3.1, "an arriving
// packet is ECN-marked if the queue length exceeds a threshold".
func TestEnqueueEcn(t *testing.T) {
	const k = 20 * unit.KB
	conform(t, card{plan: &ecnPlan, name: "ECN at enqueue, DCTCP step",
		checks: "of a burst those are marked that find more than Kmax in front of them",
		config: marking(qos.WREDConfig{Mark: step(k)})}, func(b *bench) {
		p := ecn(wire.ECT1)
		const count = 50
		burst(b, p, count)
		b.equal("marked", span(marks(b)), []int{int(k/p.size()) + 1, count - 1})
	})
}

// redCurve is the curve of the accuracy cases: [DCQCN] figure 14 with Pmax raised tenfold, so that
// 1,500 frames tell it.
var redCurve = qos.Curve{Kmin: 5 * unit.KB, Kmax: 200 * unit.KB, Pmax: 0.1}

// test_red_accuracy_with_snappi.py: at several lengths of the queue, the share of marked frames is
// within five standard deviations of the configured probability. The queue is held at a length by
// frames that come as fast as they leave.
func TestRedAccuracy(t *testing.T) {
	for _, at := range []struct {
		name  string
		point qos.Point
	}{{"at enqueue", qos.AtEnqueue}, {"at dequeue", qos.AtDequeue}} {
		conform(t, card{plan: &ecnPlan, name: "test_red_accuracy (" + at.name + ")",
			checks: "share of marked frames at seven queue lengths, within 5 sigma of the curve",
			config: marking(qos.WREDConfig{Mark: redCurve, At: at.point})}, func(b *bench) {
			n := ecn(wire.ECT0).size()
			for _, frames := range []int{2, 4, 30, 80, 130, 180, 190} {
				b.again(func(*pipeline.Config) {}, func(b *bench) {
					accuracy(b, frames, unit.Bytes(frames)*n)
				})
			}
		})
	}
}

// accuracy holds the queue at a number of frames, give or take one, and counts marks.
func accuracy(b *bench, frames int, length unit.Bytes) {
	b.Helper()
	const in, out, samples = 0, 2, 1500
	p := ecn(wire.ECT0)
	took := onWire(p.size(), linkRate)
	s := stream{port: in, at: b.now().Add(start), count: frames + samples, frame: &p}
	// The first frames wait; from then on one leaves for each that comes.
	open := s.at.Add(time.Duration(frames)*took + took/2)
	b.send(block(out, b.now().Add(time.Microsecond), losslessTC), s,
		release(out, open, losslessTC))
	b.rest()
	data, _ := b.arrivals(out)
	marked := 0
	for i := range data {
		// Only those count that came and left while the queue was as long as it should be.
		n, _ := data[i].number()
		if n > frames && n < samples && data[i].class.ECN == wire.CE {
			marked++
		}
	}
	total := samples - frames - 1
	// What a frame finds, or leaves behind, is off by a frame at most on either side.
	one := p.size()
	low, high := redCurve.Probability(length-2*one), redCurve.Probability(length+2*one)
	share, middle := float64(marked)/float64(total), redCurve.Probability(length)
	sigma := math.Sqrt(high * (1 - high) / float64(total))
	b.row.note(b.mode, figure{"share at " + length.String(), format(middle), format(share)})
	if share < low-5*sigma || share > high+5*sigma {
		b.Errorf("at %v: %d of %d marked, the curve says %.4f to %.4f", length, marked, total, low,
			high)
	}
}

// Below Kmin nothing is marked, above Kmax everything.
func TestEcnOutsideTheCurve(t *testing.T) {
	conform(t, card{plan: &ecnPlan, name: "ECN below Kmin and above Kmax",
		checks: "no frame at Kmin or below, each frame above Kmax",
		config: marking(qos.WREDConfig{Mark: qos.Curve{Kmin: 50 * unit.KB, Kmax: 60 * unit.KB,
			Pmax: 0}})}, func(b *bench) {
		p := ecn(wire.ECT0)
		const count = 100
		burst(b, p, count)
		// Pmax 0 leaves nothing in between; above Kmax the probability is 1 whatever Pmax is.
		b.equal("marked", span(marks(b)), []int{int(60*unit.KB/p.size()) + 1, count - 1})
	})
}

// wredDrop drops what is not ECN-capable above 20 KB and marks what is.
var wredDrop = qos.WREDConfig{Mark: step(20 * unit.KB), Drop: step(20 * unit.KB)}

// WRED drops a frame that cannot be marked. RFC 3168 section 5, SAI_WRED_ATTR_ECN_MARK_MODE.
func TestWredDropsNotECT(t *testing.T) {
	conform(t, card{plan: &ecnPlan, name: "WRED drops what is not ECN-capable",
		checks: "above the threshold: not-ECT dropped, ECT marked, CE kept",
		config: func(c *pipeline.Config) {
			marking(wredDrop)(c)
			obeyAll(c)
			c.Ports[2].Queues[lossyTC].WRED = wredDrop
		}}, func(b *bench) {
		const in, out, count, each = 0, 2, 30, 10
		size := packet{}.size()
		at := b.now().Add(start)
		b.send(block(out, b.now().Add(time.Microsecond), every...))
		for i, codepoint := range []wire.ECN{wire.ECT0, wire.NotECT, wire.ECT1, wire.CE} {
			n := each
			if i == 0 {
				n = count // these fill the queue
			}
			b.send(stream{port: in, at: at, every: pace, count: n,
				frame: &packet{from: in, to: out, dscp: dscpLossy, ecn: codepoint}})
			at = at.Add(time.Duration(n) * pace)
		}
		b.run(at.Add(start))
		b.drain(out, every...)
		data, _ := b.arrivals(out)
		got := make(map[frame.ECN]int)
		for i := range data {
			got[data[i].class.ECN]++
		}
		unmarked := int(wredDrop.Mark.Kmax/size) + 1
		b.equal("dropped", b.snapshot().Ledger.Dropped[frame.DropWRED].Frames, each)
		b.equal("CE", got[wire.CE], count-unmarked+2*each)
		b.equal("ECT(0)", got[wire.ECT0], unmarked)
	})
}

// A mark changes the ECN field, the checksum of an IPv4 header, and nothing else. RFC 3168.
func TestMarkedPacketsKeepTheRest(t *testing.T) {
	conform(t, card{plan: &ecnPlan, name: "a mark changes nothing else",
		checks: "marked frames to the byte: IPv4, IPv6, tagged; checksum and ICRC right",
		config: marking(qos.WREDConfig{Mark: step(0), At: qos.AtDequeue})}, func(b *bench) {
		const count = 6
		tag := ib.VLAN{ID: 5, Priority: 3, Tagged: true}
		kinds := []packet{{}, {v6: true}, {tag: tag}, {v6: true, tag: tag}}
		for _, p := range kinds {
			p.from, p.to, p.dscp, p.ecn = 0, 2, dscpLossless, wire.ECT0
			before, _ := b.arrivals(2)
			s := stream{port: 0, at: b.now().Add(start), every: pace, count: count, frame: &p}
			b.send(block(2, b.now().Add(time.Microsecond), losslessTC), s)
			b.run(s.end())
			b.drain(2, losslessTC)
			data, _ := b.arrivals(2)
			for i, a := range data[len(before):] {
				want := p
				want.headers = nil
				if i < count-1 { // the last has nothing behind it
					want.ecn = wire.CE
				}
				var buf [frameSize]byte
				n := want.build(buf[:], i)
				if !bytes.Equal(a.bytes, buf[:n]) {
					b.Errorf("frame %d\n% x, want\n% x", i, a.bytes[:64], buf[:64])
				}
			}
		}
		b.equal("marked", len(marks(b)), len(kinds)*(count-1))
	})
}

// switch-ecn-pfc-ordering-tests.md: with the marking threshold below the pause threshold, senders
// are told to slow down before they are stopped.
func TestEcnBeforePfc(t *testing.T) {
	conform(t, card{plan: &ecnPlan, name: "switch-ecn-pfc-ordering-tests",
		checks: "the first mark comes before the first XOFF, each at its threshold",
		config: func(c *pipeline.Config) {
			c.Ports[2].Queues[losslessTC].WRED = qos.WREDConfig{Mark: step(30 * unit.KB)}
		}}, func(b *bench) {
		p := ecn(wire.ECT0)
		limit := fits(b.cfg, &b.cfg.Ports[0].Groups[losslessTC], p.size())
		s := stream{port: 0, at: b.now().Add(start), every: pace, count: limit + 3, frame: &p}
		b.send(block(2, b.now().Add(time.Microsecond), losslessTC), s)
		b.run(s.end())
		b.drain(2, losslessTC)
		_, control := b.arrivals(0)
		first := marks(b)[0]
		b.equal("first mark at frame", first+1, int(30*unit.KB/p.size())+2)
		b.equal("XOFF at frame", b.cause(s, control[0]), limit+1)
	})
}
