package accept

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd/perftest"
)

// perf runs a test of perftest between h2, the server, and h1 of a lab and returns what the client
// reports.
func perf(t *testing.T, lab, name string, options ...string) (d perftest.Document) {
	t.Helper()
	port := strconv.Itoa(freePorts(t, 1))
	args := append([]string{"perf", name, "--lab", lab, "-p", port}, options...)
	server := start(t, "rocelab", append(args, "--nic", "h2")...)
	server.until(t, "Waiting for client")
	code, out, errs := run(t, "rocelab", append(args, "--nic", "h1", "--json", "localhost")...)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s\nserver:\n%s%s", name, code, out, errs,
			server.out.String(), server.err.String())
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	if code := server.end(t); code != 0 {
		t.Errorf("server of %s: exit code %d\n%s", name, code, server.err.String())
	}
	return d
}

// The tools on a lab, its NICs named as the lab names them. Times are virtual: bandwidth is that of
// the link, and no answer comes sooner than the wires allow, however slow the machine is.
func TestPerfAcrossTheLab(t *testing.T) {
	lab, _ := upStar(t)
	// 64 packets of 1024 + 58 + 24 bytes on the line, the first with a RETH of 16, for 65,536 bytes
	// of payload; at the start and end of 2000 such, 2 us of wire each way and the switch.
	goodput := 40.0 * 65536 / (64*1106 + 16)
	d := perf(t, lab, "write_bw", "-n", "2000", "-t", "2000", "-l", "50", "--check")
	if len(d.Bandwidth) != 1 || d.Bandwidth[0].Gbits < 0.999*goodput ||
		d.Bandwidth[0].Gbits > 1.001*goodput || !d.Checked {
		t.Errorf("write_bw: %+v, want %.3f Gb/s", d.Bandwidth, goodput)
	}
	// A request of 86 bytes and an answer of 8 on two links each, store and forward: 1 us of delay
	// a link, and no less than 60 bytes with 24 around them a frame.
	least := 4*1 + 4*(60+24)*8/40e3
	d = perf(t, lab, "read_lat", "-s", "8", "-n", "50")
	if len(d.Latency) != 1 || d.Latency[0].Min < least || d.Latency[0].Iterations != 49 {
		t.Errorf("read_lat: %+v, want at least %.3f us", d.Latency, least)
	}
}

// rping's part, and what a person types.
func TestPingAcrossTheLab(t *testing.T) {
	lab, _ := upStar(t)
	server := start(t, "rocelab", "ping", "-s", "-P", "-d", "--nic", "h2", "--lab", lab)
	server.until(t, "listening on port")
	out := ok(t, nil, "ping", "--lab", lab, "-C", "5", "h1", "10.0.0.2")
	if !strings.Contains(out, "times in the NIC's virtual time\n") ||
		!strings.Contains(out, "5 pings answered") || !strings.Contains(out, "rtt min/avg/max") {
		t.Errorf("ping:\n%s", out)
	}
	out = ok(t, nil, "ping", "--lab", lab, "-c", "-a", "10.0.0.2", "-v", "-V", "-C", "3", "--nic",
		"h1")
	if n := strings.Count(out, "ping data: rdma-ping-"); n != 3 {
		t.Errorf("%d lines of data:\n%s", n, out)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := server.end(t); code != 0 {
		t.Errorf("an interrupted server: exit code %d\n%s", code, server.err.String())
	}
}

// A NIC without a lab has lost what its machine stood still. perf says so of what it measured
// meanwhile, and what a watch would have said.
func TestPerfTellsOfLostTime(t *testing.T) {
	n := upNICs(t)
	control := daemon.NewClient(strings.TrimSuffix(n.paths[0], ".verbs") + ".sock")
	defer control.Close()
	status := func() (st daemon.Status) {
		t.Helper()
		if err := control.Call(t.Context(), http.MethodGet, "/v1/status", nil, &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	args := []string{"perf", "write_bw", "-p", strconv.Itoa(freePorts(t, 1)), "-n", "1000000"}
	server := start(t, "rocelab", append(args, "--nic", n.paths[1])...)
	server.until(t, "Waiting for client")
	client := start(t, "rocelab", append(args, "--nic", n.paths[0], "--json", "localhost")...)
	await(t, "the measurement", func() bool { return status().Ports[0].Sent > 1000 })
	before := status().Loop.LostNs
	nicd := n.daemons[0].Process
	stopped := fmt.Sprintf("/proc/%d/stat", nicd.Pid)
	if err := nicd.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await(t, "the NIC stands still", func() bool {
		text, err := os.ReadFile(stopped)
		return err == nil && strings.Contains(string(text), ") T ")
	})
	from := time.Now()
	await(t, "a while", func() bool { return time.Since(from) > 50*time.Millisecond })
	if err := nicd.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(t, "the loss is noticed", func() bool { return status().Loop.LostNs > before })
	lost := float64(status().Loop.LostNs-before) / 1e9
	sent := status().Ports[0].Sent
	await(t, "it goes on", func() bool { return status().Ports[0].Sent > sent+1000 })
	if err := client.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := client.end(t); code != 130 {
		t.Errorf("exit code %d\n%s", code, client.err.String())
	}
	var d perftest.Document
	if err := json.Unmarshal([]byte(client.out.String()), &d); err != nil || len(d.Bandwidth) != 1 {
		t.Fatalf("%v\n%s", err, client.out.String())
	}
	b := d.Bandwidth[0]
	window := float64(b.Iterations) * float64(b.Size) / b.Local
	want := b.Local * window / (window + b.Lost)
	if b.Lost < lost || b.Lost > float64(status().Loop.LostNs)/1e9 || b.Wall < 0.999*want ||
		b.Wall > 1.001*want {
		t.Errorf("lost %g s, at least %g; by the wall clock %g B/s, want %g", b.Lost, lost, b.Wall,
			want)
	}
	if text := client.err.String(); !strings.Contains(text, "WARNING: 65536 bytes: the NIC's "+
		"clock lost ") || !strings.Contains(text, "by the wall clock the average is ") {
		t.Errorf("no warning:\n%s", text)
	}
}

// await looks again and again until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}
