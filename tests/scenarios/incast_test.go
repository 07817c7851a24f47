package scenarios

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// dataClass is the priority and the queue of data: DSCP 26.
const dataClass = 3

// incast is four senders to one receiver with links of 40 Gb/s and 1 us.
func incast(algorithm string, message int, seed uint64) setup {
	return setup{senders: 4, delay: time.Microsecond, algorithm: algorithm, message: message,
		seed: seed}
}

// span is the time of an incast.
type span struct {
	warmup time.Duration // nothing before it counts for rates
	end    time.Duration // when the flows stop, and all totals are taken
	drain  time.Duration // for the messages that are on their way then
}

// outcome is what an incast came to by its end.
type outcome struct {
	goodput     []float64 // b/s by sender, after the warm-up
	jain        float64
	utilisation float64 // of the receiver's link, after the warm-up
	delivered   unit.Bytes
	queue       pipeline.QueueSnapshot // at the bottleneck, over the whole run
	pfcFrames   uint64
	paused      time.Duration // sum over the senders
	marks, cnps uint64
	retransmits uint64
	dropped     uint64

	senders []nic.Snapshot
}

// probe is what has been delivered at a time.
type probe struct {
	acked []unit.Bytes // by sender
	line  unit.Bytes   // on the receiver's link, with gaps
}

// measure runs an incast, and checks that no frame was lost and none is left.
func measure(t testing.TB, s *star, b bed, at span) outcome {
	t.Helper()
	s.start(t, b, func(_ int, f *app.Flow) { f.Stop = unit.Time(at.end) })
	before, after := s.probe(b, at.warmup), s.probe(b, at.end)
	var o outcome
	s.totals(b, at.end, &o)
	b.run(unit.Time(at.warmup))
	b.run(unit.Time(at.end))
	o.add()
	seconds := (at.end - at.warmup).Seconds()
	var sum, squares float64
	for i := range s.senders {
		rate := float64(after.acked[i]-before.acked[i]) * 8 / seconds
		o.goodput = append(o.goodput, rate)
		sum += rate
		squares += rate * rate
	}
	o.jain = sum * sum / (float64(s.senders) * squares)
	o.utilisation = float64(after.line-before.line) * 8 / seconds / float64(s.rate(s.receiver()))
	b.run(unit.Time(at.end + at.drain))
	b.stop()
	s.check(t)
	return o
}

// probe asks for what has been delivered at a time.
func (s *star) probe(b bed, at time.Duration) *probe {
	p := &probe{acked: make([]unit.Bytes, s.senders)}
	for i := range s.senders {
		b.at(unit.Time(at), i, func(unit.Time) {
			v, _ := s.hosts[i].NIC().View(s.flows[i].QPN)
			p.acked[i] = unit.Bytes(v.Stats.BytesAcked)
		})
	}
	b.at(unit.Time(at), s.switchNode(), func(unit.Time) {
		sent, _ := s.sw.QueueCounts(dataplane.PortID(s.receiver()), dataClass)
		p.line = unit.Bytes(sent.Bytes) + unit.Bytes(sent.Frames)*wire.Overhead
	})
	return p
}

// totals asks for what all machines have counted at a time.
func (s *star) totals(b bed, at time.Duration, o *outcome) {
	b.at(unit.Time(at), s.switchNode(), func(now unit.Time) {
		var sw pipeline.Snapshot
		s.sw.Snapshot(now, &sw)
		o.queue = sw.Ports[s.receiver()].Queues[dataClass]
		o.marks, o.pfcFrames = o.queue.Marked.Frames, s.sw.PFCSent()
		o.dropped = sw.Ledger.DroppedTotal().Frames
	})
	o.senders = make([]nic.Snapshot, s.senders)
	for i := range s.senders {
		b.at(unit.Time(at), i, func(now unit.Time) {
			s.hosts[i].NIC().Snapshot(now, &o.senders[i])
		})
	}
	b.at(unit.Time(at), s.receiver(), func(now unit.Time) {
		var n nic.Snapshot
		s.hosts[s.receiver()].NIC().Snapshot(now, &n)
		o.cnps = n.Counters.NPCNPSent
	})
}

// add sums up the senders.
func (o *outcome) add() {
	for i := range o.senders {
		n := &o.senders[i]
		o.paused += n.Pause[dataClass].RxPauseDuration
		o.retransmits += n.QPs[0].Stats.PacketsRetransmitted
		o.delivered += unit.Bytes(n.QPs[0].Stats.BytesAcked)
	}
}

// BenchmarkIncast is how many frames a second the switch of an incast passes on in virtual time,
// with four senders, the receiver and all their acknowledgements simulated around it.
func BenchmarkIncast(b *testing.B) {
	for _, algorithm := range []string{"none", "dcqcn"} {
		b.Run(algorithm, func(b *testing.B) {
			s := newStar(b, incast(algorithm, 1<<20, 1))
			v := newVirtual(b, s)
			s.start(b, v, func(int, *app.Flow) {})
			now := 5000 * us // past the start
			v.run(now)
			before := s.sw.Ledger().Sent.Frames
			b.ReportAllocs()
			for b.Loop() {
				now += 10 * us
				v.run(now)
			}
			passed := float64(s.sw.Ledger().Sent.Frames - before)
			b.ReportMetric(passed/b.Elapsed().Seconds(), "frames/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/passed, "ns/frame")
		})
	}
}
