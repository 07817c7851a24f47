package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRecordJSON: a record comes back as it was, and its fields stand in one order.
func TestRecordJSON(t *testing.T) {
	dir := t.TempDir()
	var f fake
	written := run(t, &Suite{Experiments: []Experiment{f.experiment("one"), f.experiment("two")},
		Dir: dir})
	read, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, written) {
		t.Errorf("read %+v, written %+v", read, written)
	}
	text, err := os.ReadFile(filepath.Join(dir, "one-virtual.json"))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, field := range []string{"schema_version", "id", "paper", "paper_title", "figure",
		"title", "mode", "seeds", "parameters", "cells", "hash", "claims", "text", "paper", "ours",
		"confidence_interval", "tolerance", "holds", "cpu_seconds", "real_seconds", "version"} {
		next := strings.Index(string(text[at:]), `"`+field+`":`)
		if next < 0 {
			t.Fatalf("%s is not where it belongs in\n%s", field, text)
		}
		at += next + 1
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Error(err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"half.json":    `{"schema_version"`,
		"other.json":   `{"schema_version": 1, "id": "one", "mode": "virtual"}`,
		"a-later.json": `{"schema_version": 99, "id": "a", "mode": "later"}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if records, err := Load(t.TempDir()); err != nil || len(records) != 0 {
		t.Errorf("of an empty folder: %v %v", records, err)
	}
}

func TestListed(t *testing.T) {
	for want, values := range map[string][]string{
		"": nil, "a": {"a"}, "1, 2, 3, 4, 5, 6": strings.Fields("1 2 3 4 5 6"),
		"1, 2, ... 9 (9 values)": strings.Fields("1 2 3 4 5 6 7 8 9"),
	} {
		if got := listed(values); got != want {
			t.Errorf("%v: %q", values, got)
		}
	}
}

func TestSelect(t *testing.T) {
	var all []Experiment
	for _, id := range []string{"dcqcn-loss", "dcqcn-g", "qcn-table1", "scale-livelock"} {
		all = append(all, Experiment{ID: id, Modes: []Mode{Virtual}})
	}
	all[3].Modes = []Mode{Real}
	all[0].Modes = []Mode{Virtual, Real}
	if _, err := Select(all[:0], Real, []string{All}); err == nil ||
		err.Error() != "no experiment runs in mode real" {
		t.Errorf("all of none: %v", err)
	}
	for _, c := range []struct {
		mode     Mode
		patterns string
		want     string
	}{
		{Virtual, "all", "dcqcn-loss dcqcn-g qcn-table1"},
		{Real, "all", "dcqcn-loss scale-livelock"},
		{Virtual, "qcn-table1 dcqcn-*", "dcqcn-loss dcqcn-g qcn-table1"},
		{Real, "dcqcn-*", "dcqcn-loss"},
		{Virtual, "dcqcn-g dcqcn-g", "dcqcn-g"},
		{Virtual, "dcqcn-lost", "no experiment dcqcn-lost; there is dcqcn-loss"},
		{Virtual, "livelock", "no experiment livelock; there is scale-livelock"},
		{Virtual, "x", "no experiment x: 'rocelab list' prints all"},
		{Virtual, "ldcp-*", "no experiment of mode virtual is like ldcp-*"},
		{Virtual, "scale-livelock", "scale-livelock does not run in mode virtual"},
		{Virtual, "[", "[: syntax error in pattern"},
	} {
		chosen, err := Select(all, c.mode, strings.Fields(c.patterns))
		var ids []string
		for _, e := range chosen {
			ids = append(ids, e.ID)
		}
		got := strings.Join(ids, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.mode, c.patterns, got, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"kitten", "sitting", 3}, {"same", "same", 0}, {"ab", "ba", 2}} {
		if got := edits(c.a, c.b); got != c.want || edits(c.b, c.a) != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestEstimate: the time left, at moments of a run that is not one.
func TestEstimate(t *testing.T) {
	began := time.Unix(1000, 0)
	p := Progress{Columns: 200, total: 12, jobs: 2, began: began, ended: 2,
		measured: map[string]*mean{}, unknown: map[string]int{"a": 8}}
	first := &running{job: &job{key: key{Experiment: "a", Cell: "x"}}, began: began}
	second := &running{job: &job{key: key{Experiment: "b", Cell: "y"}}, began: began}
	p.running = []*running{first, second}
	now := began.Add(10 * time.Second)
	if text := p.text(now); text != "2/12 cells, 0:10: a x, b y" {
		t.Errorf("knowing nothing: %q", text)
	}
	first.share.Store(millionths / 2)
	// All take 20 s, as the first will: eight of them, and 10 s of each that runs, over two.
	if left, ok := p.left(now); !ok || left != 90*time.Second {
		t.Errorf("knowing the share of the first: %v %v", left, ok)
	}
	first.share.Store(0)
	p.measured["a"] = &mean{sum: 60 * time.Second, n: 2}
	p.all = *p.measured["a"]
	second.share.Store(millionths / 4)
	// 8 of a at 30 s, 20 s of the first's 30, three times 10 s of the second: 290 s over two.
	if text := p.text(now); text != "2/12 cells, 0:10, about 2:25 left: a x, b y 25 %" {
		t.Errorf("knowing some: %q", text)
	}
	p.unknown = nil
	first.job.before = &finished{RealSeconds: 110}
	// One that still has 100 s to go cannot be shared out.
	if left, ok := p.left(now); !ok || left != 100*time.Second {
		t.Errorf("the longest: %v %v", left, ok)
	}
	p.Columns = 12
	if text := p.text(now); text != "2/12 cells," {
		t.Errorf("on a narrow terminal: %q", text)
	}
}

// TestSeries: what a cell found comes back through its file.
func TestSeries(t *testing.T) {
	f := finished{Key: key{Experiment: "one", Cell: "c", Mode: Virtual}, Outcome: Outcome{Cell: "c",
		Numbers: map[string]float64{"n": 1.0 / 3}, Hash: "h",
		Series: map[string]Series{"s": {X: []float64{0, 1e-9}, Y: []float64{1e300, -1}}}}}
	dir := t.TempDir()
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	if got := load(dir, &f.Key); !reflect.DeepEqual(got, &f) {
		t.Errorf("%+v", got)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "cells", "*", "*")); !slices.Equal(files,
		[]string{filepath.Join(dir, "cells", "one", "c-virtual.json")}) {
		t.Errorf("files %v", files)
	}
}
