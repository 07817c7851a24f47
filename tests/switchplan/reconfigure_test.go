package switchplan

import (
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// reconfigure changes the running switch at a time. The configuration that a case computes with
// changes too.
func (b *bench) reconfigure(at unit.Time, change func(c *pipeline.Config)) {
	b.Helper()
	next := *b.cfg
	next.Ports, next.Pools = slices.Clone(next.Ports), slices.Clone(next.Pools)
	change(&next)
	b.at(at, theSwitch, func(now unit.Time) {
		if err := b.sw.Reconfigure(now, next); err != nil {
			b.Error(err)
		}
	})
	b.cfg = &next
}

// QoS SAI testQosSaiDwrrWeightChange: weights that change while the queues are full count from then
// on.
func TestQosSaiDwrrWeightChange(t *testing.T) {
	changed := [mmu.Queues]int{4, 3, 2, 1, 14, 14, 15, 15}
	conform(t, card{plan: &qosSAI, name: "testQosSaiDwrrWeightChange",
		checks: "shares by the old weights before the change, by the new ones after it",
		config: func(c *pipeline.Config) {
			separate(c)
			c.Ports[2].Scheduler.Weight = weights
		}}, func(b *bench) {
		shares(b, weights)
		b.reconfigure(b.now().Add(start), func(c *pipeline.Config) {
			c.Ports[2].Scheduler.Weight = changed
		})
		b.run(b.now().Add(2 * start))
		shares(b, changed)
	})
}

// test_pfcwd_runtime_traffic_with_snappi.py: a watchdog that is switched on while traffic runs, and
// no storm, does nothing to the traffic.
func TestPfcwdRuntimeTraffic(t *testing.T) {
	conform(t, card{plan: &watchdogPlan, name: "test_pfcwd_runtime_traffic", config: enough,
		checks: "the watchdog switched on under congestion: nothing lost, no storm"},
		func(b *bench) {
			const out, count = 2, 700
			b.send(full(b, 0, out, dscpLossless, count), full(b, 1, out, dscpLossless, count))
			b.reconfigure(b.now().Add(200*time.Microsecond), dog(pfc.Drop))
			b.run(b.now().Add(700 * time.Microsecond))
			b.rest()
			b.noDrops()
			b.whole(out, 2*count)
			b.equal("storms", b.snapshot().Ports[out].Watchdog[losslessTC].Detected, 0)
			b.equal("watched", b.snapshot().Ports[out].Watchdog[losslessTC].Watched, true)
		})
}

// Live reconfiguration loses nothing: under full load, with groups in XOFF, thresholds, maps,
// marking and scheduler change several times.
func TestReconfigureLosesNothing(t *testing.T) {
	conform(t, card{plan: &ourOwn, name: "live reconfiguration", config: enough,
		checks: "limits, marking and weights change under congestion: nothing is lost"},
		func(b *bench) {
			const out, count = 2, 500
			for _, in := range []int{0, 1, 3} {
				b.send(full(b, in, out, dscpLossless, count))
			}
			for i, change := range []func(c *pipeline.Config){
				func(c *pipeline.Config) {
					each(c, func(p *pipeline.Port) {
						p.Groups[losslessTC].Limit = mmu.Alpha(1, 16)
					})
				},
				func(c *pipeline.Config) {
					c.Ports[out].Queues[losslessTC].WRED = qos.WREDConfig{Mark: step(5000)}
				},
				func(c *pipeline.Config) {
					each(c, func(p *pipeline.Port) {
						p.Groups[losslessTC].Limit = mmu.Alpha(1, 1)
					})
					c.Ports[out].Scheduler.Weight[losslessTC] = 3
				},
			} {
				b.reconfigure(b.now().Add(time.Duration(i+1)*200*time.Microsecond), change)
			}
			b.run(b.now().Add(time.Millisecond))
			b.rest()
			b.noDrops()
			b.whole(out, 3*count)
		})
}
