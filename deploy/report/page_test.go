package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/deploy/result"
)

// hostile are results that a broken or interrupted run could leave.
func hostile() map[string]*result.Result {
	out := map[string]*result.Result{
		"demo": synthetic(4, 1000), "long": synthetic(4, 5000), "one flow": synthetic(1, 200),
		"many flows": synthetic(64, 400), "nine flows": synthetic(9, 50),
		"one sample": synthetic(2, 1),
		"no sample":  synthetic(2, 0), "empty": {}, "blank runs": {Runs: make([]result.Run, 3)},
	}
	ragged := synthetic(3, 40)
	s := &ragged.Runs[0].Series
	s.TimeNs[3], s.TimeNs[5] = -1, math.MaxInt64/2
	s.RatesBps = append(s.RatesBps, nil, []float64{math.NaN(), math.Inf(1), -3})
	s.QueueBytes, s.IntervalNs = s.QueueBytes[:7], 0
	ragged.Runs[0].Flows = ragged.Runs[0].Flows[:1]
	ragged.Runs[1].Series.TimeNs = nil
	out["ragged"] = ragged
	tricky := synthetic(2, 30)
	tricky.Scenario.Name = `</style><script>alert("x")</script>`
	tricky.Runs[0].Name = "<b>&\"'"
	tricky.Runs[0].Flows[0].Name = "]]><x"
	tricky.Runs[0].Capture = "javascript:alert(1)"
	out["tricky"] = tricky
	return out
}

func render(t *testing.T, r *result.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var coordinates = regexp.MustCompile(`^[MLHVZhv0-9. -]*$`)

func TestPageIsWellFormed(t *testing.T) {
	for name, r := range hostile() {
		d := xml.NewDecoder(strings.NewReader(render(t, r)))
		depth, paths := 0, 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			switch e := token.(type) {
			case xml.StartElement:
				depth++
				if e.Name.Local == "script" {
					t.Errorf("%s: a script", name)
				}
				for _, a := range e.Attr {
					if a.Name.Local == "d" {
						paths++
						if !coordinates.MatchString(a.Value) {
							t.Errorf("%s: path %.60q", name, a.Value)
						}
					}
				}
			case xml.EndElement:
				depth--
			}
		}
		if depth != 0 {
			t.Errorf("%s: %d elements left open", name, depth)
		}
		if name == "demo" && paths < 60 {
			t.Errorf("%s: only %d paths are drawn", name, paths)
		}
	}
}

func TestPageFetchesNothing(t *testing.T) {
	for name, r := range hostile() {
		text := render(t, r)
		for _, bad := range []string{"http://", "https://", "src=", "@import", "url(//", "<link"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: contains %q", name, bad)
			}
		}
		if strings.Contains(text, `href="javascript`) {
			t.Errorf("%s: a link that runs", name)
		}
	}
}

func TestPageStaysSmall(t *testing.T) {
	for samples, limit := range map[int]int{1000: 600_000, 5000: 700_000, 20000: 700_000} {
		if n := len(render(t, synthetic(4, samples))); n > limit {
			t.Errorf("%d samples make %d bytes, more than %d", samples, n, limit)
		}
	}
	if n := len(render(t, synthetic(64, 5000))); n > 2_000_000 {
		t.Errorf("64 flows make %d bytes", n)
	}
}

func TestWriteFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := synthetic(2, 20)
	for range 2 { // again over what is there
		if err := WriteFolder(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode() != 0o644 || info.Size() < 1000 {
			t.Errorf("%s: %v %v", e.Name(), info, err)
		}
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "report.html result.json" {
		t.Errorf("left %s", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "result.json"), text)
}

// TestWriteFolderKeepsTheOldOnFailure: JSON has no NaN, so this result cannot be written.
func TestWriteFolderKeepsTheOldOnFailure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ResultFile), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := synthetic(1, 1)
	r.Runs[0].JainIndex = math.NaN()
	err := WriteFolder(dir, r)
	if err == nil || !strings.Contains(err.Error(), ResultFile) {
		t.Errorf("error %v does not name the file", err)
	}
	left, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil || string(left) != "old" {
		t.Errorf("the old file is now %q, %v", left, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
