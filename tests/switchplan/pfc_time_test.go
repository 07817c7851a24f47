package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The longest XOFF: 65,535 quanta of 512 bit times. IEEE 802.3-2022 31B.2, IEEE 802.1Q-2022 36.1.3.
func TestXoffExpires(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "XOFF quanta expiry",
		checks: "65,535 quanta at 40 Gb/s stop a class for 838.848 us, and no longer",
		config: func(c *pipeline.Config) { c.Ports[2].Rate = 40 * unit.GbPerSecond }},
		func(b *bench) {
			const in, out = 0, 2
			quanta := time.Duration(wire.MaxQuanta) * wire.QuantumBits * time.Second
			want := quanta / time.Duration(b.cfg.Ports[out].Rate)
			stop := block(out, b.now().Add(start), losslessTC)
			b.send(stop, stream{port: in, at: b.now().Add(2 * start), every: pace, count: 1,
				frame: &packet{from: in, to: out, dscp: dscpLossless}})
			b.run(b.now().Add(want + 10*start))
			left := b.begun(out, losslessTC)
			if len(left) != 1 {
				b.Fatalf("%d frames left", len(left))
			}
			b.soon("paused for", left[0].Sub(b.takesEffect(out, stop.at, wire.MinFrame)), want)
			st := b.snapshot().Ports[out].PFCReceived
			b.soon("counted as paused", st.Paused[losslessTC], want)
			b.equal("transitions", st.Transitions[losslessTC], 1)
		})
}

// XON in the middle of a pause ends it at once.
func TestXonEndsPause(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "XON in the middle",
		checks: "PFC with time 0 ends a pause at once"}, func(b *bench) {
		const in, out = 0, 2
		stop := block(out, b.now().Add(start), losslessTC)
		open := release(out, b.now().Add(5*start), losslessTC)
		b.send(stop, open, stream{port: in, at: b.now().Add(2 * start), every: pace, count: 3,
			frame: &packet{from: in, to: out, dscp: dscpLossless}})
		b.run(b.now().Add(10 * start))
		left := b.begun(out, losslessTC)
		b.equal("frames", len(left), 3)
		b.soon("resumes after", left[0].Sub(stop.at), open.at.Sub(stop.at)+
			onWire(wire.MinFrame, b.cfg.Ports[out].Rate)+b.delay)
	})
}

// PFC response time (test_pfc_response_time.py): at full rate the frame that has begun when the
// pause takes effect is finished, and none begins afterwards.
func TestPfcResponseTime(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "test_pfc_response_time (at once)",
		checks: "at full rate: the frame in flight ends, none begins", config: slow}, response)
	conform(t, card{plan: &pfcPlan, name: "test_pfc_response_time (standard's limit)",
		checks: "with the reaction delay that IEEE 802.3 allows, none begins after it",
		config: func(c *pipeline.Config) {
			slow(c)
			c.Ports[2].PauseDelay = pfc.MaxResponse(c.Ports[2].Rate)
		}}, response)
}

// slow makes frames so long that real frames, too, tell which one was in flight.
func slow(c *pipeline.Config) {
	each(c, func(p *pipeline.Port) { p.Rate = linkRate / 10 })
}

func response(b *bench) {
	const in, out = 0, 2
	data := packet{from: in, to: out, dscp: dscpLossless}
	took := onWire(data.size(), b.cfg.Ports[out].Rate)
	stop := block(out, b.now().Add(20*start), losslessTC)
	pauseAt := b.takesEffect(out, stop.at, wire.MinFrame)
	const before = 10
	first := pauseAt.Add(-took/2 - before*took) // when the first frame begins to leave
	b.send(stop, stream{port: in, at: first.Add(-took - b.delay), count: 40, frame: &data})
	b.run(b.now().Add(50 * start))
	left := b.begun(out, losslessTC)
	b.equal("frames that leave", len(left), before+1)
	last := left[len(left)-1]
	if last > pauseAt.Add(grain) {
		b.Errorf("the last began at %v, the pause took effect at %v", last, pauseAt)
	}
	b.drain(out, losslessTC)
	b.whole(out, 40)
}

// A pause that lasts is announced again before it runs out at the other end.
func TestXoffIsRefreshed(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "XOFF refresh",
		checks: "XOFF is repeated within its own time, and the sender stays stopped",
		config: func(c *pipeline.Config) { each(c, func(p *pipeline.Port) { p.Quanta = 1000 }) }},
		func(b *bench) {
			const in, out = 0, 2
			data := packet{from: in, to: out, dscp: dscpLossless}
			limit := fits(b.cfg, &b.cfg.Ports[in].Groups[losslessTC], data.size())
			// The sender is stopped by the XOFF that its frame limit+1 causes.
			s := stream{port: in, at: b.now().Add(start), every: pace, count: limit + 20,
				frame: &data, obey: losslessSet}
			b.send(block(out, b.now().Add(time.Microsecond), losslessTC), s)
			b.run(s.end())
			length := pfc.Duration(1000, linkRate)
			b.run(b.now().Add(10 * length))
			_, control := b.arrivals(in)
			for i := 1; i < len(control); i++ {
				if gap := control[i].at.Sub(control[i-1].at); gap >= length {
					b.Errorf("PFC frames %d and %d are %v apart, the pause lasts %v", i-1, i, gap,
						length)
				}
			}
			if len(control) < 10 {
				b.Errorf("%d PFC frames in 10 times the length of one", len(control))
			}
			b.equal("frames taken", b.snapshot().Ports[in].Received[losslessTC].Frames, limit+1)
			b.drain(out, losslessTC)
		})
}
