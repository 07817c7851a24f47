package perftest

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// parse reads a command line as a user of perftest types it.
func parse(line string) (*Config, error) {
	words := strings.Fields(line)
	test, err := ParseTest(words[0])
	if err != nil {
		return nil, err
	}
	set := pflag.NewFlagSet(words[0], pflag.ContinueOnError)
	c := Flags(set, test)
	if err := set.Parse(words[1:]); err != nil {
		return nil, err
	}
	return c, c.Finish(set.Args())
}

// Command lines out of perftest's documentation and of scripts around it.
func TestFlags(t *testing.T) {
	for line, want := range map[string]func(c *Config) bool{
		"ib_send_bw": func(c *Config) bool {
			return !c.client() && c.Port == 18515 && c.Size == 65536 && c.Iterations == 1000 &&
				c.TxDepth == 128 && c.RxDepth == 512 && c.CQMod == 1 && c.Timeout == 14 &&
				c.QPs == 1
		},
		"ib_write_bw 10.0.0.1": func(c *Config) bool {
			return c.client() && c.Iterations == 5000 && c.Server == "10.0.0.1"
		},
		"ib_write_lat -F": func(c *Config) bool {
			return c.Size == 2 && c.TxDepth == 1 && c.CQMod == 1
		},
		"ib_send_bw -R -F -d rxe0 -n 20 -s 4096 10.9.0.1": func(c *Config) bool {
			return c.CM && c.NIC == "rxe0" && c.Iterations == 20 && c.TxDepth == 20 &&
				c.RxDepth == 20 && c.Size == 4096 && c.CQMod == 20
		},
		"write_bw --ib-dev h1 -x 1 -n20 -s 65536 -u 20 --report_gbits h2": func(c *Config) bool {
			return c.NIC == "h1" && c.GIDIndex == 1 && c.Timeout == 20 && c.Gbits &&
				c.Server == "h2"
		},
		"read_bw -D 5 -q 4 -o 8 --tclass=106": func(c *Config) bool {
			return c.Duration == 5*time.Second && c.Margin == 5*time.Second/4 && c.NoPeak &&
				c.QPs == 4 && c.Outstanding == 8 && c.TrafficClass == 106
		},
		"send_bw -D 50ms -f 0": func(c *Config) bool {
			return c.Duration == 50*time.Millisecond && c.Margin == 0
		},
		"send_bw -a -b": func(c *Config) bool {
			return c.Size == 1<<23 && len(c.sizes()) == 23 && c.sizes()[0] == 2 && c.CQMod == 100
		},
		"atomic_lat -A CMP_AND_SWAP": func(c *Config) bool {
			return c.Size == 8 && c.AtomicType == CmpAndSwap && c.Test.halves() == 1
		},
		"write_bw -l 16 -n 160": func(c *Config) bool { return c.PostList == 16 && c.CQMod == 16 },
		"read_bw -s 2147483647": func(c *Config) bool { return c.Size == 1<<31-1 },
		"write_bw -n 30000":     func(c *Config) bool { return c.NoPeak },
	} {
		c, err := parse(line)
		if err != nil || !want(c) {
			t.Errorf("%s: %+v, %v", line, c, err)
		}
	}
}

// What cannot be is refused, and the message says why.
func TestFlagsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"ib_udp_bw":                 `no test "ib_udp_bw": there are [send_bw write_bw`,
		"send_bw a b":               "want one host",
		"send_bw -g":                "RoCE multicast is not emulated",
		"send_bw -c UD":             "only RC is possible here",
		"write_bw -C":               "no processor cycles",
		"write_bw -i 2":             "only 1 is possible here",
		"write_bw --rate_limit=10":  "paces by its congestion control",
		"write_bw --run_infinitely": "Ctrl-C",
		"write_bw -n 3":             "iters is 3: it must be between 5",
		"write_bw -m 1500":          "mtu is 1500",
		"write_bw -s 0":             "size is 0",
		"write_lat -q 2":            "unknown shorthand flag: 'q'",
		"atomic_bw -s 16":           "unknown shorthand flag: 's'",
		"write_bw -l 16 -n 100":     "multiple of post_list",
		"write_bw -l 16 -Q 3":       "multiple of cq-mod",
		"write_bw -D 4 -f 2":        "duration must be above twice the margin",
		"write_bw -D 4 -a":          "duration and all exclude each other",
		"write_bw --output latency": `output "latency" does not fit a write_bw test`,
		"send_bw -R -z":             "exclude each other",
		"send_bw -D -1s":            "-1s is negative",
	} {
		if _, err := parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// Every option of every test has one meaning: pflag panics on a name given twice.
func TestFlagsOfAllTests(t *testing.T) {
	if n := len(Tests()); n != 8 {
		t.Fatalf("%d tests", n)
	}
	for _, test := range Tests() {
		c, err := parse(test.String() + " -F -e host")
		if err != nil || c.Test != test || c.Server != "host" {
			t.Errorf("%v: %+v, %v", test, c, err)
		}
	}
}
