package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/deploy/suite"
)

func renderSuite(t *testing.T, records []*suite.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := Suite(&b, records, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostileSuites are what experiments could say that nobody thought of.
func hostileSuites() map[string][]*suite.Record {
	odd := record("odd", suite.Virtual)
	odd.Title = `</style><script>alert("x")</script>`
	odd.Claims[0].Text = "<b>&\"'"
	odd.Claims[0].Unit = "]]><x"
	one := suite.Series{X: []float64{0}, Y: []float64{-5}}
	odd.Figures = []suite.Figure{{}, {Title: "one point, below what a logarithm has",
		X: suite.Axis{Log: true}, Y: suite.Axis{Log: true}, Curves: []suite.Curve{
			{Kind: suite.Line, Series: one}, {Kind: suite.Bars, Series: one},
			{Kind: suite.Points, Series: one}, {Kind: suite.Step, Series: one},
			{Kind: suite.Line}, {Kind: "unknown", From: "nobody", Series: one}}}}
	return map[string][]*suite.Record{"all": syntheticSuite(), "none": nil, "odd": {odd}}
}

func TestSuiteIsWellFormedAndStandsAlone(t *testing.T) {
	for name, records := range hostileSuites() {
		text := renderSuite(t, records)
		for _, bad := range []string{"http://", "https://", "src=", "@import", "url(//", "<link",
			"NaN", "Inf"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: contains %q", name, bad)
			}
		}
		d := xml.NewDecoder(strings.NewReader(text))
		paths := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
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
		}
		if name == "all" && paths < 90 {
			t.Errorf("only %d paths are drawn", paths)
		}
	}
}

// TestSuiteSaysAll: every claim with what belongs to it, and what each section must have.
func TestSuiteSaysAll(t *testing.T) {
	text := renderSuite(t, syntheticSuite())
	for _, want := range []string{"6 of 9", "0.9987 ± 0.0006", "9.213 ± 0.11 Gb/s",
		"6,023,912 PAUSE frames", "does not hold", "It could not be judged", "goroutine 7",
		"1 of 2 runs valid, dilation 24.2 to 31", "seed=2: arrivals behind a decision: 3, limit 0",
		"rocelab run dcqcn-fairness --real --seed 1 --seeds 5 --dilation 30",
		"0.1 s instead of 2 minutes", "1 to 5", `href="#qcn-1x100"`, `id="qcn-1x100"`,
		"H1, real frames", "H1, virtual time", "H1, model", "go-back-N, paper"} {
		if !strings.Contains(text, strings.ReplaceAll(want, "+", "&#43;")) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(text, "of a link&#39;s 40 Gb/s"); n != 3 {
		t.Errorf("the notes stand there %d times, want once in each of three sections", n)
	}
}

// A page without claims does not count any.
func TestNoClaimsNoCount(t *testing.T) {
	r := record("sweep", suite.Virtual)
	r.Claims, r.Paper = nil, ""
	if facts := newSuiteView([]*suite.Record{r}).Facts; facts[0].Name != "experiments" {
		t.Errorf("%v", facts)
	}
}

// What an interrupted run has left is named, and whether something older stands in its place.
func TestUnfinished(t *testing.T) {
	records := []*suite.Record{record("old", suite.Virtual)}
	left := []suite.Unfinished{{ID: "old", Mode: suite.Virtual, Cells: 2, Of: 12},
		{ID: "old", Mode: suite.Real, Of: 4}}
	var page, text bytes.Buffer
	if err := errors.Join(Suite(&page, records, left), Markdown(&text, records, left)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"old (virtual): 2 of 12 cells; what stands here is of an earlier run",
		"old (real): 0 of 4 cells\n", "old (real): 0 of 4 cells</li>"} {
		if n := strings.Count(page.String()+text.String(), want); n != 1 && n != 2 {
			t.Errorf("%q stands there %d times", want, n)
		}
	}
	page.Reset()
	if err := Suite(&page, nil, left); err != nil ||
		!strings.Contains(page.String(), "No experiment is finished.") {
		t.Errorf("%v\n%s", err, page.String())
	}
	if strings.Contains(renderSuite(t, records), "unfinished\"") {
		t.Error("a finished run says that it is not")
	}
}

func TestMarkdownGolden(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, syntheticSuite(), nil); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "suite.md"), b.Bytes())
}

func TestClaimsGolden(t *testing.T) {
	var b bytes.Buffer
	if err := Claims(&b, syntheticSuite()); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "claims.txt"), b.Bytes())
	for line := range strings.Lines(b.String()) {
		if len(line) > tableColumns+1 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestDigits(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "0.7648": 0.76484, "24.48": 24.475,
		"1,235": 1234.6, "-12,346": -12345.6, "99.95": 99.95, "0.00123": 0.00123,
		"1.235e-05": 1.2346e-5, "6,023,912": 6023912, "19,787,654": 19787654,
		"1.2e+09": 1.2e9, "5": 5} {
		if got := Digits(v, 4); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestSpanProperty: all values are on the axis, and its ticks are on it, in order and few.
func TestSpanProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := suite.Axis{Log: rapid.Bool().Draw(t, "log")}
		value := rapid.Float64Range(-1e12, 1e12)
		if a.Log {
			value = rapid.Float64Range(1e-12, 1e12)
		}
		values := rapid.SliceOfN(value, 1, 20).Draw(t, "values")
		room := rapid.Bool().Draw(t, "room")
		s := newSpan(a, values, 5, room)
		for _, v := range values {
			if at := s.at(v); !(at > -1e-6 && at < 1+1e-6) {
				t.Fatalf("%v is at %v of %+v", v, at, s)
			}
		}
		last := math.Inf(-1)
		for _, tick := range s.ticks {
			at := s.at(tick.value)
			if at <= last || at < -1e-6 || at > 1+1e-6 {
				t.Fatalf("tick %v is at %v, after %v", tick, at, last)
			}
			last = at
		}
		if n := len(s.ticks); n > 11 || room && n < 2 {
			t.Fatalf("%d ticks: %+v", n, s)
		}
	})
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis      suite.Axis
		low, high float64
		room      bool
		want      string
	}{
		{suite.Axis{}, 0, 37.4, true, "0 10 20 30 40"},
		{suite.Axis{}, 36, 37.4, true, "36 36.5 37 37.5"},
		{suite.Axis{}, 12, 37.4, true, "0 10 20 30 40"},
		{suite.Axis{}, 0, 7, false, "0 2 4 6"},
		{suite.Axis{}, 0, 2e6, true, "0 5e5 1e6 1.5e6 2e6"},
		{suite.Axis{}, 3, 3, false, "2.6 2.8 3 3.2 3.4"},
		{suite.Axis{Log: true}, 1e-6, 0.02, false, "1e-6 1e-5 1e-4 0.001 0.01"},
		{suite.Axis{Log: true}, 3, 80, true, "1 2 5 10 20 50 100"},
		{suite.Axis{Names: []string{"a", "b"}}, 0, 0, false, "a b"},
	} {
		var got []string
		for _, tick := range newSpan(c.axis, []float64{c.low, c.high}, 5, c.room).ticks {
			got = append(got, tick.label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: %v, want %s", c.low, c.high, got, c.want)
		}
	}
}

// TestMerged: what ran in both modes shares its figures, and what only one has stays.
func TestMerged(t *testing.T) {
	figures := merged(byExperiment(syntheticSuite())[0])
	var got []string
	for _, f := range figures {
		line := f.Title[:len("Figure 18")] + ":"
		for _, c := range f.Curves {
			line += " " + string(c.From)
		}
		got = append(got, line)
	}
	want := "Figure 8:: ours model ours model twin twin\nFigure 21: twin model paper\n" +
		"Figure 18: twin paper\nFigure 19: twin twin twin twin"
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// Of a model that real frames were followed beside for less time, all is drawn.
func TestMergedModel(t *testing.T) {
	short := suite.Curve{Name: "model", From: suite.Model, Series: suite.Series{X: []float64{0, 10},
		Y: []float64{1, 2}}}
	long := short
	long.X, long.Y = []float64{0, 10, 100}, []float64{1, 2, 3}
	for _, both := range [][2]suite.Curve{{short, long}, {long, short}} {
		got := withTwin([]suite.Curve{both[0]}, both[1])
		if len(got) != 1 || len(got[0].X) != 3 {
			t.Errorf("%+v", got)
		}
	}
}

// TestThinnedKeepsSpikes: of very many samples the drawing keeps the ends and every extreme.
func TestThinnedKeepsSpikes(t *testing.T) {
	c := suite.Curve{Kind: suite.Line}
	for i := range 100_000 {
		y := 1.0
		if i == 54_321 {
			y = 9
		}
		c.X, c.Y = append(c.X, float64(i)), append(c.Y, y)
	}
	d := draw("x", &suite.Figure{Curves: []suite.Curve{c}}, suite.Virtual)
	points := d.thinned(c.X, c.Y)
	if n := len(points); n > 4*(innerWidth+1) {
		t.Errorf("%d points are left", n)
	}
	top := math.Inf(1)
	for _, p := range points {
		top = min(top, p[1])
	}
	if want := d.down(9); top != want {
		t.Errorf("the spike is at %v, want %v", top, want)
	}
	if points[0][0] != d.across(0) || points[len(points)-1][0] != d.across(99_999) {
		t.Error("the ends are gone")
	}
}
