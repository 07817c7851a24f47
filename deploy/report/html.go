package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/rocelab/rocelab/deploy/result"
)

// partsText is what all pages share: the style, and the drawing of a plot.
//
//go:embed parts.html
var partsText string

//go:embed page.html
var pageText string

var page = newPage(pageText)

// newPage is a template of a page with the parts that all share.
func newPage(text string) *template.Template {
	return template.Must(template.Must(template.New("page").Parse(partsText)).Parse(text))
}

// view is what the page shows.
type view struct {
	*result.Result
	Started    string
	Settings   []result.Line
	Headlines  []headline
	Panels     []panel
	Sections   []section
	Parameters []row
	ResultFile string

	NumbersWidth int // pixels that a table of numbers needs
}

// headline is the head of a run's column.
type headline struct {
	Name    string
	Verdict string
	Valid   bool
	Facts   []result.Line
	Failed  []string // the checks that made it invalid
}

// HTML writes a page that stands alone: no script, and nothing fetched from anywhere.
func HTML(w io.Writer, r *result.Result) error {
	v := view{
		Result: r, Started: dayTime(r.Started), Settings: settings(&r.Scenario),
		Panels: panels(r), Sections: sections(r), Parameters: parameters(r),
		ResultFile: ResultFile, NumbersWidth: 170 + 115*len(r.Runs),
	}
	for i := range r.Runs {
		v.Headlines = append(v.Headlines, head(&r.Runs[i]))
	}
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// head picks the few numbers that tell runs apart.
func head(run *result.Run) headline {
	h := headline{
		Name: runName(run), Verdict: verdict(run.Certificate), Valid: run.Certificate.Valid,
		Facts: []result.Line{
			{Name: "goodput", Value: bitRates.texts([]float64{run.TotalGoodputBps})[0]},
			{Name: "Jain index", Value: fixed(run.JainIndex, 4)},
			{Name: "queue p99", Value: sizes.texts([]float64{run.Queue.P99Bytes})[0]},
			{Name: "PFC frames", Value: countText(run.PFC.FramesSent)},
			{Name: "CNPs", Value: countText(run.CNPsSent)},
			{Name: "drops", Value: orNone(dropped(run, anyDrop))},
		},
	}
	for _, c := range run.Certificate.Checks {
		if !c.OK {
			text := c.Name + ": " + c.Value
			if c.Limit != "" {
				text += ", limit " + c.Limit
			}
			h.Failed = append(h.Failed, text)
		}
	}
	return h
}

// parameters puts the settings of all runs beside each other, by name.
func parameters(r *result.Result) (rows []row) {
	at := map[string]int{}
	for i, run := range r.Runs {
		for _, line := range run.Parameters {
			n, ok := at[line.Name]
			if !ok {
				n = len(rows)
				at[line.Name] = n
				cells := make([]string, len(r.Runs))
				for j := range cells {
					cells[j] = none
				}
				rows = append(rows, row{line.Name, cells})
			}
			rows[n].Cells[i] = line.Value
		}
	}
	return rows
}
