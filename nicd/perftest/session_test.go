package perftest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

var update = flag.Bool("update", false, "rewrite golden files")

const (
	testRate  = 10 * unit.GbPerSecond
	testDelay = 5 * time.Microsecond
)

// outcome is what one end printed and how it ended.
type outcome struct {
	text string
	err  error
}

// runBoth runs a command line on both ends of a world and returns what client and server printed.
func runBoth(t *testing.T, w *world, line string, f Format) (client, server outcome) {
	t.Helper()
	c, err := parse(line + " server")
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return runPair(t, w, c, s, f)
}

func runPair(t *testing.T, w *world, c, s *Config, f Format) (client, server outcome) {
	t.Helper()
	run := func(side int, conf *Config, conn *idleConn) (o outcome) {
		var out bytes.Buffer
		ses := session{c: conf, nic: w.nics[side], warn: w.nics[side].warn}
		if conn != nil {
			ses.x = newTCP(t.Context(), conn, conf.client())
		}
		if conf.CM || conf.CMData {
			conf.Server = strings.ReplaceAll(conf.Server, "server", "10.0.0.2")
		}
		o.err = ses.print(t.Context(), f, &out)
		w.nics[side].mark(true)
		o.text = out.String()
		return o
	}
	var a, b *idleConn
	if !c.CM && !c.CMData {
		x, y := pair(t)
		a, b = &idleConn{x.(*net.TCPConn), w.nics[0]}, &idleConn{y.(*net.TCPConn), w.nics[1]}
	}
	done := make(chan outcome, 1)
	go func() { done <- run(1, s, b) }()
	client = run(0, c, a)
	return client, <-done
}

// columns are the numbers of the result that a table shows for a size.
func columns(t *testing.T, text string, size int) (v []float64) {
	t.Helper()
	_, rows, ok := strings.Cut(text, "#bytes")
	if !ok {
		t.Fatalf("no table in:\n%s", text)
	}
	for _, line := range strings.Split(rows, "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != fmt.Sprint(size) {
			continue
		}
		for _, s := range f {
			var n float64
			fmt.Sscan(s, &n)
			v = append(v, n)
		}
		return v
	}
	t.Fatalf("no row for %d bytes in:\n%s", size, text)
	return nil
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= want*tolerance }

// goodput is what the link carries of messages of a size, in Gb/s.
func goodput(size int) float64 {
	packets := (size + 1023) / 1024
	return float64(testRate) / 1e9 * float64(size) / float64(size+packets*header)
}

// Every bandwidth test, over TCP and over the connection manager, shows the link's goodput: what
// is lost is the time of the first message, one of two thousand at 130 in flight.
func TestBandwidth(t *testing.T) {
	for _, test := range []string{"send_bw", "write_bw", "read_bw"} {
		for _, by := range []string{"", "-R", "-z"} {
			t.Run(test+by, func(t *testing.T) {
				c, s := runBoth(t, newWorld(testRate, testDelay), test+" -s 4096 -n 2000 "+
					"--report_gbits --check "+by, Table)
				if c.err != nil || s.err != nil {
					t.Fatalf("client %v\nserver %v\n%s", c.err, s.err, c.text)
				}
				for _, o := range []outcome{c, s} {
					v := columns(t, o.text, 4096)
					if v[1] != 2000 || !near(v[3], goodput(4096), 0.005) ||
						!near(v[4], v[3]/8/4096*1e3, 0.01) {
						t.Errorf("got %v, want %.2f Gb/s of 2000\n%s", v, goodput(4096), o.text)
					}
				}
			})
		}
	}
}

// All options that change how messages are posted, checked byte by byte.
func TestBandwidthVariants(t *testing.T) {
	for _, line := range []string{"-l 8 -n 800", "-Q 16 -n 500", "-q 3 -n 400", "-t 4 -n 100",
		"-D 20ms", "-D 20ms -b", "-b -n 600", "-b -q 2 -n 300", "-n 64 -s 300000"} {
		for _, test := range []string{"send_bw", "write_bw", "read_bw"} {
			t.Run(test+" "+line, func(t *testing.T) {
				c, s := runBoth(t, newWorld(testRate, testDelay), test+" -s 8192 --check "+
					"--report_gbits "+line, JSON)
				if c.err != nil || s.err != nil {
					t.Fatalf("client %v\nserver %v", c.err, s.err)
				}
				if !strings.Contains(c.text, `"payload_checked": true`) {
					t.Errorf("%s", c.text)
				}
			})
		}
	}
}

// With traffic both ways the table shows the sum. READs are not here: in this model the requests
// of one side wait behind the answers to the other.
func TestBidirectional(t *testing.T) {
	for _, test := range []string{"send_bw", "write_bw"} {
		c, s := runBoth(t, newWorld(testRate, testDelay), test+" -b -s 65536 -n 400 --report_gbits",
			Table)
		if c.err != nil || s.err != nil {
			t.Fatalf("client %v\nserver %v", c.err, s.err)
		}
		if v := columns(t, c.text, 65536); !near(v[3], 2*goodput(65536), 0.03) {
			t.Errorf("%s: %v, want %.2f", test, v, 2*goodput(65536))
		}
	}
}

// The latency of a SEND is half a round: its serialisation and the link's delay. That of a READ or
// an atomic is a whole one.
func TestLatencyTests(t *testing.T) {
	microseconds := func(payload int) float64 {
		return float64(payload+(payload+1023)/1024*header) * 8 / float64(testRate) * 1e6
	}
	delay, request := float64(testDelay)/1e3, float64(header*8)/float64(testRate)*1e6
	for line, want := range map[string]float64{
		"send_lat -s 64":   microseconds(64) + delay,
		"send_lat -s 4096": microseconds(4096) + delay,
		"read_lat -s 4096": microseconds(4096) + request + 2*delay,
		"atomic_lat":       microseconds(8) + request + 2*delay,
	} {
		for _, by := range []string{"", " -R", " --check"} {
			c, s := runBoth(t, newWorld(testRate, testDelay), line+by+" -n 200", Table)
			if c.err != nil || s.err != nil {
				t.Fatalf("%s: client %v\nserver %v", line, c.err, s.err)
			}
			size := map[bool]int{true: 8}[strings.HasPrefix(line, "atomic")]
			if size == 0 {
				_, after, _ := strings.Cut(line, "-s ")
				fmt.Sscan(after, &size)
			}
			v := columns(t, c.text, size)
			for i, name := range []string{"min", "max", "typical", "average"} {
				if math.Abs(v[2+i]-want) > 0.01 {
					t.Errorf("%s%s: %s %v us, want %.3f\n%s", line, by, name, v[2+i], want, c.text)
				}
			}
		}
	}
}

// Atomics return what was there: nobody else operates, so each slot counts up.
func TestAtomics(t *testing.T) {
	for _, line := range []string{"atomic_bw -n 500", "atomic_bw -A CMP_AND_SWAP -n 500",
		"atomic_bw -q 3 -n 100", "atomic_bw -b -n 200"} {
		c, s := runBoth(t, newWorld(testRate, testDelay), line+" --check", Table)
		if c.err != nil || s.err != nil {
			t.Errorf("%s: client %v\nserver %v", line, c.err, s.err)
		}
	}
}

// All sizes, one table.
func TestAllSizes(t *testing.T) {
	for _, test := range []string{"send_bw", "write_bw", "send_bw -b", "write_bw -b", "read_lat"} {
		c, s := runBoth(t, newWorld(testRate, testDelay), test+" -a -n 6", Table)
		if c.err != nil || s.err != nil {
			t.Fatalf("%s: client %v\nserver %v", test, c.err, s.err)
		}
		for size := 2; size <= 1<<23; size *= 2 {
			columns(t, c.text, size)
		}
	}
}

// What is printed, to the character: scripts read it.
func TestGoldenTables(t *testing.T) {
	psn := regexp.MustCompile(`PSN 0x[0-9a-f]+|PSN 0+`)
	for name, line := range map[string]string{
		"write_bw":   "write_bw -s 4096 -n 500",
		"send_bw":    "send_bw -b -q 2 -s 65536 -n 100 --report_gbits --report-both",
		"read_bw":    "read_bw -s 8 -n 200 -o 4 --report_gbits",
		"atomic_bw":  "atomic_bw -R -n 100",
		"send_lat":   "send_lat -s 64 -n 100",
		"read_lat":   "read_lat -D 10ms -s 1024",
		"atomic_lat": "atomic_lat -n 6 -U",
		"bandwidth":  "write_bw --output=bandwidth --report_gbits",
	} {
		t.Run(name, func(t *testing.T) {
			c, s := runBoth(t, newWorld(testRate, testDelay), line, Table)
			if c.err != nil || s.err != nil {
				t.Fatalf("client %v\nserver %v", c.err, s.err)
			}
			got := "$ rocelab perf " + line + "\n" + s.text + "\n$ rocelab perf " + line +
				" server\n" + c.text
			got = psn.ReplaceAllString(got, "PSN 0x......")
			path := filepath.Join("testdata", "table_"+name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A payload that is not what was sent is found.
func TestCheckFindsDamage(t *testing.T) {
	w := newWorld(testRate, testDelay)
	c, s := runBoth(t, w, "send_bw -s 4096 -n 10 --check", Table)
	if c.err != nil || s.err != nil {
		t.Fatal(c.err, s.err)
	}
	tr := traffic{c: &Config{Check: true, Test: Test{Send, Bandwidth}}, pattern: newPattern(64),
		qps: []queuePair{&modelQP{qpn: 17}}}
	good := func() []byte { b := number(3); return append(b[:], tr.pattern[8:]...) }
	if err := tr.compare(good(), 0, 3); err != nil {
		t.Errorf("undamaged: %v", err)
	}
	for i := range 64 {
		b := good()
		b[i] ^= 1
		if err := tr.compare(b, 0, 3); err == nil {
			t.Errorf("damage in byte %d was not found", i)
		}
	}
	if err := tr.compare(good(), 0, 4); err == nil {
		t.Error("message 3 was taken for message 4")
	}
}

// What goes wrong is told, with what was measured until then.
func TestFailures(t *testing.T) {
	w := newWorld(testRate, testDelay)
	w.nics[0].drop = true
	c, _ := runBoth(t, w, "write_bw -n 10", Table)
	if c.err == nil || !strings.Contains(c.err.Error(), "the peer's NIC does not answer") {
		t.Errorf("lost: %v", c.err)
	}
	w = newWorld(testRate, testDelay)
	few, err := parse("send_bw -n 100 --limit_bw 1e9 server")
	if err != nil {
		t.Fatal(err)
	}
	same, _ := parse("send_bw -n 100")
	if c, _ = runPair(t, w, few, same, Table); c.err == nil ||
		!strings.Contains(c.err.Error(), "below the limit") {
		t.Errorf("limit: %v", c.err)
	}
	more, _ := parse("send_bw -n 200")
	more.Patience = 50 * time.Millisecond
	few.LimitBW = 0
	_, s := runPair(t, newWorld(testRate, testDelay), few, more, Table)
	if s.err == nil || !strings.Contains(s.err.Error(), "received 100 of 200 messages") ||
		columns(t, s.text, 65536)[1] != 100 {
		t.Errorf("fewer messages: %v\n%s", s.err, s.text)
	}
}

// Ctrl-C prints what was measured.
func TestInterrupted(t *testing.T) {
	w := newWorld(testRate, testDelay)
	conf, err := parse("write_bw -n 100000")
	if err != nil {
		t.Fatal(err)
	}
	lay := newLayout(conf, greeting{cycle: 4096, cacheLine: 64})
	res := w.nics[0].make(lay.bytes(), 1)
	peer := w.nics[1].make(lay.bytes(), 1)
	res.connect(t.Context(), 0, Keys{}, Keys{QPN: peer.qps[0].QPN()}, 1024)
	w.nics[1].idle = true
	ctx, cancel := context.WithCancelCause(t.Context())
	tr := traffic{c: conf, cq: res.cq, qps: res.qps, mem: res.mem, lay: lay, rate: testRate,
		mtu: 1024, lost: w.nics[0].Lost,
		remote: peerTargets(peer), now: func() unit.Time {
			now := w.nics[0].Now()
			if now > unit.Time(10*time.Millisecond) {
				cancel(context.Canceled)
			}
			return now
		}}
	sent, _, err := tr.runBandwidth(ctx, 4096, directions{send: true})
	if err == nil || sent.messages == 0 || !near(sent.average()*8/1e9, goodput(4096), 0.01) {
		t.Errorf("%v: %d messages, %.2f Gb/s", err, sent.messages, sent.average()*8/1e9)
	}
}
