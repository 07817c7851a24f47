package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/deploy/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTableGolden(t *testing.T) {
	four := synthetic(4, 1000)
	invalid := synthetic(1, 10)
	invalid.Runs = invalid.Runs[1:]
	invalid.Runs[0].Name = "a run of one flow with a name that is long"
	invalid.Runs[0].Certificate.Checks[3].Value = "3 in the receive ring of sw0:swp2"
	sweep := synthetic(64, 10)
	for range 2 {
		sweep.Runs = append(sweep.Runs, sweep.Runs...)
	}
	for name, r := range map[string]*result.Result{
		"incast": four, "invalid": invalid, "sweep": sweep,
		"empty": {}, "blank": {Runs: make([]result.Run, 2)},
	} {
		var b bytes.Buffer
		if err := Table(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".txt"), b.Bytes())
	}
}

// golden compares with a file, or writes it when asked to.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; with -update it becomes:\n%s", name, got)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	for flows := range 20 {
		r := synthetic(flows, 3)
		r.Scenario.Description = strings.Repeat("überlang ", 30)
		r.Runs = append(r.Runs, r.Runs...)
		r.Runs = append(r.Runs, r.Runs...)
		for i := range r.Runs {
			run := &r.Runs[i]
			run.Name = strings.Repeat("µ-name ", i*i)
			run.TotalGoodputBps, run.JainIndex = math.NaN(), math.Inf(1)
			run.Drops = []result.Drop{
				{Where: strings.Repeat("w", 99), Reason: "ring", Frames: 1 << 60},
			}
		}
		var b bytes.Buffer
		if err := Table(&b, r); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			if len(line) > tableColumns || line != ascii(line) {
				t.Fatalf("%d flows: not %d columns of ASCII: %q", flows, tableColumns, line)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{bitRates.short(40e9), "40 Gb/s"},
		{bitRates.short(2.5e9), "2.5 Gb/s"},
		{times.short(1500), "1.5 us"},
		{sizes.short(1e6), "1 MB"},
		{sizes.short(12e6), "12 MB"},
		{sizes.short(0), "0 B"},
		{countText(0), "0"},
		{countText(999), "999"},
		{countText(1234567), "1,234,567"},
		{percent(0.1234), "12.3 %"},
		{percent(math.NaN()), none},
		{fixed(math.Inf(-1), 2), none},
		{strings.Join(bitRates.texts([]float64{9.2e9, 8e6, math.NaN()}), "|"),
			"9.20 Gb/s|0.01 Gb/s|-"},
		{strings.Join(sizes.texts([]float64{203e3, 1500}), "|"), "203.0 KB|1.5 KB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string
	}{
		{"", ""}, {"a b", "a b"}, {"aaa bbb", "aaa|bbb"}, {"aaaaaaa", "aaaa|aaa"},
		{"a  aaaa", "a|aaaa"},
	} {
		if got := strings.Join(wrap(c.in, 4), "|"); got != c.want {
			t.Errorf("wrap(%q, 4) = %q, want %q", c.in, got, c.want)
		}
	}
}
