package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/roce/cc"
)

// A short incast under every algorithm, in whole numbers: what any difference in what a processor
// computes would change. tests/portable runs it for others than the one at hand.
func TestShortIncasts(t *testing.T) {
	at := span{200 * time.Microsecond, 1000 * time.Microsecond, 3 * time.Millisecond}
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s%10s%8s%6s%6s%10s%10s  rates at the end, b/s\n", "4:1 incast", "bytes",
		"marks", "CNPs", "PFC", "max queue", "p99 queue")
	for _, algorithm := range cc.BuiltIn().Names() {
		s := newStar(t, incast(algorithm, 64<<10, 1))
		o := measure(t, s, newVirtual(t, s), at)
		fmt.Fprintf(&b, "%-12s%10d%8d%6d%6d%10d%10d ", algorithm, o.delivered, o.marks, o.cnps,
			o.pfcFrames, o.queue.Length.Max, o.queue.Length.P99)
		for i := range o.senders {
			fmt.Fprintf(&b, " %d", int64(o.senders[i].QPs[0].Rate))
		}
		b.WriteString("\n")
		if o.delivered == 0 || o.dropped != 0 || o.retransmits != 0 {
			t.Errorf("%s: %d bytes, %d dropped, %d sent again", algorithm, o.delivered, o.dropped,
				o.retransmits)
		}
	}
	golden(t, "testdata/short.txt", b.String())
}
