package switchd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// atOnce runs what it is given at the time it shows.
type atOnce struct{ now unit.Time }

func (e *atOnce) Do(fn func(unit.Time)) error {
	e.now++
	fn(e.now)
	return nil
}

func (e *atOnce) Every(time.Duration, func(unit.Time) bool) error { return nil }

// configured is a switch that runs a file, with its control calls and what it recorded.
type configured struct {
	*configurator
	file   string
	call   daemon.Local
	events []daemon.Event
	told   []pipeline.Config // by enforce
}

func configure(t *testing.T, text string) *configured {
	t.Helper()
	c := &configured{file: filepath.Join(t.TempDir(), "sw.yaml")}
	c.write(t, text)
	cfg, err := Load(c.file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cfg.Machine()
	if err != nil {
		t.Fatal(err)
	}
	sw, _, err := cfg.build(m)
	if err != nil {
		t.Fatal(err)
	}
	if c.configurator, err = cfg.configurator(&atOnce{}, sw); err != nil {
		t.Fatal(err)
	}
	c.record = func(e daemon.Event) { c.events = append(c.events, e) }
	c.enforce = func(m *pipeline.Config) error { c.told = append(c.told, *m); return nil }
	c.call = daemon.Local{Name: "sw0", Mux: http.NewServeMux()}
	c.handle(c.call.Mux)
	return c
}

func (c *configured) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(c.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *configured) post(t *testing.T, path string, req any) (r ConfigResult, err error) {
	t.Helper()
	return r, c.call.Call(t.Context(), http.MethodPost, path, req, &r)
}

func (c *configured) getDrift(t *testing.T) (d Drift) {
	t.Helper()
	if err := c.call.Call(t.Context(), http.MethodGet, "/v1/drift", nil, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func shownAs(list []sonic.Difference) (texts []string) {
	for _, d := range list {
		texts = append(texts, d.Table+"|"+d.Key+"|"+d.Field+" "+d.Desired+" "+d.Running)
	}
	return texts
}

// TestReload: the file is changed and read again; the machine and the programs run it.
func TestReload(t *testing.T) {
	c := configure(t, minimal)
	c.write(t, minimal+"wred_profile: {green_max_threshold: 100KB}\n"+
		"dscp_to_tc_map: {3: 3, 4: 4, 26: 3, 48: 6, 10: 3}\n")
	r, err := c.post(t, "/v1/config", ConfigRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"DSCP_TO_TC_MAP|AZURE|10 3 ",
		"WRED_PROFILE|AZURE_LOSSLESS|green_max_threshold 100000 200000"}
	if got := shownAs(r.Changed); !slices.Equal(got, want) {
		t.Errorf("changed %q, want %q", got, want)
	}
	if len(c.told) != 1 || c.told[0].Ports[0].Classify.DSCP[10] != 3 ||
		c.told[0].Ports[0].Queues[3].WRED.Mark.Kmax != 100_000 {
		t.Errorf("told %+v", c.told)
	}
	if len(c.events) != 1 || c.events[0].Kind != "config_reloaded" ||
		!strings.Contains(c.events[0].Detail, "|10: nothing -> 3, WRED_PROFILE") {
		t.Errorf("events %+v", c.events)
	}
	if i := slices.IndexFunc(c.parameters(), func(p daemon.Parameter) bool {
		return p == daemon.Parameter{Name: "Kmax", Value: "100KB"}
	}); i < 0 {
		t.Errorf("parameters %v", c.parameters())
	}
}

// TestReloadRefuses: what cannot change while the switch runs is named, all of it, and a file that
// is wrong changes nothing.
func TestReloadRefuses(t *testing.T) {
	c := configure(t, minimal)
	for text, wants := range map[string][]string{
		"name: sw9\nframes: 9\ncell_size: 80\nports: [{name: swp1, rate: 10Gb/s, delay: 2us}]\n": {
			"name cannot change while the switch runs: it is sw0, not sw9", "frames cannot change",
			"cell_size cannot", "ports[0].rate cannot", "ports[0].delay cannot"},
		minimal + "  - {name: swp2, rate: 1Gb/s}\n":               {"ports cannot change"},
		strings.Replace(minimal, "swp1", "eth0", 1):               {"ports[0].name cannot change"},
		minimal + "clock: {dilation: 2}\n":                        {"clock cannot change"},
		strings.Replace(minimal, "}", ", far_end: switch}", 1):    {"ports[0]: links of the lab"},
		minimal + "colour: red\n":                                 {"sw.yaml:4: unknown key"},
		minimal + "buffer_pool: {size: 40KB}\n":                   {"headroom take 44800"},
		minimal + "qos: {queue: {swp1|0: {scheduler: nobody}}}\n": {"qos.queue.swp1|0.scheduler"},
	} {
		c.write(t, text)
		_, err := c.post(t, "/v1/config", ConfigRequest{})
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		}
	}
	if len(c.told)+len(c.events) != 0 {
		t.Errorf("a refused configuration was told: %v %v", c.told, c.events)
	}
	if _, err := c.post(t, "/v1/config", ConfigRequest{Path: "a", Config: "b"}); err == nil {
		t.Error("path and config together are taken")
	}
}

// TestReloadFromElsewhere: another file, or the text itself.
func TestReloadFromElsewhere(t *testing.T) {
	c := configure(t, minimal)
	other := filepath.Join(t.TempDir(), "other.yaml")
	text := minimal + "pause_quanta: 7\n"
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []ConfigRequest{{Path: other}, {}, {Config: minimal}, {Config: text}} {
		result, err := c.post(t, "/v1/config", r)
		if err != nil {
			t.Fatal(err)
		}
		if d := c.getDrift(t); len(d.Differences) > 0 || d.Error != "" {
			t.Errorf("after %+v: drift %+v", r, d)
		}
		if same := r == (ConfigRequest{}); same == (len(result.Changed) > 0) {
			t.Errorf("%+v changed %v", r, result.Changed)
		}
	}
}

// TestSetDriftsAndComesBack: a field changed while it runs is drift until it is back; so is a file
// that was changed and not loaded.
func TestSetDriftsAndComesBack(t *testing.T) {
	c := configure(t, minimal)
	set := SetRequest{"buffer_profile", "pg_lossless_profile", "dynamic_th", "1/64"}
	if _, err := c.post(t, "/v1/qos", set); err != nil {
		t.Fatal(err)
	}
	want := []string{"BUFFER_PROFILE|pg_lossless_profile|dynamic_th 0 -6"}
	if got := shownAs(c.getDrift(t).Differences); !slices.Equal(got, want) {
		t.Errorf("drift %q, want %q", got, want)
	}
	if l := c.told[0].Ports[0].Groups[3].Limit; l.Num != 1 || l.Den != 64 {
		t.Errorf("the machine has %+v", l)
	}
	metrics := &driftCollector{c.drift}
	expect(t, metrics, "switchd_config_drift BUFFER_PROFILE 1",
		"switchd_config_drift QUEUE 0", "switchd_config_desired_readable 1")
	set.Value = "0"
	if _, err := c.post(t, "/v1/qos", set); err != nil {
		t.Fatal(err)
	}
	c.write(t, minimal+"pause_quanta: 9\n")
	want = []string{"ROCELAB|global|pause_quanta 9 65535"}
	if got := shownAs(c.getDrift(t).Differences); !slices.Equal(got, want) {
		t.Errorf("drift of the file %q, want %q", got, want)
	}
	c.write(t, "name: [\n")
	if d := c.getDrift(t); d.Error == "" || len(d.Differences) != 0 {
		t.Errorf("drift to a broken file: %+v", d)
	}
	expect(t, metrics, "switchd_config_desired_readable 0")
	c.write(t, minimal)
	c.getDrift(t)
	var kinds []string
	for _, e := range c.events {
		kinds = append(kinds, e.Kind)
	}
	if want := []string{"config_set", "config_drift", "config_set", "config_drift_ended",
		"config_drift", "config_drift_ended"}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	for _, bad := range []SetRequest{{"VLAN", "a", "b", "c"},
		{"ROCELAB", "global", "cell_size", "80"},
		{"BUFFER_POOL", "ingress_lossless_pool", "size", "40KB"}, {Table: "QUEUE", Key: "swp1|3"}} {
		if _, err := c.post(t, "/v1/qos", bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if d := c.getDrift(t); len(d.Differences) != 0 {
		t.Errorf("refused changes are drift: %v", d)
	}
}

func expect(t *testing.T, c *driftCollector, lines ...string) {
	t.Helper()
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			line := f.GetName()
			for _, l := range m.GetLabel() {
				line += " " + l.GetValue()
			}
			got = append(got, fmt.Sprint(line, " ", m.GetGauge().GetValue()))
		}
	}
	for _, line := range lines {
		if !slices.Contains(got, line) {
			t.Errorf("no %s in %q", line, got)
		}
	}
}

// TestExportOverControl: what runs, as a config_db.json that is read again.
func TestExportOverControl(t *testing.T) {
	c := configure(t, minimal)
	set := SetRequest{"QUEUE", "swp1|3-4", "wred_profile", ""}
	if _, err := c.post(t, "/v1/qos", set); err != nil {
		t.Fatal(err)
	}
	var text json.RawMessage
	if err := c.call.Call(t.Context(), http.MethodGet, "/v1/config_db", nil, &text); err != nil {
		t.Fatal(err)
	}
	got, _, err := sonic.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := sonic.Diff(c.running, got); len(d) > 0 {
		t.Errorf("the export differs from what runs: %v", d)
	}
}
