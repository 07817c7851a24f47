package accept

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

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
	if !strings.Contains(out, "5 pings answered") || !strings.Contains(out, "rtt min/avg/max") {
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
