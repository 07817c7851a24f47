package metrics

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/switchd/deadlock"
	"github.com/rocelab/rocelab/tests/require"
)

// promised are the metrics of a NIC with a socket for programs and no peers to probe.
var promised = []string{"nicd_programs", "nicd_program_memory_bytes", "nicd_program_qps",
	"nicd_program_memory_regions", "nicd_program_completion_queues", "nicd_programs_killed_total",
	"nicd_program_refused_requests_total", "nicd_qps", "nicd_pfc_send_disabled",
	"nicd_receive_pipeline_stopped", "nicd_tx_pause_storm_error_events_total",
	"nicd_cm_tx_msgs_total", "nicd_cm_tx_retries_total", "nicd_cm_rx_msgs_total",
	"nicd_cm_rx_duplicates_total", "nicd_cm_rx_invalid_total"}

// TestExposition: the names and help texts that running daemons export are as Prometheus wants
// them, and the shipped rules speak only of what is exported.
func TestExposition(t *testing.T) {
	exported := map[string]bool{}
	for name, page := range scrape(t) {
		lint(t, name, page)
		for _, m := range helpLine.FindAllSubmatch(page, -1) {
			exported[string(m[1])] = true
		}
	}
	for _, name := range promised {
		if !exported[name] {
			t.Errorf("nobody exports %s", name)
		}
	}
	for _, name := range namesInRules(t) {
		if !exported[name] {
			t.Errorf("the rules use %s, which nobody exports", name)
		}
	}
}

// TestPromtool: Prometheus' own checker, which knows the exposition format too, finds nothing.
func TestPromtool(t *testing.T) {
	require.Tool(t, "promtool")
	for name, page := range scrape(t) {
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = bytes.NewReader(page)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool on %s: %v\n%s", name, err, out)
		}
	}
}

// scrape returns what running daemons export, by their names.
func scrape(t *testing.T) map[string][]byte {
	t.Helper()
	d := startDaemons(t)
	pages := map[string][]byte{}
	for name, addr := range map[string]string{"switchd": d.switchd, "nicd": d.nicd} {
		page, err := get("http://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = page
	}
	pages["rocelab"] = labPage(t)
	return pages
}

// labPage is what the owner of a lab exports.
func labPage(t *testing.T) []byte {
	t.Helper()
	page := clock.Private(unit.Never)
	registry := client.NewRegistry()
	registry.MustRegister(lab.NewCollector(page.Status,
		func(context.Context) (deadlock.Report, error) { return deadlock.Report{}, nil }))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer,
		httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return answer.Body.Bytes()
}

var helpLine = regexp.MustCompile(`(?m)^# HELP (\S+) `)

func lint(t *testing.T, name string, page []byte) {
	t.Helper()
	if !bytes.Contains(page, []byte("\n"+name+"_build_info{")) {
		t.Errorf("%s does not say who it is", name)
	}
	problems, err := promlint.New(bytes.NewReader(page)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

var metricName = regexp.MustCompile(`\b(?:switchd|nicd|rocelab)_[a-z_]+\b`)

// namesInRules returns the metrics that the rules look at. Names of recording rules have a colon
// in front of what would match.
func namesInRules(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, rule := range readRules(t) {
		for _, at := range metricName.FindAllStringIndex(rule.Expr, -1) {
			if at[0] == 0 || rule.Expr[at[0]-1] != ':' {
				names = append(names, rule.Expr[at[0]:at[1]])
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 10 {
		t.Fatalf("only %v in the rules", names)
	}
	return names
}
