package accept

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
)

// loop is a lab in which two switches each take the other for the way to one address: frames to it
// go round for ever over two links, in a lossless class. That is a cyclic buffer dependency, and as
// soon as the links are full nothing moves any more.
const loop = `
name: %s
nodes:
  - {name: a, kind: switch, switch: {static_macs: {"02:00:00:00:00:99": to-b}}}
  - {name: b, kind: switch, switch: {static_macs: {"02:00:00:00:00:99": to-a}}}
  - {name: h1, kind: host, ipv4: 10.0.0.1/24}
  - {name: h2, kind: host, ipv4: 10.0.0.2/24}
links:
  - {endpoints: ["h1:eth0", "a:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["h2:eth0", "b:swp1"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["a:to-b", "b:from-a"], rate: 40Gb/s, delay: 1us}
  - {endpoints: ["b:to-a", "a:from-b"], rate: 40Gb/s, delay: 1us}
switch:
  buffer_pool: {size: 500KB}
metrics_port: %d
`

// TestShowDeadlock: the command names the ports of the cycle and its victim, and the lab's owner
// exports it. [RDMA at scale] section 4.2.
func TestShowDeadlock(t *testing.T) {
	lab, base := labName(t), freePorts(t, 5)
	file := filepath.Join(t.TempDir(), "loop.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, loop, lab, base), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, "rocelab", "up", file)
	c.until(t, "is up")
	s := &star{t, lab, t.Context()}
	if text := s.show(0, "deadlock"); text != "no cycle of pauses\n" {
		t.Errorf("before anything is sent:\n%s", text)
	}
	s.sendRound()
	s.until("the pauses close to a cycle", func() bool {
		code, _, _ := run(t, "rocelab", "show", "deadlock", "--lab", lab)
		return code == 1
	})
	text := s.show(1, "deadlock")
	for _, want := range []string{"a:to-b prio 3 -> ", "b:to-a prio 3 -> ",
		"initial trigger: ", "victims: h1:eth0 prio 3\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("show deadlock: no %q in\n%s", want, text)
		}
	}
	var answer struct {
		SchemaVersion int `json:"schema_version"`
		Cycles        []struct {
			Ports []struct {
				Device, Port string
				Priority     int
				SinceNs      int64 `json:"since_ns"`
			}
		}
	}
	out := s.show(1, "deadlock --json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.SchemaVersion != 1 ||
		len(answer.Cycles) != 1 || len(answer.Cycles[0].Ports) != 2 ||
		answer.Cycles[0].Ports[0].SinceNs == 0 {
		t.Errorf("%v\n%s", err, out)
	}
	page := s.scrape(base + 4)
	for _, want := range []string{"\nrocelab_deadlock_cycles 1\n", "\nrocelab_deadlock_ports 2\n",
		"\nrocelab_clock_dilation_ratio ", "\nrocelab_virtual_seconds_total "} {
		if !strings.Contains(page, want) {
			t.Errorf("the lab's metrics have no %q:\n%s", want, page)
		}
	}
	s.end(c)
}

// sendRound lets h1 write to a station that is not there.
func (s *star) sendRound() {
	s.Helper()
	const bytes = 64_000
	var a, b nicd.Endpoint
	s.call("h1", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: bytes}, &a)
	s.call("h2", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: bytes}, &b)
	b.MAC = wire.MAC{2, 0, 0, 0, 0, 0x99}
	s.call("h1", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	s.call("h1", http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: "round", QPN: a.QPN,
		Verb: "write", Depth: 32, MessageBytes: bytes}, nil)
}

func (s *star) scrape(port int) string {
	s.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		s.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(page)
}

// freePorts returns the first of n loopback ports in a row on which nobody listens.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for base := 20000; base < 30000; base += n {
		var all []net.Listener
		for i := range n {
			if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+i)); err == nil {
				all = append(all, l)
			}
		}
		for _, l := range all {
			l.Close()
		}
		if len(all) == n {
			return base
		}
	}
	t.Fatal("no ports in a row are free")
	return 0
}
