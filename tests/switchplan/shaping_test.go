package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// fcs is counted by a shaper, and is not in our frames. IEEE 802.3-2022 3.2.9.
const fcs = 4

// rate is the bytes a second that left a port in a class between two times, in bits, as a shaper
// counts them.
func (b *bench) rate(port int, tc uint8, from, to unit.Time) unit.Rate {
	data, _ := b.arrivals(port)
	var sum unit.Bytes
	for _, a := range data {
		if at := a.at.Add(-b.delay); at > from && at <= to &&
			b.cfg.Ports[0].Classify.DSCP[a.class.DSCP] == tc {
			sum += unit.Bytes(len(a.bytes)) + fcs
		}
	}
	return sum.Over(to.Sub(from))
}

// shaped runs lossless senders that keep the queues of port 2 filled, and measures from 0.3 to
// 1.3 ms.
func shaped(b *bench, dscps []uint8, measure func(rate func(tc uint8) float64)) {
	const out = 2
	begin := b.now().Add(start)
	for i, dscp := range dscps {
		b.send(full(b, []int{0, 1, 3}[i], out, dscp, 3000))
	}
	from := begin.Add(300 * time.Microsecond)
	to := from.Add(time.Millisecond)
	b.run(to.Add(10 * b.delay))
	measure(func(tc uint8) float64 { return float64(b.rate(out, tc, from, to)) })
	b.cut()
	b.rest()
	b.noDrops()
}

// A queue has a maximum rate: SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE, SONiC pir. The plans use it
// to stop a port.
func TestQueueMaxRate(t *testing.T) {
	const most = 2 * unit.GbPerSecond
	conform(t, card{plan: &ourOwn, name: "maximum rate of a queue",
		checks: "a queue does not send above its rate, the others have the rest",
		config: func(c *pipeline.Config) {
			enough(c)
			c.Ports[2].Shaper.Queues[losslessTC] = qos.Shape{Max: most}
		}}, func(b *bench) {
		shaped(b, []uint8{dscpLossless, dscpOther}, func(rate func(uint8) float64) {
			b.near("shaped", rate(losslessTC), float64(most), 0.01)
			n := packet{}.size()
			line := float64(linkRate) / float64(n+24)
			// What the line carries beside the shaped queue.
			rest := (line - float64(most)/float64(n+fcs)) * float64(n+fcs)
			b.near("the other", rate(otherTC), rest, 0.01)
		})
	})
}

// A port's maximum rate.
func TestPortMaxRate(t *testing.T) {
	const most = 3 * unit.GbPerSecond
	conform(t, card{plan: &ourOwn, name: "maximum rate of a port",
		checks: "all queues together do not send above the port's rate, and share it by weight",
		config: func(c *pipeline.Config) {
			enough(c)
			c.Ports[2].Shaper.Port = qos.Shape{Max: most}
			c.Ports[2].Scheduler.Weight[losslessTC] = 1
			c.Ports[2].Scheduler.Weight[otherTC] = 2
		}}, func(b *bench) {
		shaped(b, []uint8{dscpLossless, dscpOther}, func(rate func(uint8) float64) {
			b.near("port", rate(losslessTC)+rate(otherTC), float64(most), 0.01)
			b.near("weight 1 of 3", rate(losslessTC), float64(most)/3, 0.01)
		})
	})
}

// A queue's minimum rate is served before the weights, which then share what is left.
// SAI_SCHEDULER_ATTR_MIN_BANDWIDTH_RATE, SONiC cir.
func TestQueueMinRate(t *testing.T) {
	const least = 4 * unit.GbPerSecond
	conform(t, card{plan: &ourOwn, name: "minimum rate of a queue",
		checks: "a queue has its rate, and its weight's share of the rest",
		config: func(c *pipeline.Config) {
			enough(c)
			c.Ports[2].Scheduler.Weight[losslessTC] = 1
			c.Ports[2].Scheduler.Weight[otherTC] = 9
			c.Ports[2].Shaper.Queues[losslessTC] = qos.Shape{Min: least}
		}}, func(b *bench) {
		shaped(b, []uint8{dscpLossless, dscpOther}, func(rate func(uint8) float64) {
			n := float64(packet{}.size())
			line := float64(linkRate) * (n + fcs) / (n + 24)
			b.near("minimum and share", rate(losslessTC), float64(least)+(line-float64(least))/10,
				0.01)
		})
	})
}
