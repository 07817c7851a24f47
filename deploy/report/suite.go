package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/deploy/suite"
)

//go:embed suite.html
var suiteText string

var suitePage = newPage(suiteText)

// WriteSuite writes report.html into the folder of a suite.
func WriteSuite(dir string, records []*suite.Record, left []suite.Unfinished) error {
	return result.WriteFile(filepath.Join(dir, ReportFile),
		func(w io.Writer) error { return Suite(w, records, left) })
}

// Suite writes the report of a suite: a page that stands alone, as HTML does. Records of one
// experiment in both modes share a section and its drawings. What interrupted runs have left comes
// first.
func Suite(w io.Writer, records []*suite.Record, left []suite.Unfinished) error {
	view := newSuiteView(records)
	view.Unfinished = unfinishedLines(records, left)
	if err := suitePage.Execute(w, view); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// suiteView is what the page shows.
type suiteView struct {
	Title    string
	Facts    []result.Line
	Modes    bool // there are several
	Papers   bool // some of it is from papers
	Claims   bool // something is claimed, or has failed
	Sections []*experimentView

	Unfinished []string
}

// unfinishedLines says of each what is there of it, and where a verdict comes from nevertheless.
func unfinishedLines(records []*suite.Record, left []suite.Unfinished) (lines []string) {
	for _, u := range left {
		line := u.String()
		if slices.ContainsFunc(records, u.Is) {
			line += "; what stands here is of an earlier run"
		}
		lines = append(lines, line)
	}
	return lines
}

// experimentView is the section of an experiment.
type experimentView struct {
	*suite.Record // of real frames, if there is one
	Runs          []*runView
	Drawings      []*drawing
	Rows          int // in the summary
	Verdict       string
	Holds         bool
}

// runView is an experiment in one of its modes.
type runView struct {
	*suite.Record
	ClaimViews  []claimView
	NoteList    []string
	SeedText    string
	Cost        string
	Certificate string // in one line
	Valid       bool
	Checks      []checkView // that are not ok
}

// claimView is a line of the summary.
type claimView struct {
	suite.Claim
	OursText string
}

// Again is the command that runs the experiment again; empty if it needs a file of the user's.
func (v *runView) Again() string {
	if v.Paper == "" {
		return ""
	}
	return v.Command()
}

// checkView is a check of a certificate that failed.
type checkView struct{ Cell, Text string }

func newSuiteView(records []*suite.Record) *suiteView {
	v := &suiteView{Title: "The papers, reproduced"}
	held, all, cost := 0, 0, 0.0
	modes, versions := map[suite.Mode]bool{}, []string{}
	for _, r := range records {
		modes[r.Mode] = true
		v.Papers = v.Papers || r.Paper != ""
		v.Claims = v.Claims || r.Judged()
		if !slices.Contains(versions, r.Version) {
			versions = append(versions, r.Version)
		}
		cost += r.CPUSeconds
		for _, c := range r.Claims {
			if all++; c.Holds {
				held++
			}
		}
	}
	v.Modes = len(modes) > 1
	for _, group := range byExperiment(records) {
		v.Sections = append(v.Sections, newExperimentView(group))
	}
	if len(v.Sections) == 1 {
		v.Title = v.Sections[0].ID
	}
	if all > 0 {
		v.Facts = append(v.Facts, result.Line{Name: "claims that hold",
			Value: fmt.Sprintf("%d of %d", held, all)})
	}
	v.Facts = append(v.Facts, []result.Line{
		{Name: "experiments", Value: fmt.Sprint(len(v.Sections))},
		{Name: "processor time", Value: duration(cost)},
		{Name: "rocelab", Value: strings.Join(versions, ", ")},
	}...)
	return v
}

// byExperiment groups records, real frames first: papers in the order of their first experiment,
// as the records come.
func byExperiment(records []*suite.Record) (groups [][]*suite.Record) {
	at := map[string]int{}
	for _, r := range records {
		n, ok := at[r.ID]
		if !ok {
			n = len(groups)
			at[r.ID] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], r)
	}
	for _, g := range groups {
		slices.SortFunc(g, func(a, b *suite.Record) int { return cmp.Compare(a.Mode, b.Mode) })
	}
	return groups
}

func newExperimentView(group []*suite.Record) *experimentView {
	v := &experimentView{Record: group[0], Holds: true, Verdict: "HOLDS"}
	failed, missed := false, 0
	for i, r := range group {
		run := newRunView(r)
		if i > 0 && slices.Equal(r.Notes, group[0].Notes) {
			run.NoteList = nil // once is enough
		}
		v.Runs = append(v.Runs, run)
		v.Rows += max(1, len(r.Claims))
		failed = failed || len(r.Errors) > 0
		for _, c := range r.Claims {
			if !c.Holds {
				missed++
			}
		}
	}
	switch {
	case !group[0].Judged():
		v.Verdict = ""
	case failed:
		v.Verdict, v.Holds = "FAILED", false
	case missed > 0:
		v.Verdict, v.Holds = fmt.Sprintf("%d DO NOT HOLD", missed), false
		if missed == 1 {
			v.Verdict = "1 DOES NOT HOLD"
		}
	}
	figures := merged(group)
	for i := range figures {
		v.Drawings = append(v.Drawings, draw(fmt.Sprintf("%s-%d", v.ID, i),
			&figures[i], v.Mode))
	}
	return v
}

// merged returns the figures of an experiment. Where it has been run on real frames, its curves
// in virtual time are drawn into the same figures, unless the figure has those of the twin.
func merged(group []*suite.Record) []suite.Figure {
	figures := slices.Clone(group[0].Figures)
	for _, r := range group[1:] {
		for _, other := range r.Figures {
			at := slices.IndexFunc(figures, func(f suite.Figure) bool {
				return f.Title == other.Title
			})
			if at < 0 {
				at = len(figures)
				figures = append(figures, other)
				figures[at].Curves = nil
			}
			curves := slices.Clone(figures[at].Curves)
			for _, c := range other.Curves {
				curves = withTwin(curves, c)
			}
			figures[at].Curves = curves
		}
	}
	return figures
}

// withTwin returns curves and one in virtual time beside them, unless they have it. Of a model,
// which is one in both modes, the longer curve is drawn: real frames are often followed for less
// time.
func withTwin(curves []suite.Curve, c suite.Curve) []suite.Curve {
	if origin(&c) == suite.Ours {
		c.From = suite.Twin
	}
	at := slices.IndexFunc(curves, func(h suite.Curve) bool {
		return h.Name == c.Name && h.From == c.From
	})
	switch {
	case at < 0:
		return append(curves, c)
	case c.From != suite.Twin && reach(&c) > reach(&curves[at]):
		curves[at] = c
	}
	return curves
}

// reach is how far to the right a curve goes.
func reach(c *suite.Curve) float64 {
	if len(c.X) == 0 {
		return math.Inf(-1)
	}
	return slices.Max(c.X)
}

func newRunView(r *suite.Record) *runView {
	v := &runView{Record: r, NoteList: r.Notes, SeedText: seedText(r.Seeds),
		Cost: fmt.Sprintf("%d runs, %s of processor time", r.Cells, duration(r.CPUSeconds))}
	if r.Cells == 1 {
		v.Cost = "1 run, " + duration(r.CPUSeconds) + " of processor time"
	}
	for _, c := range r.Claims {
		v.ClaimViews = append(v.ClaimViews, claimView{c,
			strings.ReplaceAll(ours(&c), "+-", "±")})
	}
	v.Certificate, v.Checks = certificates(r.Certificates)
	v.Valid = len(v.Checks) == 0
	return v
}

// certificates sums those of a record up in a line, and lists what makes any of them INVALID.
func certificates(runs []suite.Certified) (line string, failed []checkView) {
	valid := 0
	for _, c := range runs {
		if c.Certificate.Valid {
			valid++
			continue
		}
		for _, check := range c.Certificate.Checks {
			if !check.OK {
				failed = append(failed, checkView{c.Cell, fmt.Sprintf("%s: %s, limit %s",
					check.Name, check.Value, orNothing(check.Limit))})
			}
		}
	}
	if n := len(runs); n > 0 {
		line = fmt.Sprintf("%d of %d runs valid", valid, n) + dilations(runs)
	}
	return line, failed
}

// dilations tells how fast the runs went.
func dilations(runs []suite.Certified) string {
	var k []float64
	for _, c := range runs {
		if c.Clock != nil {
			k = append(k, c.Clock.Dilation)
		}
	}
	if len(k) == 0 {
		return ""
	}
	low, high := Digits(slices.Min(k), 3), Digits(slices.Max(k), 3)
	if low == high {
		return ", dilation " + low
	}
	return ", dilation " + low + " to " + high
}

func seedText(seeds []uint64) string {
	if len(seeds) == 0 {
		return none
	}
	if len(seeds) == 1 {
		return fmt.Sprint(seeds[0])
	}
	return fmt.Sprintf("%d to %d", seeds[0], seeds[len(seeds)-1])
}

// duration prints seconds for a reader.
func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return fmt.Sprintf("%.1f min", seconds/60)
}
