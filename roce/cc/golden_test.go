package cc

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

var update = flag.Bool("update", false, "rewrite the golden tables")

// The scripts in testdata tell a story of events; below each command stands the state after it.
func TestStories(t *testing.T) {
	for _, c := range []struct {
		algorithm, preset string
		line              unit.Rate
	}{
		{"dcqcn", "sigcomm15", 40 * unit.GbPerSecond},
		{"dcqcn", "mlx5", 100 * unit.GbPerSecond},
		{"qcn", "baseline", 10 * unit.GbPerSecond},
		{"qcn", "netfpga", unit.GbPerSecond},
	} {
		t.Run(c.algorithm+"_"+c.preset, func(t *testing.T) {
			file := "testdata/" + c.algorithm + "_" + c.preset + ".txt"
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewParams(c.algorithm, c.preset)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, p.New(Setup{Line: c.line, MTU: 1082, Seed: 1}), string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s differs; got:\n%s", file, got)
			}
		})
	}
}

func play(t *testing.T, a Algorithm, script string) string {
	var out strings.Builder
	answers := false
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			answers = false
		case line == "----" || answers:
			answers = true
			continue
		case line[0] != '#':
			do(t, a, strings.Fields(line))
			fmt.Fprintf(&out, "%s\n----\n%s\n", line, state(a))
			continue
		}
		fmt.Fprintln(&out, line)
	}
	return out.String()
}

func do(t *testing.T, a Algorithm, words []string) {
	d, err := time.ParseDuration(words[1])
	if err != nil {
		t.Fatal(err)
	}
	now := unit.Time(d)
	switch words[0] {
	case "cnp":
		a.CNP(now, CNP{})
	case "cnm":
		fb, err := strconv.ParseUint(words[2], 10, 6)
		if err != nil {
			t.Fatal(err)
		}
		a.CNM(now, CNM{Feedback: uint8(fb)})
	case "wake":
		if at := a.NextWake(); now < at {
			t.Fatalf("wake at %v, before %v", now, at)
		}
		a.Wake(now)
	case "sent":
		n, err := unit.ParseBytes(words[2])
		if err != nil {
			t.Fatal(err)
		}
		a.Sent(now, n)
	default:
		t.Fatalf("command %q", words[0])
	}
}

func state(a Algorithm) string {
	v := map[string]float64{}
	for _, s := range a.State() {
		v[s.Name] = s.Value
	}
	end := fmt.Sprintf("T %v BC %v next %v", v["timer_stage"], v["byte_stage"], a.NextWake())
	rates := fmt.Sprintf("rate %v target %.6gGb/s", a.Limit().Rate, v["target_rate_bps"]/1e9)
	switch a.(type) {
	case *QCN:
		return fmt.Sprintf("%s left %vB i %v %s", rates, v["byte_counter"], v["hyper_increases"],
			end)
	default:
		return fmt.Sprintf("%s alpha %.6f %s", rates, v["alpha"], end)
	}
}
