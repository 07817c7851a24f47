package accept

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/tests/require"
)

// node makes control calls to the daemons of a running lab.
func node(t *testing.T, lab, name, method, path string, req, resp any) {
	t.Helper()
	l, err := labs.Find(lab)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Client(name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Call(t.Context(), method, path, req, resp); err != nil {
		t.Fatal(err)
	}
}

// write sends messages of 64 KB from h1 to h2 by RDMA WRITE and waits until all are there.
func write(t *testing.T, lab string, messages uint64) {
	t.Helper()
	const size = 64 << 10
	var a, b nicd.Endpoint
	node(t, lab, "h1", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: size}, &a)
	node(t, lab, "h2", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: size}, &b)
	node(t, lab, "h1", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	node(t, lab, "h2", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
	node(t, lab, "h1", http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: "h1 > h2", QPN: a.QPN,
		Verb: "write", MessageBytes: size, Depth: 2, Messages: messages}, nil)
	until(t, lab, "all messages are there", func(st *nicd.Status) bool {
		if st.Flows[0].Failed > 0 {
			t.Fatalf("%d messages failed", st.Flows[0].Failed)
		}
		return st.Flows[0].Messages == messages
	})
}

// until asks h1 for its status until it is as it should be.
func until(t *testing.T, lab, what string, ready func(*nicd.Status) bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		var st nicd.Status
		node(t, lab, "h1", http.MethodGet, "/v1/status", nil, &st)
		if ready(&st) {
			return
		}
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("not within %v: %s; %+v", limit, what, st)
		}
	}
}

// matching counts the frames of a capture that a display filter takes.
func matching(t *testing.T, file, filter string) int {
	t.Helper()
	out, err := exec.Command("tshark", "-r", file, "-Y", filter, "-T", "fields", "-e",
		"frame.number").Output()
	if err != nil {
		t.Fatalf("tshark %s: %v", filter, err)
	}
	return strings.Count(string(out), "\n")
}

// ok runs rocelab, which must succeed, and reads the JSON it prints, if asked to.
func ok(t *testing.T, into any, args ...string) string {
	t.Helper()
	code, out, errs := run(t, "rocelab", args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, errs)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return out
}

// [RDMA at scale] 4.1 on a lab that somebody has brought up: the switch drops any packet with the
// least significant byte of the IP ID equal to 0xff. Each drop is in the event log and in the
// capture, the frame with a comment, and the list of faults counts them.
func TestFaultsOfARunningLab(t *testing.T) {
	require.Tool(t, "tshark")
	lab, up := upStar(t)
	added := ok(t, nil, "fault", "add", "sw0:swp2", "drop", "ipid", "0xff", "--lab", lab)
	if !strings.Contains(added, "sw0:1") || !strings.Contains(added, "drop ipid 0xff") {
		t.Errorf("fault add says %q", added)
	}
	ok(t, nil, "fault", "add", "h1:eth0", "mark", "nth", "10", "--lab", lab)
	file := filepath.Join(t.TempDir(), "swp2.pcapng")
	capture := start(t, "rocelab", "capture", "sw0:swp2", "-w", file, "--lab", lab)
	capture.until(t, "capturing on")
	write(t, lab, 20)
	if err := capture.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := capture.end(t); code != 0 {
		t.Errorf("capture: exit code %d\n%s", code, capture.err.String())
	}
	ok(t, nil, "fault", "clear", "--lab", lab)

	var faults []struct {
		Node, Port, Fault, Phase string
		Hits                     int
	}
	ok(t, &faults, "fault", "list", "--json", "--lab", lab)
	if len(faults) != 2 || faults[0].Phase != "ended" || faults[1].Phase != "ended" ||
		faults[0].Fault != "drop ipid 0xff" {
		t.Fatalf("faults: %+v", faults)
	}
	drops := faults[0].Hits
	// 20 messages of 64 packets are 1,280 packets, and more of them with each that is sent again.
	if drops < 4 || faults[1].Hits != 1 {
		t.Errorf("%d packets dropped, %d marked", drops, faults[1].Hits)
	}
	var events []struct{ Node, Port, Kind, Detail string }
	ok(t, &events, "events", "sw0", "--kind", "fault_loss", "--json", "--lab", lab)
	if len(events) != drops {
		t.Errorf("%d events, %d packets dropped", len(events), drops)
	}
	for _, e := range events {
		if e.Port != "swp2" || !strings.Contains(e.Detail, "ff, RDMA_WRITE_") ||
			!strings.Contains(e.Detail, `fault=loss rule="drop ipid 0xff" id=1`) {
			t.Errorf("event %+v", e)
		}
	}
	const lost = `frame.comment contains "fault=loss"`
	if n := matching(t, file, lost); n != drops {
		t.Errorf("%d frames of the capture are marked as lost, %d were", n, drops)
	}
	if n := matching(t, file, lost+" && !(ip.id & 0xff == 0xff)"); n != 0 {
		t.Errorf("%d others are marked", n)
	}
	const toH2 = "infiniband && ip.dst == 10.0.0.2 && ip.id & 0xff == 0xff"
	if n := matching(t, file, toH2+" && !("+lost+")"); n != 0 {
		t.Errorf("%d with that IP ID were not dropped", n)
	}
	if n := matching(t, file, "ip.dsfield.ecn == 3"); n != 1 {
		t.Errorf("%d packets marked CE arrived at swp2's egress, want the tenth", n)
	}
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	up.end(t)
	nothingLeft(t, lab)
}

// A link goes down at both ends at the same time, as planned in the topology file, and both daemons
// tell of it; what was on its way is sent again.
func TestALinkGoesDownByPlan(t *testing.T) {
	require.Tool(t, "tshark")
	lab := labName(t)
	text, err := os.ReadFile("../../deploy/topologies/star.yaml")
	if err != nil {
		t.Fatal(err)
	}
	topology := strings.Replace(string(text), "name: star", "name: "+lab, 1)
	topology = strings.Replace(topology, "metrics_port: 9465", "metrics_port: 0", 1)
	topology += "faults:\n  - {at: 3ms, for: 200us, port: \"h1:eth0\", fault: down}\n" +
		"  - {at: 1ms, for: 1ms, port: \"sw0:swp3\", fault: \"storm 3,4\"}\n"
	file := filepath.Join(t.TempDir(), "star.yaml")
	if err := os.WriteFile(file, []byte(topology), 0o644); err != nil {
		t.Fatal(err)
	}
	up := start(t, "rocelab", "up", file)
	up.until(t, "is up")
	file = filepath.Join(t.TempDir(), "h1.pcapng")
	capture := start(t, "rocelab", "capture", "h1", "-w", file, "-c", "40", "--lab", lab)
	capture.until(t, "capturing on")
	write(t, lab, 50)
	if code := capture.end(t); code != 0 || !strings.Contains(capture.out.String(), "40 frames") {
		t.Errorf("capture at the NIC: exit code %d, %s%s", code, capture.out.String(),
			capture.err.String())
	}
	if n := matching(t, file, "infiniband"); n != 40 {
		t.Errorf("%d RoCEv2 packets among the first 40 frames of the NIC", n)
	}
	until(t, lab, "all faults are over", func(st *nicd.Status) bool { return st.VirtualNs > 5e6 })
	var events []struct {
		Node, Port, Kind, Detail string
		AtNs                     int64 `json:"at_ns"`
	}
	ok(t, &events, "events", "--json", "--lab", lab)
	count := map[string]int{}
	for _, e := range events {
		count[fmt.Sprintf("%s %s %s %v", e.Node, e.Port, e.Kind, time.Duration(e.AtNs))]++
		count[e.Kind]++
	}
	for _, want := range []string{"h1 eth0 fault_begin 3ms", "sw0 swp1 fault_begin 3ms",
		"h1 eth0 fault_end 3.2ms", "sw0 swp1 fault_end 3.2ms", "sw0 swp3 fault_begin 1ms",
		"sw0 swp3 fault_storm 1ms", "sw0 swp3 fault_end 2ms"} {
		if count[want] != 1 {
			t.Errorf("no %q in %v", want, count)
		}
	}
	// A pause of 839 us is announced again when half of it has passed: three frames in 1 ms.
	if count["fault_storm"] != 3 {
		t.Errorf("%d frames of the storm", count["fault_storm"])
	}
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	up.end(t)
	nothingLeft(t, lab)
}

// A run on real frames with faults of all kinds is what it is in virtual time, sample for sample:
// its certificate is valid.
func TestDemoWithFaultsIsValid(t *testing.T) {
	lab, out := labName(t), t.TempDir()
	args := short(lab, out)
	for _, f := range []string{"sw0:swp5 drop ipid 0xff", "h1:eth0 loss 0.001",
		"h2:eth0 dup 0.01", "h3:eth0 reorder 0.001 by 5us", "sw0:swp5 corrupt 0.0005",
		"h4:eth0 delay 2us jitter 1us at 2ms for 3ms", "h5:eth0 storm 3 at 6ms for 500us",
		"sw0:swp5 mark every 100", "sw0:swp2 down at 8ms for 50us",
		"h3:eth0 freeze at 8ms for 50us", "h1:eth0 rate 10Gb/s at 7ms for 1ms"} {
		args = append(args, "--fault", f)
	}
	code, screen, errs := run(t, "rocelab", args...)
	nothingLeft(t, lab)
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, screen, errs)
	}
	var res result.Result
	text, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &res); err != nil {
		t.Fatal(err)
	}
	for _, r := range res.Runs {
		again := uint64(0)
		for _, f := range r.Flows {
			again += f.Retransmitted
		}
		if !r.Certificate.Valid || again == 0 {
			t.Errorf("%s: %d packets sent again, certificate %+v", r.Name, again, r.Certificate)
		}
	}
}
