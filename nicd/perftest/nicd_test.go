package perftest

import (
	"bytes"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/rdma/rdmatest"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/tests/require"
)

// runOnNICs runs a command line on both NICs.
func runOnNICs(t *testing.T, paths [2]string, line string) (client, server outcome) {
	t.Helper()
	return runLines(t, paths, line, line, 20*time.Second)
}

// runLines runs one command line on each of the NICs.
func runLines(t *testing.T, paths [2]string, clientLine, serverLine string,
	patience time.Duration) (client, server outcome) {
	t.Helper()
	port := freePort(t)
	run := func(side int, line string, listening func(net.Addr)) (o outcome) {
		d, err := rdma.Open(paths[side])
		if err != nil {
			return outcome{err: err}
		}
		defer d.Close()
		c, err := parse(line)
		if err != nil {
			return outcome{err: err}
		}
		c.Port, c.Patience = port, patience
		var out bytes.Buffer
		s := session{c: c, nic: device{d}, listening: listening}
		o.err = s.print(t.Context(), Table, &out)
		o.text = out.String()
		return o
	}
	done, ready := make(chan outcome, 1), make(chan struct{})
	go func() { done <- run(1, serverLine, func(net.Addr) { close(ready) }) }()
	select {
	case <-ready:
	case server = <-done:
		return outcome{err: errors.New("the server did not listen")}, server
	}
	host, ip := " 127.0.0.1", rdmatest.IP(1)
	if strings.Contains(clientLine, "--ipv6") {
		host, ip = " ::1", rdmatest.IP6(1)
	}
	if strings.Contains(clientLine, "-R") || strings.Contains(clientLine, "-z") {
		host = " " + ip.String()
	}
	client = run(0, clientLine+host, nil)
	return client, <-done
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// bytesOnWire is the time of bytes at the link's rate, in nanoseconds; onWire that of a message.
func bytesOnWire(n int) float64 { return float64(n) * 8 / float64(rdmatest.Rate) * 1e9 }

func onWire(size int) float64 {
	return bytesOnWire(size + max(1, (size+1023)/1024)*header)
}

// onTheWire is the time of one packet, in microseconds.
func onTheWire(payload, header int) float64 { return bytesOnWire(payload+header) / 1e3 }

// Headers of packets on the wire beside what all have: RETH of a WRITE's first, AETH, AtomicETH.
const (
	rethLen      = 16
	atomicETHLen = 28
)

// bounds are what a run of n messages of size bytes must show, in Gb/s. It lasts from when the NIC
// takes the first request to when it has the last answer: all messages on the wire, with up to a
// RETH each that goodput does not know, once there and back, and a packet that was in the way on
// either. With traffic both ways an acknowledgement of each message is on the wire too. Everything
// is posted before the first answer, in lists that take the wire far longer than the program to
// post the next, so that the program is not in it, however busy the machine is.
func bounds(n, size int, both bool) (least, most float64) {
	const aethLen = 4
	lasts := float64(n)*(onWire(size)+bytesOnWire(rethLen)) + 2*onWire(1024) +
		2*float64(rdmatest.Delay)
	if both {
		lasts += float64(n) * bytesOnWire(header+aethLen)
	}
	most = goodput(size)
	least = float64(n*size) * 8 / lasts
	if both {
		return 2 * least, 2 * most
	}
	return least, most
}

// All over IPv6: packets, TCP, the connection manager. perftest 4.5 looks up IPv4 addresses only,
// so that between two of ours is all there is.
func TestOverIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	require.Feature(t, "ipv6", err == nil, "no IPv6 on this machine")
	l.Close()
	paths := rdmatest.NewPair(t)
	for _, line := range []string{"write_bw -n 40 -s 10001 --check", "send_lat -n 40 -s 10001",
		"read_bw -R -n 40 -s 10001 --check", "atomic_lat -R -n 40"} {
		line += " --ipv6"
		client, server := runOnNICs(t, paths, line)
		if client.err != nil || server.err != nil ||
			!strings.Contains(client.text, "GID: 253:00:") {
			t.Errorf("%s: %v, %v\n%s", line, client.err, server.err, client.text)
		}
	}
}

// Bandwidth is what the link carries.
func TestBandwidthOnNICs(t *testing.T) {
	paths := rdmatest.NewPair(t)
	for _, line := range []string{"send_bw -n 600", "write_bw -n 600", "read_bw -n 600",
		"send_bw -n 600 -Q 10", "write_bw -q 4 -n 150", "write_bw -b -n 600", "send_bw -b -n 600",
		"atomic_bw -n 200", "send_bw -R -n 600", "write_bw -R -q 3 -n 200", "read_bw -R -n 600",
		"atomic_bw -R -n 200", "write_bw -z -n 600", "send_bw -R -b -n 600"} {
		t.Run(line, func(t *testing.T) {
			size, full := 4096, line+" -s 4096 -t 600 -l 50"
			if strings.HasPrefix(line, "atomic") {
				size, full = 8, line
			}
			if strings.HasPrefix(line, "send") {
				full += " -r 600"
			}
			c, s := runOnNICs(t, paths, full+" --report_gbits --check -u 20")
			if c.err != nil || s.err != nil {
				t.Fatalf("client %v\nserver %v\n%s", c.err, s.err, c.text)
			}
			v := columns(t, c.text, size)
			if size == 8 {
				if v[3] <= 0 {
					t.Errorf("%v", v)
				}
				return
			}
			// Two digits are printed.
			least, most := bounds(600, size, strings.Contains(line, "-b"))
			if v[3] < least-0.005 || v[3] > most+0.005 || v[2] < v[3] || v[2] > most+0.005 {
				t.Errorf("%v Gb/s, want %.3f to %.3f\n%s", v[2:4], least, most, c.text)
			}
		})
	}
}

// No latency is below what the wire takes, and where a NIC answers the least is near that: what is
// above is the time in which programs wake.
func TestLatencyOnNICs(t *testing.T) {
	paths := rdmatest.NewPair(t)
	delay := float64(rdmatest.Delay) / 1e3
	for line, want := range map[string]float64{
		"send_lat -s 1024":  onTheWire(1024, header) + delay,
		"write_lat -s 1024": onTheWire(1024, header+rethLen) + delay,
		"read_lat -s 1024":  onTheWire(1024, header) + onTheWire(0, header+rethLen) + 2*delay,
		"atomic_lat":        onTheWire(8, header) + onTheWire(0, header+atomicETHLen) + 2*delay,
	} {
		for _, by := range []string{"", " -R"} {
			testLatency(t, paths, line+by, want)
		}
	}
}

func testLatency(t *testing.T, paths [2]string, line string, want float64) {
	t.Run(line, func(t *testing.T) {
		c, s := runOnNICs(t, paths, line+" -n 60 -u 20 --check")
		if c.err != nil || s.err != nil {
			t.Fatalf("client %v\nserver %v\n%s", c.err, s.err, c.text)
		}
		size := 1024
		if strings.HasPrefix(line, "atomic") {
			size = 8
		}
		least := columns(t, c.text, size)[2]
		slowest := 1.5 * want
		if strings.HasPrefix(line, "send") || strings.HasPrefix(line, "write") {
			slowest = math.Inf(1) // the other program must wake
		}
		if least < math.Floor(want*100)/100 || least > slowest {
			t.Errorf("least %v us, the wire takes %.2f us\n%s", least, want, c.text)
		}
	})
}

// What does not fit is told of in words, by both ends.
func TestMismatchOnNICs(t *testing.T) {
	paths := rdmatest.NewPair(t)
	for _, c := range []struct{ client, server, says, heard string }{
		{"send_bw -n 100 -r 50", "send_bw -n 50", "sent 50 of 100", "wait for the peer"},
		{"send_bw -R -n 20", "send_bw -z -n 20", "is the server started, with -R",
			"the peer uses -R"},
	} {
		t.Run(c.client, func(t *testing.T) {
			client, server := runLines(t, paths, c.client+" -u 8", c.server+" -u 8",
				2*time.Second)
			if client.err == nil || !strings.Contains(client.err.Error(), c.says) {
				t.Errorf("client: %v, want %q", client.err, c.says)
			}
			if server.err == nil || !strings.Contains(server.err.Error(), c.heard) {
				t.Errorf("server: %v, want %q", server.err, c.heard)
			}
		})
	}
}

// What the NIC refuses is told, and what was made until then is freed.
func TestRefusedByTheNIC(t *testing.T) {
	d, err := rdma.Open(rdmatest.NewPair(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	limits := uverbs.DefaultLimits()
	for want, c := range map[string]struct {
		qp          rdma.QPConfig
		size, count int
	}{
		"create a completion queue": {rdma.QPConfig{SendDepth: limits.CQDepth}, 1, 2},
		"allocate":                  {rdma.QPConfig{SendDepth: 1}, int(limits.Memory) + 1, 1},
		"create QP 1 of 2":          {rdma.QPConfig{SendDepth: limits.Depth + 1}, 1, 2},
	} {
		for range limits.Objects { // more often than what is left behind would allow
			_, err := device{d}.make(c.qp, c.size, c.count, nil)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("%v, want %q", err, want)
			}
		}
	}
}
