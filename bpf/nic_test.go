package bpf

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/classify"
)

// TestNICVerdicts: RDMA and flow control to the socket with metadata, the rest to the kernel as
// it came.
func TestNICVerdicts(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loaded(t, LoadNIC, m)
	var want Counters
	for _, k := range kinds {
		r := run(t, p, k.frame)
		if r.verdict != k.nic || r.stamped != (k.nic == xdpRedirect) {
			t.Errorf("%s: verdict %d, want %d; stamped %v", k.name, r.verdict, k.nic, r.stamped)
		}
		if r.stamped && r.class != m.Classify(k.frame) {
			t.Errorf("%s: class %+v", k.name, r.class)
		}
		want.Received++
		if k.nic == xdpRedirect {
			want.ToSocket++
		} else {
			want.ToKernel++
		}
	}
	want.PFCFrames, want.PFCXOFF[3], want.PFCXON[4] = 1, 1, 1
	if got := counters(t, p); got != want {
		t.Errorf("counters\n got %+v\nwant %+v", got, want)
	}
}

// TestNICMalformed: the kernel judges what we cannot read.
func TestNICMalformed(t *testing.T) {
	p := loaded(t, LoadNIC, testMap(classify.TrustDSCP))
	b := packet{}.Bytes()
	b[14] = 0x55
	if got := run(t, p, b).verdict; got != xdpPass {
		t.Errorf("verdict %d", got)
	}
	if got := counters(t, p); got.Malformed != 1 || got.ToKernel != 1 {
		t.Errorf("counters %+v", got)
	}
}
