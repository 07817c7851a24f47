package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/tests/require"
)

// shipped is where the files for Prometheus are.
const shipped = "../../deploy/prometheus"

// rule is one of the shipped rules.
type rule struct{ Record, Alert, Expr string }

func readRules(t *testing.T) (rules []rule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shipped, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []rule }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// TestShippedFiles: promtool accepts the configuration and the rules, and the rules do on made-up
// series what they are for.
func TestShippedFiles(t *testing.T) {
	require.Tool(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", "prometheus.yaml"},
		{"check", "rules", "rules.yaml"},
		{"test", "rules", "rules_test.yaml"},
	} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = shipped
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestPrometheusScrapes runs a real server with the shipped configuration on running daemons: it
// knows the metrics of both, and every rule could be evaluated.
func TestPrometheusScrapes(t *testing.T) {
	require.Tool(t, "prometheus")
	d := startDaemons(t)
	server := startPrometheus(t, d)
	for _, query := range []string{"switchd_virtual_seconds_total > 0",
		`switchd_buffer_pool_size_bytes == 12e6`, `nicd_virtual_seconds_total > 0`,
		`nicd_dcqcn_rate_bytes_per_second == 5e9`} {
		await(t, func() error { return server.has(query) })
	}
	await(t, func() error { return server.evaluated(len(readRules(t))) })
}

// prometheus is the base URL of a running server.
type prometheus string

func startPrometheus(t *testing.T, d daemons) prometheus {
	t.Helper()
	dir := t.TempDir()
	text := read(t, "prometheus.yaml")
	for sample, addr := range map[string]string{"127.0.0.1:9465": d.switchd,
		"127.0.0.1:9466": d.nicd} {
		if strings.Count(text, sample) != 1 {
			t.Fatalf("the configuration does not name %s once", sample)
		}
		text = strings.Replace(text, sample, addr, 1)
	}
	for name, content := range map[string]string{"prometheus.yaml": text,
		"rules.yaml": read(t, "rules.yaml")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := freeAddresses(t, 1)[0]
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+addr,
		"--log.level=warn")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	// A test that is killed takes the server with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended, which Wait shows
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
	})
	return prometheus("http://" + addr)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shipped, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// has returns nil if the query has an answer that is not empty.
func (p prometheus) has(query string) error {
	page, err := get(string(p) + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return err
	}
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal(page, &answer); err != nil {
		return err
	}
	if len(answer.Data.Result) == 0 {
		return fmt.Errorf("%s: no answer", query)
	}
	return nil
}

// evaluated returns nil if the server has evaluated so many rules, all without an error.
func (p prometheus) evaluated(want int) error {
	page, err := get(string(p) + "/api/v1/rules")
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal(page, &answer); err != nil {
		return err
	}
	ok := 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				return fmt.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
			ok++
		}
	}
	if ok != want {
		return fmt.Errorf("%d rules of %d", ok, want)
	}
	return nil
}
