package accept

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// star talks to the daemons of a running lab.
type star struct {
	*testing.T
	lab string
	ctx context.Context
}

func (s *star) call(node, method, path string, req, resp any) {
	s.Helper()
	c := daemon.NewClient(filepath.Join("/run/rocelab", s.lab, node+".sock"))
	defer c.Close()
	if err := c.Call(s.ctx, method, path, req, resp); err != nil {
		s.Fatal(err)
	}
}

// flow lets a host write messages to h4.
func (s *star) flow(host string, messages uint64) {
	s.Helper()
	const bytes = 64_000
	var a, b nicd.Endpoint
	s.call(host, http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: bytes}, &a)
	s.call("h4", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: bytes}, &b)
	s.call(host, http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	s.call("h4", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
	s.call(host, http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: host, QPN: a.QPN,
		Verb: "write", Depth: 4, MessageBytes: bytes, Messages: messages}, nil)
}

// done is how many messages a host has got through.
func (s *star) done(host string) uint64 {
	s.Helper()
	var st nicd.Status
	s.call(host, http.MethodGet, "/v1/status", nil, &st)
	if st.Flows[0].Failed > 0 {
		s.Fatalf("%s: %d messages failed", host, st.Flows[0].Failed)
	}
	return st.Flows[0].Messages
}

// reloads is how often the switch has said that it read its configuration again.
func (s *star) reloads() (n int) {
	s.Helper()
	var events daemon.Events
	s.call("sw0", http.MethodGet, "/v1/events?since=0", nil, &events)
	for _, e := range events.Events {
		if e.Kind == "config_reloaded" {
			n++
		}
	}
	return n
}

// change makes the switch change in one of three ways, and returns how many it said it made.
func (s *star) change(turn, pid int) int {
	s.Helper()
	var r switchd.ConfigResult
	switch turn % 3 {
	case 0:
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			s.Fatal(err)
		}
	case 1:
		s.call("sw0", http.MethodPost, "/v1/config", switchd.ConfigRequest{}, &r)
	case 2:
		s.call("sw0", http.MethodPost, "/v1/qos", switchd.SetRequest{Table: "BUFFER_PROFILE",
			Key: "pg_lossless_profile", Field: "dynamic_th", Value: fmt.Sprint(-turn % 5)}, &r)
	}
	return min(len(r.Changed), 1)
}

// TestReloadUnderTraffic: an incast goes on while the switch reads other configurations, by SIGHUP
// and by call, and while single fields are set: thresholds, maps, scheduler and marking change, and
// no frame is lost.
func TestReloadUnderTraffic(t *testing.T) {
	const messages, changes = 120, 18 // each way to change it six times, with each text twice
	lab, c := upStar(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := &star{t, lab, ctx}
	file := filepath.Join("/run/rocelab", lab, "sw0.yaml")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid := daemonPid(t, lab, "sw0")
	for _, h := range []string{"h1", "h2", "h3"} {
		s.flow(h, messages)
	}
	texts := []string{
		string(first),
		strings.NewReplacer("green_min_threshold: 5KB", "green_min_threshold: 50KB",
			"mark_at: enqueue", "mark_at: dequeue", "dynamic_th: \"0\"", "dynamic_th: \"-2\"",
			"xon_offset: 3KB", "xon_offset: 6KB").Replace(string(first)),
		string(first) + "qos: {scheduler: {scheduler.weight1: {weight: 7}}, " +
			"dscp_to_tc_map: {AZURE: {10: 4}}}\n",
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	turn, changed := 0, 0
	for done := uint64(0); done < 3*messages; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("after %d changes the flows are not done", turn)
		}
		done = s.done("h1") + s.done("h2") + s.done("h3")
		// The changes are spread over all that the flows write: by what arrived, not by the clock,
		// which a change makes slow.
		if turn == changes || done < uint64(turn+1)*3*messages/(changes+2) || done == 3*messages {
			continue
		}
		// A way to change meets every text.
		text := texts[(turn+turn/len(texts))%len(texts)]
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		changed += s.change(turn, pid)
		turn++
	}
	// A signal is answered later than it is sent, and may find the text of the next change.
	if n := s.reloads(); turn < changes || changed < changes/3 || n < changes/3 {
		t.Errorf("of %d changes %d were told, %d configurations were read", turn, changed, n)
	}
	var st switchd.Status
	s.call("sw0", http.MethodGet, "/v1/status", nil, &st)
	if st.Ledger.Fault != "" || len(st.Ledger.Dropped) > 0 {
		t.Errorf("the switch lost frames: %+v", st.Ledger)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}

// TestDriftOfARunningSwitch: a field that is set while the switch runs is drift by name, in command
// and exit code, until it is set back; what runs is exported, and what cannot change is refused.
func TestDriftOfARunningSwitch(t *testing.T) {
	lab, c := upStar(t)
	defer func() {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.end(t)
		nothingLeft(t, lab)
	}()
	on := []string{"--lab", lab}
	rocelab := func(want int, contains string, args ...string) {
		t.Helper()
		code, out, errs := run(t, "rocelab", append(append([]string{"config"}, args...), on...)...)
		if code != want || !strings.Contains(out+errs, contains) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", args, code, want, contains, out,
				errs)
		}
	}
	rocelab(0, "", "drift", "sw0")
	rocelab(0, "BUFFER_PROFILE|pg_lossless_profile|dynamic_th: 0 -> -6", "set", "sw0",
		"buffer_profile", "pg_lossless_profile", "dynamic_th", "1/64")
	rocelab(1, "BUFFER_PROFILE|pg_lossless_profile|dynamic_th: desired 0, running -6", "drift",
		"sw0")
	rocelab(0, `"dynamic_th": "-6"`, "export", "sw0")
	rocelab(0, "dynamic_th: -6 -> 0", "reload", "sw0")
	rocelab(0, "", "drift", "sw0")
	rocelab(3, "WRED_PROFILE|AZURE_LOSSLESS|colour: not known here", "set", "sw0", "WRED_PROFILE",
		"AZURE_LOSSLESS", "colour", "red")
	file := filepath.Join("/run/rocelab", lab, "sw0.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	for _, c := range []struct{ old, changed, want string }{
		{"frames: 0", "frames: 99999", "frames cannot change while the switch"},
		{"rate: 40Gb/s", "rate: 10Gb/s", "ports[0].rate cannot change while the switch"},
	} {
		changed := strings.Replace(string(text), c.old, c.changed, 1)
		if err := os.WriteFile(other, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		rocelab(3, c.want, "reload", "sw0", other)
	}
	rocelab(0, "", "drift", "sw0")
}
