package scenarios

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden tables")

// The 4:1 incast of the demo in virtual time, with PFC alone and with DCQCN as [DCQCN] figure 14
// sets it. The table is the whole of what a reader of the paper would ask; the assertions beside
// it say what must hold however the numbers move.
func TestIncastTable(t *testing.T) {
	at := span{20 * time.Millisecond, 60 * time.Millisecond, 10 * time.Millisecond}
	run := func(algorithm string) outcome {
		s := newStar(t, incast(algorithm, 1<<20, 1))
		return measure(t, s, newVirtual(t, s), at)
	}
	pfc, dcqcn := run("none"), run("dcqcn")
	judge(t, &pfc, &dcqcn)

	golden(t, "testdata/incast.txt", table(&pfc, &dcqcn))
}

// golden compares with a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", file, got)
	}
}

// judge is the shape of [DCQCN] section 6: the same throughput with a queue that is an order of
// magnitude shorter and without pausing once the flows have converged.
func judge(t *testing.T, pfc, dcqcn *outcome) {
	for _, o := range []*outcome{pfc, dcqcn} {
		if o.dropped != 0 || o.retransmits != 0 {
			t.Errorf("dropped %d, sent again %d", o.dropped, o.retransmits)
		}
		if o.jain < 0.98 || o.utilisation < 0.95 {
			t.Errorf("Jain index %.4f, utilisation %.4f", o.jain, o.utilisation)
		}
	}
	if pfc.pfcFrames == 0 || pfc.marks != 0 || pfc.cnps != 0 {
		t.Errorf("PFC alone: %d PFC frames, %d marks, %d CNPs", pfc.pfcFrames, pfc.marks, pfc.cnps)
	}
	if dcqcn.marks == 0 || dcqcn.cnps == 0 || dcqcn.pfcFrames*10 > pfc.pfcFrames {
		t.Errorf("DCQCN: %d marks, %d CNPs, %d PFC frames", dcqcn.marks, dcqcn.cnps,
			dcqcn.pfcFrames)
	}
	if dcqcn.queue.Length.Mean*10 > pfc.queue.Length.Mean {
		t.Errorf("mean queue %.0f with DCQCN, %.0f with PFC alone", dcqcn.queue.Length.Mean,
			pfc.queue.Length.Mean)
	}
}

// table prints both outcomes side by side, each figure with no more digits than mean something.
func table(pfc, dcqcn *outcome) string {
	var b strings.Builder
	row := func(name, format string, value func(*outcome) any) {
		cell := func(o *outcome) string { return fmt.Sprintf(format, value(o)) }
		fmt.Fprintf(&b, "%-28s%14s%14s\n", name, cell(pfc), cell(dcqcn))
	}
	fmt.Fprintf(&b, "%-28s%14s%14s\n", "4:1 incast, 40 Gb/s, 1 us", "PFC alone", "DCQCN")
	for i := range pfc.goodput {
		row(fmt.Sprintf("goodput h%d, Gb/s", i+1), "%.2f",
			func(o *outcome) any { return o.goodput[i] / 1e9 })
	}
	row("Jain index", "%.4f", func(o *outcome) any { return o.jain })
	row("link utilisation", "%.4f", func(o *outcome) any { return o.utilisation })
	row("queue mean, KB", "%.1f", func(o *outcome) any { return o.queue.Length.Mean / 1e3 })
	row("queue p99, KB", "%.1f", func(o *outcome) any { return float64(o.queue.Length.P99) / 1e3 })
	row("queue max, KB", "%.1f", func(o *outcome) any { return float64(o.queue.Length.Max) / 1e3 })
	row("PFC frames", "%d", func(o *outcome) any { return o.pfcFrames })
	row("paused, all senders, us", "%d", func(o *outcome) any { return o.paused.Microseconds() })
	row("packets marked", "%d", func(o *outcome) any { return o.marks })
	row("CNPs", "%d", func(o *outcome) any { return o.cnps })
	row("retransmitted", "%d", func(o *outcome) any { return o.retransmits })
	row("dropped", "%d", func(o *outcome) any { return o.dropped })
	return b.String()
}
