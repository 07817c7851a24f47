package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The watchdog of the cases: SONiC's times divided by 500, so that a case takes milliseconds.
const (
	wdPoll    = 100 * time.Microsecond
	wdDetect  = 400 * time.Microsecond
	wdRestore = 400 * time.Microsecond

	// A storm: a frame every 50 us that stops for 60 us.
	wdEvery = 50 * time.Microsecond
	wdHolds = 60 * time.Microsecond
)

// dog is a watchdog with the given action on every port.
func dog(action pfc.Action) func(c *pipeline.Config) {
	return func(c *pipeline.Config) {
		enough(c)
		each(c, func(p *pipeline.Port) {
			p.Watchdog = pfc.WatchdogConfig{Action: action, Detection: wdDetect,
				Restoration: wdRestore, Poll: wdPoll}
		})
	}
}

// storm is PFC from the station at a port for at least the given time.
func storm(b *bench, port int, at unit.Time, lasts time.Duration, priorities ...uint8) stream {
	quantum := time.Duration(wire.QuantumBits) * time.Second / time.Duration(b.cfg.Ports[port].Rate)
	return stream{port: portID(port), at: at, every: wdEvery, count: int(lasts / wdEvery),
		frame: pause(station(port), uint16(wdHolds/quantum), priorities...)}
}

// last is when the last frame of a storm takes effect.
func (b *bench) last(s stream) unit.Time {
	return b.takesEffect(int(s.port), s.at.Add(time.Duration(s.count-1)*s.every), wire.MinFrame)
}

// kinds is how many events of each kind there were for a port and a priority.
func kinds(b *bench, port int, p pfc.Priority) (storms, restored int) {
	b.do(theSwitch, func(unit.Time) {
		for _, e := range b.events {
			switch {
			case int(e.Port) != port || e.Priority != p:
			case e.Kind == pipeline.EventStorm:
				storms++
			case e.Kind == pipeline.EventRestored:
				restored++
			}
		}
	})
	return storms, restored
}

// basic is PFCWD_BASIC: a storm, data during it, and data after it has been got over.
func basic(lasts time.Duration, priorities ...uint8) func(b *bench) {
	return func(b *bench) {
		const in, out = 0, 2
		st := storm(b, out, b.now().Add(start), lasts, priorities...)
		b.send(st)
		const every = 20 * time.Microsecond
		during := int(lasts / every)
		const after = 50
		for _, dscp := range priorities {
			p := packet{from: in, to: out, dscp: dscp}
			b.send(stream{port: in, at: st.at.Add(wdRestore / 2), every: every, count: during,
				frame: &p},
				stream{port: in, at: st.at.Add(lasts + wdRestore + 2*wdPoll), every: every,
					count: after, frame: &p})
		}
		b.run(st.at.Add(lasts + wdRestore/2 + 2*every))
		first, _ := b.arrivals(out)
		b.run(b.now().Add(wdRestore + 3*wdPoll + after*every))
		b.rest()
		all, _ := b.arrivals(out)
		triggers := lasts >= wdDetect+wdPoll
		for _, n := range priorities {
			storms, restored := kinds(b, out, pfc.Priority(n))
			want := 0
			if triggers {
				want = 1
			}
			b.equal("storms", storms, want)
			b.equal("restored", restored, want)
		}
		dropped := b.snapshot().Ledger.Dropped[frame.DropWatchdog].Frames
		if triggers {
			b.equal("data 1 forwarded", len(first), 0)
			b.equal("data 1 dropped", dropped, during*len(priorities))
		} else {
			b.equal("data 1 forwarded", len(all)-after*len(priorities), during*len(priorities))
			b.noDrops()
		}
		b.equal("data 2 forwarded", len(all)-len(first)-b.late(len(first), during,
			len(priorities), triggers), after*len(priorities))
	}
}

// late is how many frames of data 1 came after the first look, when nothing was dropped.
func (b *bench) late(first, during, classes int, dropped bool) int {
	if dropped {
		return 0
	}
	return during*classes - first
}

// test_pfcwd_basic_with_snappi.py, PFCWD_BASIC.md.
func TestPfcwdBasic(t *testing.T) {
	const long, short = 1200 * time.Microsecond, 300 * time.Microsecond
	for _, c := range []struct {
		name, checks string
		lasts        time.Duration
		priorities   []uint8
	}{
		{"test_pfcwd_basic_single_lossless_prio (storm)",
			"a storm longer than detection and poll: data 1 dropped, data 2 forwarded", long,
			[]uint8{losslessTC}},
		{"test_pfcwd_basic_single_lossless_prio (no storm)",
			"a storm shorter than detection: nothing dropped", short, []uint8{losslessTC}},
		{"test_pfcwd_basic_multi_lossless_prio (storm)", "the same, both lossless priorities",
			long, []uint8{losslessTC, otherTC}},
		{"test_pfcwd_basic_multi_lossless_prio (no storm)", "the same, both lossless priorities",
			short, []uint8{losslessTC, otherTC}},
	} {
		conform(t, card{plan: &watchdogPlan, name: c.name, checks: c.checks,
			config: dog(pfc.Drop)}, basic(c.lasts, c.priorities...))
	}
}

// polled is the first poll at or after a time.
func polled(at unit.Time) unit.Time {
	n := unit.Time(wdPoll)
	return (at + n - 1) / n * n
}

// test_pfcwd_timer_accuracy.py: when a storm is detected and when it is over, against the times
// configured and the poll.
func TestPfcwdTimerAccuracy(t *testing.T) {
	conform(t, card{plan: &watchdogPlan, name: "test_pfcwd_timer_accuracy",
		checks: "detected and restored at the poll that the configured times lead to",
		config: dog(pfc.Drop)}, func(b *bench) {
		const out = 2
		st := storm(b, out, b.now().Add(start), 1500*time.Microsecond, losslessTC)
		b.send(st)
		b.run(b.last(st).Add(wdRestore + 3*wdPoll))
		if len(b.events) != 2 {
			b.Fatalf("%d events: %+v", len(b.events), b.events)
		}
		begin := b.takesEffect(out, st.at, wire.MinFrame)
		detect := polled(begin).Add(wdDetect)
		b.soon("detection after", b.events[0].At.Sub(begin), detect.Sub(begin))
		over := polled(b.last(st)).Add(wdRestore)
		b.soon("restoration after the last frame", b.events[1].At.Sub(b.last(st)),
			over.Sub(b.last(st)))
	})
}

// PFCWD_2SENDER_2RECEIVER.md: a storm at one receiver touches nothing but the traffic to and from
// it in the stormed priority.
func TestPfcwdTwoSendersTwoReceivers(t *testing.T) {
	for _, c := range []struct {
		name    string
		lasts   time.Duration
		trigger bool
	}{{"storm", 1200 * time.Microsecond, true}, {"no storm", 300 * time.Microsecond, false}} {
		conform(t, card{plan: &watchdogPlan, name: "PFCWD_2SENDER_2RECEIVER (" + c.name + ")",
			checks: "two-way traffic of three ports, storm at one: only its own is touched",
			config: dog(pfc.Drop)}, func(b *bench) { threeWay(b, c.lasts, c.trigger) })
	}
}

// threeWay has port 0 talk with ports 1 and 2, both ways, lossless and lossy; the storm is at 1.
func threeWay(b *bench, lasts time.Duration, trigger bool) {
	const a, stormy, quiet = 0, 1, 2
	const every, count = 20 * time.Microsecond, 80
	st := storm(b, stormy, b.now().Add(start), lasts, losslessTC)
	b.send(st)
	type flow struct {
		from, to int
		dscp     uint8
	}
	var flows []flow
	for _, dscp := range []uint8{dscpLossless, dscpLossy} {
		flows = append(flows, flow{a, stormy, dscp}, flow{stormy, a, dscp}, flow{a, quiet, dscp},
			flow{quiet, a, dscp})
	}
	for _, f := range flows {
		b.send(stream{port: portID(f.from), at: st.at.Add(start), every: every, count: count,
			frame: &packet{from: station(f.from), to: station(f.to), dscp: f.dscp}})
	}
	b.run(st.at.Add(lasts + wdRestore + 3*wdPoll + count*every))
	b.rest()
	for _, f := range flows {
		n := 0
		data, _ := b.arrivals(f.to)
		for i := range data {
			from := station(f.from).mac()
			if string(data[i].bytes[6:12]) == string(from[:]) && data[i].class.DSCP == f.dscp {
				n++
			}
		}
		touched := trigger && f.dscp == dscpLossless && (f.from == stormy || f.to == stormy)
		if touched == (n == count) {
			b.Errorf("%+v: %d of %d frames arrived", f, n, count)
		}
	}
	snap := b.snapshot()
	want := 0
	if trigger {
		want = 1
	}
	b.equal("storms", snap.Ports[stormy].Watchdog[losslessTC].Detected, want)
	b.equal("elsewhere", snap.Ports[a].Watchdog[losslessTC].Detected+
		snap.Ports[quiet].Watchdog[losslessTC].Detected+
		snap.Ports[stormy].Watchdog[otherTC].Detected, 0)
	b.equal("dropped by others", snap.Ledger.DroppedTotal().Frames-
		snap.Ledger.Dropped[frame.DropWatchdog].Frames, 0)
}

// test_pfcwd_a2a_with_snappi.py: everybody sends to everybody, and everybody storms.
func TestPfcwdAllToAll(t *testing.T) {
	conform(t, card{plan: &watchdogPlan, name: "test_pfcwd_all_to_all",
		checks: "all ports storm and send to all: each is detected, and all recover",
		config: dog(pfc.Drop)}, func(b *bench) {
		const every, count = 60 * time.Microsecond, 20
		at := b.now().Add(start)
		var lasts = 1200 * time.Microsecond
		for in := range maxPorts {
			b.send(storm(b, in, at, lasts, losslessTC))
			for out := range maxPorts {
				if out != in {
					b.send(stream{port: portID(in), at: at.Add(start), every: every, count: count,
						frame: &packet{from: station(in), to: station(out), dscp: dscpLossless}})
				}
			}
		}
		b.run(at.Add(lasts + wdRestore + 3*wdPoll))
		b.rest()
		snap := b.snapshot()
		var got []uint64
		for i := range maxPorts {
			w := snap.Ports[i].Watchdog[losslessTC]
			got = append(got, w.Detected, w.Restored)
		}
		b.equal("detected and restored by port", got, []uint64{1, 1, 1, 1, 1, 1, 1, 1})
		const again = 10
		for in := range maxPorts {
			b.send(stream{port: portID(in), at: b.now().Add(start), every: every, count: again,
				frame: &packet{from: station(in), to: station((in + 1) % maxPorts),
					dscp: dscpLossless}})
		}
		before := b.snapshot().Ledger.DroppedTotal()
		b.run(b.now().Add(start + again*every))
		b.rest()
		b.equal("dropped afterwards", b.snapshot().Ledger.DroppedTotal().Frames-before.Frames, 0)
	})
}

// test_pfcwd_m2o_with_snappi.py: many senders into one port that storms; the senders, whose groups
// had gone to XOFF, run again while the storm lasts.
func TestPfcwdManyToOne(t *testing.T) {
	conform(t, card{plan: &watchdogPlan, name: "test_pfcwd_many_to_one",
		checks: "three senders into a storm: their groups leave XOFF when it is detected",
		config: dog(pfc.Drop)}, func(b *bench) {
		const out = 2
		lasts := 1500 * time.Microsecond
		st := storm(b, out, b.now().Add(start), lasts, losslessTC)
		b.send(st)
		for _, in := range []int{0, 1, 3} {
			b.send(full(b, in, out, dscpLossless, 900))
		}
		// Halfway through the detection time all groups are full, and after it none is.
		b.run(st.at.Add(wdDetect - wdPoll))
		paused := 0
		for _, p := range b.snapshot().Ports {
			if p.Groups[losslessTC].XOFF {
				paused++
			}
		}
		b.equal("groups in XOFF before", paused, 3)
		b.run(st.at.Add(wdDetect + 2*wdPoll))
		paused = 0
		for _, p := range b.snapshot().Ports {
			if p.Groups[losslessTC].XOFF {
				paused++
			}
		}
		b.equal("groups in XOFF after", paused, 0)
		b.rest()
		b.run(b.last(st).Add(wdRestore + 3*wdPoll))
		b.equal("restored", b.snapshot().Ports[out].Watchdog[losslessTC].Restored, 1)
	})
}

// test_pfcwd_burst_storm_with_snappi.py: storms one after the other, each detected and got over.
func TestPfcwdBurstStorm(t *testing.T) {
	conform(t, card{plan: &watchdogPlan, name: "test_pfcwd_burst_storm_single_lossless_prio",
		checks: "three storms in a row: three detections, three restorations",
		config: dog(pfc.Drop)}, func(b *bench) {
		const out, bursts = 2, 3
		const lasts = 800 * time.Microsecond
		const period = lasts + wdRestore + 4*wdPoll
		at := b.now().Add(start)
		for i := range bursts {
			b.send(storm(b, out, at.Add(time.Duration(i)*period), lasts, losslessTC))
		}
		b.run(at.Add(bursts * period))
		w := b.snapshot().Ports[out].Watchdog[losslessTC]
		b.equal("detected", w.Detected, bursts)
		b.equal("restored", w.Restored, bursts)
		b.equal("stormed", w.Stormed, false)
	})
}

// test_pfcwd_actions.py: what becomes of the data of a stormed priority by action.
func TestPfcwdActions(t *testing.T) {
	for _, c := range []struct {
		action pfc.Action
		checks string
	}{
		{pfc.Drop, "drop: what is queued, what comes for it and what comes from the port is lost"},
		{pfc.Forward, "forward: the pause is ignored, everything leaves during the storm"},
		{pfc.Alert, "alert: the storm is reported and obeyed, everything leaves afterwards"},
	} {
		conform(t, card{plan: &watchdogPlan, name: "test_pfcwd_actions (" + c.action.String() + ")",
			checks: c.checks, config: dog(c.action)}, actions(c.action))
	}
}

func actions(action pfc.Action) func(b *bench) {
	return func(b *bench) {
		const in, out, count = 0, 2, 40
		const every, lasts = 25 * time.Microsecond, 1500 * time.Microsecond
		st := storm(b, out, b.now().Add(start), lasts, losslessTC)
		to := stream{port: in, at: st.at.Add(start), every: every, count: count,
			frame: &packet{from: in, to: out, dscp: dscpLossless}}
		// From the stormy port, when the storm has been detected.
		from := stream{port: out, at: st.at.Add(700 * time.Microsecond), every: every,
			count: count / 2, frame: &packet{from: out, to: in, dscp: dscpLossless}}
		b.send(st, to, from)
		if action == pfc.Drop { // What the XDP program drops counts when it arrives, too.
			b.sample(from, func(s *pipeline.Snapshot) uint64 {
				return s.Ports[out].Watchdog[losslessTC].RX.Dropped
			})
		}
		b.run(b.last(st))
		during, _ := b.arrivals(out)
		b.run(b.now().Add(wdRestore + 4*wdPoll))
		b.rest()
		after, _ := b.arrivals(out)
		back, _ := b.arrivals(in)
		w := b.snapshot().Ports[out].Watchdog[losslessTC]
		b.equal("detected, restored", []uint64{w.Detected, w.Restored}, []uint64{1, 1})
		want := map[pfc.Action][3]int{pfc.Drop: {0, 0, 0}, pfc.Forward: {count, count, count / 2},
			pfc.Alert: {0, count, count / 2}}[action]
		b.equal("to the port during the storm", len(during), want[0])
		b.equal("to the port in the end", len(after), want[1])
		b.equal("from the port", len(back), want[2])
		switch action {
		case pfc.Drop:
			b.equal("TX dropped, RX dropped", []uint64{w.TX.Dropped, w.RX.Dropped},
				[]uint64{count, count / 2})
			if n := b.filtered(out, losslessTC); b.mode == onRealFrames && n != count/2 {
				b.Errorf("the XDP program dropped %d frames, want %d", n, count/2)
			}
		case pfc.Forward:
			b.equal("TX, RX dropped", []uint64{w.TX.Dropped, w.RX.Dropped}, []uint64{0, 0})
			b.noDrops()
		default:
			b.noDrops()
		}
	}
}

// [RDMA at scale] section 4.3: the watchdog of the paper watches for a queue that cannot drain;
// PFC that stops an empty queue is no storm to it.
func TestPfcwdOfThePaper(t *testing.T) {
	conform(t, card{plan: &watchdogPlan, name: "rule of [RDMA at scale] 4.3",
		checks: "PFC at an empty queue is no storm, at a queue that cannot drain it is",
		config: func(c *pipeline.Config) {
			dog(pfc.Drop)(c)
			each(c, func(p *pipeline.Port) { p.Watchdog.Rule = pfc.RuleUndrained })
		}}, func(b *bench) {
		const in, out = 0, 2
		st := storm(b, out, b.now().Add(start), 1000*time.Microsecond, losslessTC)
		b.send(st)
		b.run(b.last(st).Add(wdRestore + 2*wdPoll))
		b.equal("detected while empty", b.snapshot().Ports[out].Watchdog[losslessTC].Detected, 0)
		st = storm(b, out, b.now().Add(start), 1000*time.Microsecond, losslessTC)
		b.send(st, stream{port: in, at: st.at.Add(start), every: pace, count: 5,
			frame: &packet{from: in, to: out, dscp: dscpLossless}})
		b.run(b.last(st).Add(wdRestore + 2*wdPoll))
		b.equal("detected with a backlog", b.snapshot().Ports[out].Watchdog[losslessTC].Detected, 1)
		var q mmu.Queue = losslessTC
		b.equal("dropped", b.snapshot().Ports[out].Queues[q].Dropped[frame.DropWatchdog], 5)
	})
}
