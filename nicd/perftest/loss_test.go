package perftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
)

func testTime(us int) unit.Time { return unit.Time(us) * unit.Time(time.Microsecond) }

// watched runs a line on both ends of a world whose NICs lose so many times the time that they
// have, and returns what the client reports and is warned of.
func watched(t *testing.T, line string, slow int) (d Document, warned string) {
	t.Helper()
	w := newWorld(testRate, testDelay)
	w.nics[0].slow = slow
	var warn bytes.Buffer
	w.nics[0].warn = &warn
	c, s := runBoth(t, w, line, JSON)
	if c.err != nil || s.err != nil {
		t.Fatalf("%s: client %v\nserver %v", line, c.err, s.err)
	}
	if err := json.Unmarshal([]byte(c.text), &d); err != nil {
		t.Fatal(err)
	}
	return d, warn.String()
}

// A NIC that loses three times the time that it has gets, by a watch, a quarter of what it says.
func TestLostTimeIsToldOfBandwidth(t *testing.T) {
	// A duration begins and ends in the middle of messages: 1 % is three of them.
	for line, exact := range map[string]float64{"write_bw": 1e-6, "read_bw": 1e-6, "send_bw": 1e-6,
		"write_bw -b": 1e-6, "write_bw -D 20ms": 0.01} {
		d, warned := watched(t, line+" -s 4096 -n 2000 --report_gbits", 3)
		b := d.Bandwidth[0]
		window := float64(b.Iterations) * 4096 / b.Local
		if !near(b.Wall, b.Local/4, exact) || !near(b.Lost, 3*window, exact) {
			t.Errorf("%s: by the wall clock %g of %g B/s, %g s lost", line, b.Wall, b.Local, b.Lost)
		}
		want := fmt.Sprintf("WARNING: 4096 bytes: the NIC's clock lost %v while",
			time.Duration(b.Lost*1e9+0.5))
		average := fmt.Sprintf("by the wall clock the average is %.2f Gb/sec\n", b.Wall*8/1e9)
		if !strings.HasPrefix(warned, want) || !strings.HasSuffix(warned, average) ||
			strings.Count(warned, "\n") != 1 {
			t.Errorf("%s: %q, want %q ... %q", line, warned, want, average)
		}
	}
}

func TestLostTimeIsToldOfLatency(t *testing.T) {
	for _, line := range []string{"send_lat", "read_lat", "atomic_lat", "send_lat -D 20ms"} {
		d, warned := watched(t, line+" -n 200", 3)
		l := d.Latency[0]
		if !near(l.Wall, 4*l.Average, 0.02) || l.Lost <= 0 {
			t.Errorf("%s: by the wall clock %g of %g us, %g s lost", line, l.Wall, l.Average,
				l.Lost)
		}
		if want := fmt.Sprintf("the average is %.2f usec\n", l.Wall); !strings.HasSuffix(warned,
			want) || strings.Count(warned, "\n") != 1 {
			t.Errorf("%s: %q, want %q", line, warned, want)
		}
	}
}

// A clock that loses nothing, as every one of a lab, is not mentioned.
func TestNothingLostIsNotMentioned(t *testing.T) {
	for _, line := range []string{"write_bw -a -n 20", "send_lat -n 100"} {
		w := newWorld(testRate, testDelay)
		var warn bytes.Buffer
		w.nics[0].warn = &warn
		c, s := runBoth(t, w, line, JSON)
		if c.err != nil || s.err != nil {
			t.Fatalf("%s: client %v\nserver %v", line, c.err, s.err)
		}
		if strings.Contains(c.text, "clock") || warn.Len() > 0 {
			t.Errorf("%s: %s%s", line, warn.String(), c.text)
		}
	}
}

// By hand, in microseconds: what was lost before the first message that counts and behind the last
// one is not in it.
func TestLossCoversWhatCounts(t *testing.T) {
	at := func(us, lost int) *rdma.Completion {
		return &rdma.Completion{At: testTime(us), Lost: time.Duration(lost) * time.Microsecond}
	}
	check := func(what string, l loss, lost int, longer float64) {
		t.Helper()
		if l.lost() != time.Duration(lost)*time.Microsecond || !near(l.longer(), longer, 1e-9) {
			t.Errorf("%s: %v lost, %g times as long", what, l.lost(), l.longer())
		}
	}
	var d record
	plain := &Config{}
	d.start(plain, testTime(100), 7*time.Microsecond)
	d.add(plain, at(150, 7), 1)
	d.add(plain, at(200, 57), 1)
	check("messages", d.summary(plain).loss, 50, 1.5)

	d = record{}
	timed := &Config{Duration: 100 * time.Microsecond, Margin: 25 * time.Microsecond}
	d.start(timed, testTime(100), 0)
	for _, c := range []*rdma.Completion{at(110, 5), at(120, 10), at(130, 20), at(170, 35),
		at(180, 90)} {
		d.add(timed, c, 1)
	}
	check("a duration", d.summary(timed).loss, 25, 1.5)
}
