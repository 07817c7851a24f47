package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The 4:1 incast of the demo under every algorithm that lives on congestion feedback: marks, round
// trips or telemetry, told by the receiver packet by packet. Thresholds of the switch are those of
// [DCQCN] for all, so the table compares what algorithms make of them, not what they could do.
//
// Whatever they are: nothing is lost, the link is in use, and the flows share it. HPCC shares it
// slowly: its additive increase is made for a hundred flows.
func TestAlgorithmsOnFeedback(t *testing.T) {
	at := span{20 * time.Millisecond, 60 * time.Millisecond, 10 * time.Millisecond}
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s%8s%12s%14s%14s%14s%8s%8s\n", "4:1 incast", "Jain", "utilisation",
		"queue mean KB", "queue p99 KB", "queue max KB", "PFC", "marks")
	for _, c := range []struct {
		algorithm  string
		jain, most float64 // least index, largest mean queue in bytes
	}{
		{"dctcp", 0.99, 200e3},      // up to K_max, where all is marked
		{"hpcc", 0.9, 10e3},         // aims at a part of the link
		{"ldcp", 0.99, 200e3},       // beneath K_max
		{"ldcp_probe", 0.99, 600e3}, // its decreases come with CNPs, each 50 us
		{"swift", 0.99, 115e3},      // its target of 23 us at 40 Gb/s
		{"timely", 0.99, 250e3},     // T_low of 50 us
	} {
		s := newStar(t, incast(c.algorithm, 1<<20, 1))
		o := measure(t, s, newVirtual(t, s), at)
		q := o.queue.Length
		fmt.Fprintf(&b, "%-12s%8.4f%12.4f%14.1f%14.1f%14.1f%8d%8d\n", c.algorithm, o.jain,
			o.utilisation, q.Mean/1e3, float64(q.P99)/1e3, float64(q.Max)/1e3, o.pfcFrames, o.marks)
		if o.jain < c.jain || o.utilisation < 0.95 || o.dropped != 0 || o.retransmits != 0 {
			t.Errorf("%s: utilisation %.4f, Jain %.4f, dropped %d, sent again %d", c.algorithm,
				o.utilisation, o.jain, o.dropped, o.retransmits)
		}
		if q.Mean > c.most {
			t.Errorf("%s: mean queue %.1f KB, want at most %.1f", c.algorithm, q.Mean/1e3,
				c.most/1e3)
		}
	}
	golden(t, "testdata/feedback.txt", b.String())
}
