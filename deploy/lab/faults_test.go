package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
)

func TestFaultText(t *testing.T) {
	for text, want := range map[string]string{
		"sw0:swp1 loss 0.001":                   "sw0:swp1 loss 0.001",
		"sw0:swp1 drop ipid 0xff for 5ms at 1s": "sw0:swp1 drop ipid 0xff at 1s for 5ms",
		"h1:eth0  down at 10ms":                 "h1:eth0 down at 10ms",
		"h1:eth0 delay 5us for 1ms":             "h1:eth0 delay 5us for 1ms",
		"h1:eth0":                               `want a port and a fault`,
		"h1 down":                               "want node:device",
		"h1:eth0 loss 0.1 for ever":             "for ever: want a time",
		"h1:eth0 loss 0.1 at 1ms during 5ms":    `unknown word "at"`,
		"h1:eth0 at 1ms":                        `unknown fault "at"`,
	} {
		f, err := ParseFault(text)
		if got := f.String(); err == nil && got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A topology's faults are judged when the file is loaded, each by its line.
func TestFaultsInATopology(t *testing.T) {
	const file = `name: star
nodes:
  - {name: sw0, kind: switch}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
links:
  - {endpoints: ["h1:eth0", "sw0:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "sw0:swp2"], rate: 40Gb/s, delay: 1us}
faults:
`
	load := func(lines string) (Topology, error) {
		top := Default()
		err := daemon.Decode("x.yaml", []byte(file+lines), &top)
		return top, err
	}
	top, err := load(`  - {at: 10ms, for: 5ms, port: "sw0:swp1", fault: "loss 0.01"}
  - {port: "h2:eth0", fault: down}
`)
	if err != nil {
		t.Fatal(err)
	}
	f := top.Faults
	if len(f) != 2 || f[0].At != 10*time.Millisecond || f[0].String() !=
		"sw0:swp1 loss 0.01 at 10ms for 5ms" {
		t.Errorf("%v", f)
	}
	info := top.Info()
	if at, err := info.FaultAt(f[1].Port, f[1].Fault); err != nil || len(at) != 2 ||
		at[1].String() != "sw0:swp2" {
		t.Errorf("a link goes down at %v, %v", at, err)
	}
	_, err = load(`  - {port: "sw0:swp9", fault: "loss 0.01"}
  - {port: "sw0:swp1", fault: "loss 0.01", at: -1ms}
`)
	for _, want := range []string{"x.yaml:10: faults[0].port: no port sw0:swp9",
		"x.yaml:11: faults[1].at: must not be negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}
	_, err = load(`  - {port: "sw0:swp1", fault: "loss 2"}
`)
	if want := "x.yaml:10: faults[0].fault: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\ndoes not say %s", err, want)
	}
}
