package qos

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// qcnVectors are computed by hand from [QCN] equation 1 with the paper's Qeq of 33 KB and W of 2:
// -Fb = (Q - 33 KB) + 2 (Q - Qold). The quantum is 5 * 33 KB / 63 = 2619.05 bytes.
var qcnVectors = []struct {
	name   string
	qold   unit.Bytes
	queue  unit.Bytes
	minus  int64 // -Fb in bytes
	quanta uint8
	next   unit.Bytes // [QCN] table 1
}{
	{"empty", 0, 0, -33_000, 0, 150_000},
	{"at Qeq, steady", 33_000, 33_000, 0, 0, 150_000},
	{"a byte above Qeq", 33_000, 33_001, 3, 0, 150_000},
	{"below Qeq, growing", 10_000, 30_000, 37_000, 14, 75_000},
	{"above Qeq, steady", 66_000, 66_000, 33_000, 12, 75_000},
	{"above Qeq, falling as fast as it is too long", 50_000, 44_333, -1, 0, 150_000},
	{"one quantum", 33_000, 33_874, 2622, 1, 150_000},
	{"seven quanta", 33_000, 39_112, 18_336, 7, 150_000},
	{"eight quanta", 33_000, 39_985, 20_955, 8, 75_000},
	{"row 2", 33_000, 47_000, 42_000, 16, 50_000},
	{"row 3", 33_000, 54_000, 63_000, 24, 37_500},
	{"row 4", 33_000, 61_000, 84_000, 32, 30_000},
	{"row 5", 33_000, 68_000, 105_000, 40, 25_000},
	{"row 6", 33_000, 75_000, 126_000, 48, 21_500},
	{"row 7", 33_000, 82_000, 147_000, 56, 18_500},
	{"twice Qeq from nothing", 0, 66_000, 165_000, 63, 18_500},
	{"the whole buffer from nothing", 0, 150_000, 417_000, 63, 18_500},
}

// TestQCNEquation1 also checks table 1: the period that follows, without jitter.
func TestQCNEquation1(t *testing.T) {
	c := NetFPGA()
	c.Jitter = 0
	for _, v := range qcnVectors {
		p := NewCongestionPoint(c)
		p.qold, p.left = v.qold, 1
		fb, sampled := p.Enqueued(1, v.queue, nil)
		want := Feedback{v.minus > 0, v.quanta, v.queue - 33_000, v.queue - v.qold}
		if !sampled || fb != want {
			t.Errorf("%s: %+v, want %+v", v.name, fb, want)
		}
		if minus := int64(fb.Qoff + 2*fb.Qdelta); minus != v.minus {
			t.Errorf("%s: -Fb is %d, want %d", v.name, minus, v.minus)
		}
		if p.left != v.next || p.qold != v.queue {
			t.Errorf("%s: next after %d with Qold %d, want %d", v.name, p.left, p.qold, v.next)
		}
	}
}

// TestQCNTable1 feeds frames at a constant queue and counts those between samples: the period is
// that of the row, jittered evenly by 15 % to either side.
func TestQCNTable1(t *testing.T) {
	for row, period := range table1 {
		p := NewCongestionPoint(NetFPGA())
		// A steady queue with -Fb in the middle of the row: -Fb is its excess over Qeq.
		queue := 33_000 + unit.Bytes((8*row+4)*165_000/63) + 1
		p.qold = queue
		rng := rand.New(rand.NewPCG(uint64(row), 1))
		const n = 400
		least, most, sum := math.Inf(1), 0.0, 0.0
		run := 0.0
		first := true
		for samples := 0; samples <= n; {
			run += 64
			if _, sampled := p.Enqueued(64, queue, rng); sampled {
				samples++
				if !first {
					least, most, sum = min(least, run), max(most, run), sum+run
				}
				run, first = 0, false
			}
		}
		want := float64(period)
		if least < 0.85*want || least > 0.87*want || most > 1.15*want+64 || most < 1.13*want {
			t.Errorf("row %d: periods %v to %v, want 0.85 to 1.15 of %v", row, least, most, want)
		}
		// The standard deviation of the mean of 400 is 0.15/sqrt(3)/20 = 0.43 % of the period;
		// a period is counted in whole frames, half a frame too long.
		if got := sum/n - 32; math.Abs(got-want) > 4*0.0043*want {
			t.Errorf("row %d: mean period %v, want %v", row, got, want)
		}
		if p.Samples != n+1 || p.Congested != n+1 {
			t.Errorf("row %d: counted %+v", row, p.Sampling)
		}
	}
}

// TestQCNBase: another base stretches the whole table.
func TestQCNBase(t *testing.T) {
	c := NetFPGA()
	c.Base = 300 * unit.KB
	p := NewCongestionPoint(c)
	for i, period := range p.period {
		if period != 2*table1[i] {
			t.Errorf("row %d: %d", i, period)
		}
	}
}

// TestQCNOff: no configuration, no congestion point.
func TestQCNOff(t *testing.T) {
	p := NewCongestionPoint(QCNConfig{})
	if p.On() {
		t.Error("it is on")
	}
	if p = NewCongestionPoint(NetFPGA()); !p.On() {
		t.Error("it is off")
	}
}

// TestQCNAgainstFloats compares the fixed point with equation 1 in floating point, for any
// parameters that are valid and any queues.
func TestQCNAgainstFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := QCNConfig{Qeq: unit.Bytes(rapid.Int64Range(1, int64(maxQeq)).Draw(t, "qeq")),
			W: rapid.Float64Range(0, maxW).Draw(t, "w"), Base: 150_000}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		p := NewCongestionPoint(c)
		p.qold = unit.Bytes(rapid.Int64Range(0, 1<<32).Draw(t, "qold"))
		queue := unit.Bytes(rapid.Int64Range(0, 1<<32).Draw(t, "queue"))
		w := math.Round(c.W*65536) / 65536
		minus := float64(queue-c.Qeq) + w*float64(queue-p.qold)
		want := min(max(minus/(float64(c.Qeq)*(2*w+1)), 0), 1) * 63
		fb := p.feedback(queue)
		if math.Abs(float64(fb.Quantized)-want) > 1 || fb.Congested != (minus > 0) {
			t.Fatalf("%+v, want %v of -Fb %v", fb, want, minus)
		}
	})
}

func BenchmarkQCN(b *testing.B) {
	p := NewCongestionPoint(NetFPGA())
	rng := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		p.Enqueued(1082, 100_000, rng)
	}
	if p.Samples == 0 && b.N > 1000 {
		b.Fatal("no sample")
	}
}
