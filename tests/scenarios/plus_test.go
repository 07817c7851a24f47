package scenarios

import (
	"testing"
	"time"
)

// TestDCQCNPlusSmallIncast: [DCQCN+] section 4, "we have similar performance with DCQCN" in small
// incasts: 4:1 at 40 Gb/s shares the link, keeps it in use and loses nothing.
func TestDCQCNPlusSmallIncast(t *testing.T) {
	s := newStar(t, incast("dcqcn_plus", 1<<20, 1))
	o := measure(t, s, newVirtual(t, s), span{20 * time.Millisecond, 60 * time.Millisecond,
		20 * time.Millisecond})
	t.Logf("goodput %.3g b/s, utilisation %.4f, Jain %.4f, queue %.1f KB, %d CNPs, %d PFC frames",
		o.goodput, o.utilisation, o.jain, o.queue.Length.Mean/1e3, o.cnps, o.pfcFrames)
	if o.utilisation < 0.95 || o.jain < 0.95 || o.dropped != 0 || o.retransmits != 0 ||
		o.cnps == 0 {
		t.Errorf("%+v", o)
	}
}
