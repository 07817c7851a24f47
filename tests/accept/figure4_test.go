package accept

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/nicd"
)

// TestFigure4: the shipped topology of [RDMA at scale] figure 4, on real frames. Flooding to dead
// servers closes a cycle of pauses through both ToRs and both leaves.
func TestFigure4(t *testing.T) {
	lab := labName(t)
	text, err := os.ReadFile("../../deploy/topologies/deadlock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "deadlock.yaml")
	topology := strings.Replace(string(text), "name: deadlock", "name: "+lab, 1)
	if err := os.WriteFile(file, []byte(topology), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, "rocelab", "up", file)
	c.until(t, "is up")
	s := &star{t, lab, t.Context()}
	s.until("both servers are dead", func() bool {
		_, out, _ := run(t, "rocelab", "events", "--lab", lab, "s2", "s3")
		return strings.Count(out, "fault_begin") == 2
	})
	// What a queue pair has in flight is bounded and nobody acknowledges: several to each server.
	for range 3 {
		s.writes("s1", "s3")
		s.writes("s4", "s2")
		s.writes("s1", "s5")
		s.writes("s6", "s5")
	}
	s.until("the pauses close to a cycle", func() bool {
		code, _, _ := run(t, "rocelab", "show", "deadlock", "--lab", lab)
		return code == 1
	})
	out := s.show(1, "deadlock")
	cycle, rest, _ := strings.Cut(out, "\n")
	for _, port := range []string{"t0:swp3", "la:swp2", "t1:swp5", "lb:swp1"} {
		if !strings.Contains(cycle, port+" prio 3 -> ") {
			t.Errorf("%s is not in the cycle\n%s", port, out)
		}
	}
	if !strings.Contains(rest, "s1:eth0 prio 3") || !strings.Contains(rest, "s4:eth0 prio 3") {
		t.Errorf("the senders are no victims\n%s", out)
	}
	s.end(c)
}

// writes lets a host write to another without end.
func (s *star) writes(from, to string) {
	s.Helper()
	const bytes = 1_000_000
	var a, b nicd.Endpoint
	s.call(from, http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: bytes}, &a)
	s.call(to, http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: bytes}, &b)
	s.call(from, http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	s.call(to, http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
	s.call(from, http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: from + "-" + to, QPN: a.QPN,
		Verb: "write", Depth: 8, MessageBytes: bytes}, nil)
}
