package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/qos"
)

// congestionPoint is that of the QCN case: [QCN] with a tenth of its sizes and without jitter, so
// that each sample is known beforehand.
var congestionPoint = qos.QCNConfig{Qeq: 3300, W: 2, Base: 15 * unit.KB, Headers: 32}

// message is what a CNM should say.
type message struct {
	frame    int // that was sampled, counted from 0
	feedback uint8
}

// expectedMessages follows [QCN] section 2 for a queue that only grows, by frames of n bytes:
//
//	Fb = -(Qoff + w Qdelta)                                       equation 1
//
// sampled every 150 KB, or as table 1 says by the three upper bits of the quantized Fb.
func expectedMessages(c *qos.QCNConfig, n unit.Bytes, frames int) (list []message) {
	periods := []unit.Bytes{150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500}
	var old unit.Bytes
	left := c.Base
	for i := range frames {
		q := unit.Bytes(i+1) * n
		if left -= n; left > 0 {
			continue
		}
		minus := float64(q-c.Qeq) + c.W*float64(q-old)
		old = q
		row := 0
		if minus > 0 {
			fb := uint8(min(63, minus*63/(float64(c.Qeq)*(2*c.W+1))))
			list = append(list, message{i, fb})
			row = int(fb / 8)
		}
		left = periods[row] * c.Base / periods[0]
	}
	return list
}

// [QCN] section 2, IEEE 802.1Q-2022 32.9 and 33.4: samples, feedback, and messages to the source.
func TestQcnCongestionPoint(t *testing.T) {
	conform(t, card{plan: &ourOwn, name: "QCN congestion point",
		checks: "CNMs to the source of the sampled frames, each with its Fb and queue lengths",
		config: func(c *pipeline.Config) {
			obeyAll(c)
			c.Ports[2].Queues[lossyTC].QCN = congestionPoint
		}}, func(b *bench) {
		const in, out, count = 0, 2, 80
		n := packet{}.size()
		fill(b, dscpLossy, count)
		data, _ := b.arrivals(in)
		want := expectedMessages(&congestionPoint, n, count)
		var got, fbs []uint8
		for _, m := range want {
			fbs = append(fbs, m.feedback)
		}
		for i := range data {
			if data[i].class.Kind != frame.CNM {
				b.Errorf("a %v came to the source", data[i].class.Kind)
				continue
			}
			cnm, ok := wire.AsCNM(data[i].bytes[wire.EthernetLen:])
			if !ok {
				b.Fatalf("CNM % x", data[i].bytes)
			}
			got = append(got, cnm.Feedback())
			eth, _ := wire.AsEthernet(data[i].bytes)
			to := station(out).mac()
			if eth.Dst() != station(in).mac() || cnm.Dst() != to ||
				cnm.CPID() != wire.NewCPID(switchMAC(out), lossyTC) {
				b.Errorf("CNM from %v to %v about a frame to %v", cnm.CPID(), eth.Dst(), cnm.Dst())
			}
			if i < len(want) {
				q := unit.Bytes(want[i].frame+1) * n
				b.equal("Qeq - Q", cnm.QOffset(), wire.CNMUnits(int64(congestionPoint.Qeq-q)))
			}
		}
		b.equal("quantized Fb", got, fbs)
		st := b.snapshot().Ports[out].Queues[lossyTC].QCN
		b.equal("CNMs counted", st.CNMs.Frames, len(want))
		b.drain(out, every...)
	})
}

// Telemetry: each frame that leaves tells what it met. Off unless configured.
func TestTelemetry(t *testing.T) {
	conform(t, card{plan: &ourOwn, name: "in-band telemetry at dequeue",
		checks: "time, queue length, bytes sent and rate in each frame; the packet is unchanged",
		config: func(c *pipeline.Config) {
			c.Telemetry = pipeline.Telemetry{Queues: qos.QueueSet(0).With(losslessTC), Switch: 7,
				Hops: 2, MaxFrame: 1514}
		}}, func(b *bench) {
		const in, out, count = 0, 2, 10
		p := packet{from: in, to: out, dscp: dscpLossless}
		s := stream{port: in, at: b.now().Add(start), every: pace, count: count, frame: &p}
		b.send(block(out, b.now().Add(time.Microsecond), losslessTC), s)
		b.run(s.end())
		b.drain(out, losslessTC)
		b.whole(out, count)
		data, _ := b.arrivals(out)
		var lengths, want []unit.Bytes
		for i := range data {
			foot, ok := wire.AsTelemetry(data[i].bytes)
			if !ok || foot.Hops() != 1 {
				b.Fatalf("frame %d carries no record of one hop", i)
			}
			at := len(data[i].bytes) - wire.TelemetryFootLen - wire.TelemetryHopLen
			hop := (*wire.TelemetryHop)(data[i].bytes[at:])
			lengths = append(lengths, hop.QueueLen())
			want = append(want, unit.Bytes(count-1-i)*p.size())
			took := onWire(unit.Bytes(len(data[i].bytes)), linkRate)
			began := data[i].at.Add(-took - b.delay)
			if d := began.Sub(hop.Time()).Abs(); d > grain || hop.Rate() != linkRate ||
				hop.Switch() != 7 || int(hop.Port()) != out || hop.Queue() != losslessTC {
				b.Errorf("frame %d left at %v, its record says %v, rate %v, port %d, queue %d", i,
					began, hop.Time(), hop.Rate(), hop.Port(), hop.Queue())
			}
		}
		b.equal("queue lengths", lengths, want)
	})
}
