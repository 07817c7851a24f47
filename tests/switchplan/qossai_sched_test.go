package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// separate gives each class a DSCP, a group and a queue of its number, and a pool that holds what
// the scheduling cases store.
func separate(c *pipeline.Config) {
	c.Pools[0].Size = 8 * unit.MB
	each(c, func(p *pipeline.Port) {
		p.Map = qos.Identity()
		for i := range p.Classify.DSCP {
			p.Classify.DSCP[i] = uint8(i % 8)
		}
		for g := range p.Groups {
			p.Groups[g] = mmu.Profile{Limit: mmu.Alpha(8, 1)}
		}
		p.PFCSend, p.PFCObey = 0, allPriorities
	})
}

// backlog stops port 2, fills its queues with the given numbers of frames from port 0, and lets it
// run. It returns the classes in the order in which their frames leave.
func backlog(b *bench, counts [mmu.Queues]int) (order []uint8) {
	const in, out = 0, 2
	total := 0
	size := packet{}.size()
	b.send(block(out, b.now().Add(time.Microsecond), every...))
	at := b.now().Add(start)
	for q, n := range counts {
		if n == 0 {
			continue
		}
		b.send(stream{port: in, at: at, count: n,
			frame: &packet{from: in, to: out, dscp: uint8(q)}})
		at = at.Add(time.Duration(n) * onWire(size, linkRate))
		total += n
	}
	b.run(at.Add(start))
	if n := b.snapshot().Ledger.Buffered.Frames; n != uint64(total) {
		b.Fatalf("%d frames wait, want %d", n, total)
	}
	before, _ := b.arrivals(out)
	b.drain(out, every...)
	data, _ := b.arrivals(out)
	for _, a := range data[len(before):] {
		order = append(order, a.class.DSCP%8)
	}
	return order
}

// weights are those of the DWRR cases. A weight's quantum is an MTU a round.
var weights = [mmu.Queues]int{1, 2, 3, 4, 14, 14, 15, 15}

// QoS SAI testQosSaiDwrr (WRRtest): queues that are never empty share the port by weight, to 1 %.
func TestQosSaiDwrr(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiDwrr",
		checks: "shares of four queues by weight, within 1 %",
		config: func(c *pipeline.Config) {
			separate(c)
			c.Ports[2].Scheduler.Weight = weights
		}}, func(b *bench) { shares(b, weights) })
}

// shares checks the shares of queues 0 to 3 over 200 rounds.
func shares(b *bench, weights [mmu.Queues]int) {
	b.Helper()
	const rounds = 200
	perRound := float64(b.cfg.Ports[2].Scheduler.MTU) / float64(packet{}.size())
	var counts [mmu.Queues]int
	sum := 0
	for q := range 4 {
		counts[q] = int(perRound*float64(rounds*weights[q])*1.02) + 2
		sum += weights[q]
	}
	order := backlog(b, counts)[:int(perRound*float64(rounds*sum))]
	var got [mmu.Queues]int
	for _, q := range order {
		got[q]++
	}
	for q := range 4 {
		b.near("share", float64(got[q])/float64(len(order)), float64(weights[q])/float64(sum), 0.01)
	}
}

// QoS SAI testQosSaiStrictPriorityScheduling: a strict queue goes before all weighted ones, and of
// two strict queues the higher.
func TestQosSaiStrictPriorityScheduling(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiStrictPriorityScheduling",
		checks: "strict queues leave first, the highest before all",
		config: func(c *pipeline.Config) {
			separate(c)
			c.Ports[2].Scheduler.Strict = qos.QueueSet(0).With(5).With(6)
		}}, func(b *bench) {
		const count = 30
		order := backlog(b, [mmu.Queues]int{0: count, 1: count, 5: count, 6: count})
		firstOf := func(q uint8) (n int) {
			for order[n] != q {
				n++
			}
			return n
		}
		lastOf := func(q uint8) (n int) {
			n = len(order) - 1
			for order[n] != q {
				n--
			}
			return n
		}
		b.equal("queue 6 leaves at", []int{firstOf(6), lastOf(6)}, []int{0, count - 1})
		b.equal("queue 5 leaves at", []int{firstOf(5), lastOf(5)}, []int{count, 2*count - 1})
		b.equal("the others from", min(firstOf(0), firstOf(1)), 2*count)
	})
}

// The same where weights count frames: SAI_SCHEDULING_TYPE_WRR. Queues whose frames have different
// lengths share the port's frames, not its bytes.
func TestWrr(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiDwrr (WRR, frames)",
		checks: "shares of frames by weight, whatever their lengths",
		config: func(c *pipeline.Config) {
			separate(c)
			c.Ports[2].Scheduler.Weight = weights
			c.Ports[2].Scheduler.Unit = qos.Packets
		}}, func(b *bench) {
		const in, out, rounds = 0, 2, 60
		b.send(block(out, b.now().Add(time.Microsecond), every...))
		at, sum := b.now().Add(start), 0
		for q := range 4 {
			p := packet{from: in, to: out, dscp: uint8(q), payload: 1024 >> q}
			b.send(stream{port: in, at: at, count: rounds*weights[q] + 5, frame: &p})
			at = at.Add(time.Duration(rounds*weights[q]+5) * onWire(p.size(), linkRate))
			sum += weights[q]
		}
		b.run(at.Add(start))
		b.drain(out, every...)
		data, _ := b.arrivals(out)
		var got [4]int
		for _, a := range data[:rounds*sum] {
			got[a.class.DSCP]++
		}
		for q := range 4 {
			b.near("share", float64(got[q])/float64(rounds*sum),
				float64(weights[q])/float64(sum), 0.01)
		}
	})
}
