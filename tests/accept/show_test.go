package accept

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/switchd"
)

// stormy is a watchdog that is quick, but looks not more often than a pause is refreshed.
const stormy = `
switch:
  pfc_wd: {preset: sonic, detection_time: 1ms, restoration_time: 1ms, poll_interval: 1ms}
`

// shown is a show command with what its text must have. The queue of the incast is swp4's 3.
var shown = []struct{ command, text string }{
	{"pfc counters", "  Port Rx    PFC0    PFC1"},
	{"pfc counters --history", "Recent RX Pause Timestamp"},
	{"pfc priority", "swp1         3,4\n"},
	{"pfc asymmetric swp2", "swp2         off\n"},
	{"priority-group watermark shared", "Ingress shared pool occupancy per PG:\n  Port    PG0"},
	{"priority-group watermark headroom", "Ingress headroom per PG:"},
	{"priority-group persistent-watermark shared", "Ingress shared pool"},
	{"priority-group persistent-watermark headroom", "Ingress headroom"},
	{"priority-group drop counters", "Ingress PG dropped packets:"},
	{"priority-group watermark", "Ingress headroom per PG:"},
	{"queue counters -nz swp4", "  swp4    UC3"},
	{"queue wredcounters -p swp4", "EcnMarked/pkts"},
	{"queue watermark unicast", "Egress shared pool occupancy per unicast queue:"},
	{"queue persistent-watermark unicast", "    UC7\n"},
	{"queue watermark", "Egress shared pool occupancy per unicast queue:"},
	{"buffer", "Profile: pg_lossless_profile\n"},
	{"buffer information", "Pool: ingress_lossless_pool\n"},
	{"buffer profile", "Profile: pg_lossless_profile\n"},
	{"buffer pool", "type  ingress\n"},
	{"buffer pool watermark", "Shared pool maximum occupancy:"},
	{"buffer_pool watermark", "ingress_lossless_pool"},
	{"headroom-pool watermark", "Headroom pool maximum occupancy:"},
	{"pfcwd stats --empty", "operational"},
	{"pfcwd config", "Changed polling interval to 1ms\n"},
	{"ecn", "Profile: AZURE_LOSSLESS\n"},
	{"mac", "Total number of entries 4\n"},
	{"arp", "Total number of entries 0"},
	{"ndp", "Total number of entries 0"},
	{"ip route", "Codes: C - connected"},
	{"route", "Codes: C - connected"},
	{"ipv6 route", "Codes: C - connected"},
	{"interfaces counters --period 50ms", " MB/s"},
	{"interfaces status", "      40G"},
	{"deadlock", "no cycle of pauses\n"},
	{"events", "Source"},
	{"drift", "no drift\n"},
	{"pri dro cou", "Ingress PG dropped"},
}

// TestShow: every show command in text and JSON, clear, and exit codes, on a lab with an incast.
func TestShow(t *testing.T) {
	lab, c := upStarWith(t, stormy)
	s := &star{t, lab, t.Context()}
	for _, host := range []string{"h1", "h2", "h3"} {
		s.flow(host, 0)
	}
	s.until("the queue was full enough to be marked", func() bool {
		return s.state().Ports[3].Queues[3].Marked.Frames > 0
	})
	for _, each := range shown {
		if text := s.show(0, each.command); !strings.Contains(text, each.text) {
			t.Errorf("show %s: no %q in\n%s", each.command, each.text, text)
		}
		s.checkJSON(each.command)
	}
	s.checkTop()
	s.checkClear()
	s.checkStorm()
	s.checkUsage()
	s.end(c)
}

// show runs a show command and returns what it printed.
func (s *star) show(want int, command string) string {
	s.Helper()
	code, out, errs := run(s.T, "rocelab", s.args("show", command)...)
	if code != want {
		s.Errorf("show %s: exit code %d, want %d\n%s%s", command, code, want, out, errs)
	}
	return out
}

func (s *star) args(verb, command string) []string {
	return append([]string{verb, "--lab", s.lab}, strings.Fields(command)...)
}

func (s *star) checkJSON(command string) {
	s.Helper()
	var answer struct {
		SchemaVersion int    `json:"schema_version"`
		Lab           string `json:"lab"`
		Switches      []struct {
			Switch    string `json:"switch"`
			VirtualNs int64  `json:"virtual_ns"`
		} `json:"switches"`
	}
	out := s.show(0, command+" --json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		s.Errorf("show %s --json: %v\n%s", command, err, out)
		return
	}
	if answer.SchemaVersion != 1 || answer.Lab != s.lab {
		s.Errorf("show %s --json: %s", command, out)
	}
	if command != "deadlock" && (len(answer.Switches) != 1 || answer.Switches[0].Switch != "sw0" ||
		answer.Switches[0].VirtualNs == 0) {
		s.Errorf("show %s --json: %s", command, out)
	}
}

func (s *star) state() (st switchd.State) {
	s.Helper()
	s.call("sw0", http.MethodGet, "/v1/state", nil, &st)
	return st
}

func (s *star) until(what string, ready func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(limit)
	defer late.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-late.C:
			s.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// checkTop: the bottleneck is seen at work, and the terminal's sequences only by who watches.
func (s *star) checkTop() {
	s.Helper()
	code, out, errs := run(s.T, "rocelab", s.args("top", "swp4 --once --interval 50ms")...)
	if code != 0 || !strings.HasPrefix(out, "at ") || !strings.Contains(out, "\n  swp4        U") ||
		strings.Contains(out, "\x1b") {
		s.Errorf("top --once: exit code %d\n%s%s", code, out, errs)
	}
	var answer struct {
		SchemaVersion int `json:"schema_version"`
		Switches      []struct {
			Ports []struct {
				Sent float64 `json:"tx_bytes_per_second"`
			}
		}
	}
	_, out, _ = run(s.T, "rocelab", s.args("top", "swp4 --json --interval 50ms")...)
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.SchemaVersion != 1 ||
		answer.Switches[0].Ports[0].Sent <= 0 {
		s.Errorf("top --json: %v\n%s", err, out)
	}
	c := start(s.T, "rocelab", s.args("top", "--interval 20ms")...)
	c.until(s.T, "\x1b[H")
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		s.Fatal(err)
	}
	if code := c.end(s.T); code != 0 {
		s.Errorf("top ends with exit code %d\n%s", code, c.err.String())
	}
}

// checkClear: counters start again for the user, and what the switch counts goes on.
func (s *star) checkClear() {
	s.Helper()
	before := s.state().Ports[3].Queues[3]
	for _, command := range []string{"counters", "pfccounters", "queuecounters",
		"queue wredcounters", "priority-group drop counters",
		"priority-group watermark shared", "priority-group persistent-watermark headroom",
		"queue watermark unicast", "buffer_pool watermark", "headroom-pool persistent-watermark",
		"arp", "fdb port swp1"} {
		if code, out, errs := run(s.T, "rocelab", s.args("clear", command)...); code != 0 {
			s.Errorf("clear %s: exit code %d\n%s%s", command, code, out, errs)
		}
	}
	text := s.show(0, "queue counters swp4")
	if !strings.HasPrefix(text, "swp4 Last cached time was ") {
		s.Errorf("queue counters after a clear:\n%s", text)
	}
	var answer struct {
		Switches []struct {
			Queues []struct {
				Queue int
				Sent  struct{ Frames uint64 }
			}
		}
	}
	out := s.show(0, "queue counters swp4 --json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		s.Fatal(err)
	}
	sent, now := answer.Switches[0].Queues[3].Sent.Frames, s.state().Ports[3].Queues[3]
	if now.Sent.Frames < before.Sent.Frames || sent > now.Sent.Frames-before.Sent.Frames {
		s.Errorf("the switch sent %d frames, then %d; since the clear it is %d", before.Sent.Frames,
			now.Sent.Frames, sent)
	}
}

// checkStorm: --check-storm is silent and tells by its exit code.
func (s *star) checkStorm() {
	s.Helper()
	if out := s.show(0, "pfcwd stats --check-storm"); out != "" {
		s.Errorf("--check-storm prints %q", out)
	}
	if code, _, errs := run(s.T, "rocelab", "fault", "add", "--lab", s.lab, "h4:eth0",
		"storm 3"); code != 0 {
		s.Fatal(errs)
	}
	s.until("the watchdog found the storm", func() bool {
		return s.state().Ports[3].Watchdog.Priorities[3].Stormed
	})
	if out := s.show(1, "pfcwd stats --check-storm"); out != "" {
		s.Errorf("--check-storm prints %q", out)
	}
	text := s.show(0, "pfcwd stats")
	if !strings.Contains(strings.Join(strings.Fields(text), " "), "swp4:3 stormed 1/0 ") {
		s.Errorf("pfcwd stats in a storm:\n%s", text)
	}
	if text := s.show(0, "events"); !strings.Contains(text, "pfcwd_storm") {
		s.Errorf("events:\n%s", text)
	}
}

// checkUsage: mistakes are told from what is wrong with the lab.
func (s *star) checkUsage() {
	s.Helper()
	s.show(2, "pfc counters -p swp9")
	s.show(2, "nonsense")
	s.show(2, "pfc nonsense")
	s.show(2, "arp nowhere")
	s.show(2, "queue counters --switch h1")
	s.show(2, "queue counters --no-such-flag")
	if code, _, errs := run(s.T, "rocelab", "show", "ecn", "--lab", "none"); code != 3 ||
		!strings.Contains(errs, "no lab none is running") {
		s.Errorf("a lab that does not run: exit code %d\n%s", code, errs)
	}
}

func (s *star) end(c *command) {
	s.Helper()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	if code := c.end(s.T); code != 0 {
		s.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(s.T, s.lab)
}
