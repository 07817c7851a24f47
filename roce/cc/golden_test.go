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
		{"dcqcn_plus", "thesis", 10 * unit.GbPerSecond},
		{"dctcp", "rfc8257", 40 * unit.GbPerSecond},
		{"hpcc", "sigcomm19", 10 * unit.GbPerSecond},
		{"ldcp", "draft", 40 * unit.GbPerSecond},
		{"ldcp_probe", "draft", 40 * unit.GbPerSecond},
		{"swift", "sigcomm20", 10 * unit.GbPerSecond},
		{"timely", "sigcomm15", 10 * unit.GbPerSecond},
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
		var c CNP
		if len(words) > 2 {
			if c.Interval, err = time.ParseDuration(words[2]); err != nil {
				t.Fatal(err)
			}
		}
		a.CNP(now, c)
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
	case "ack":
		a.Ack(now, acknowledged(t, words[2:]))
	case "rtt":
		rtt, err := time.ParseDuration(words[2])
		if err != nil {
			t.Fatal(err)
		}
		a.RTT(now, rtt)
	case "nack":
		a.Nack(now)
	case "timeout":
		a.Timeout(now)
	default:
		t.Fatalf("command %q", words[0])
	}
}

// acknowledged reads PACKETS MARKED RTT [HOP-TIME SENT QUEUE], of packets of 1000 bytes and a hop
// of 10 Gb/s.
func acknowledged(t *testing.T, words []string) (a Ack) {
	t.Helper()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	duration := func(s string) time.Duration {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a.Packets, a.Marked, a.RTT = number(words[0]), number(words[1]), duration(words[2])
	a.Bytes = unit.Bytes(1000 * a.Packets)
	if len(words) > 3 {
		a.Hops = telemetry(unit.Time(duration(words[3])), uint64(number(words[4])),
			unit.Bytes(number(words[5])))
	}
	return a
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
	case *DCQCNPlus:
		return fmt.Sprintf("%s alpha %.6f S %v next %v", rates, v["alpha"], v["timer_stage"],
			a.NextWake())
	case *DCQCN:
		return fmt.Sprintf("%s alpha %.6f %s", rates, v["alpha"], end)
	}
	l := a.Limit()
	out := fmt.Sprintf("rate %v window %v plain %v", l.Rate, l.Window, l.Plain)
	for _, s := range a.State() {
		out += fmt.Sprintf(" %s %.7g", s.Name, s.Value)
	}
	return out
}
