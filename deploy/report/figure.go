package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rocelab/rocelab/deploy/suite"
)

// drawing is a figure of an experiment on its way into a page.
type drawing struct {
	ID, Title      string
	Name           string // for those who cannot see it
	Width, Height  int
	Left, Top      int
	InnerW, InnerH int

	XLabel, YLabel string
	XTicks, YTicks []tick
	Slant          bool // names under the axis are too long to stand side by side
	Shapes         []shape
	Legend         []entry
	Empty          string // said instead of a drawing

	x, y *span
	bars barPlaces
}

// entry is a line of the legend: how a curve is drawn, and its name.
type entry struct{ Class, Path, Label string }

// The measures of a figure, in the units of its viewBox, as those of a plot.
const (
	figureHeight = 230 // between the axes
	figureTop    = 24  // for the label of the upright axis
	figureFoot   = 38  // for ticks and the label of the axis
	slantedFoot  = 96  // at most, for names that are slanted
	letterWidth  = 6.1 // of the labels' type, on average
)

// draw makes a figure. Its numbers are those of the experiment's records and so finite.
func draw(id string, f *suite.Figure) *drawing {
	d := &drawing{ID: id, Title: f.Title, Name: f.Title, Width: plotWidth, Left: marginLeft,
		Top: figureTop, InnerW: innerWidth, InnerH: figureHeight,
		XLabel: axisLabel(f.X), YLabel: axisLabel(f.Y)}
	x, y := extent(f)
	d.bars = newBarPlaces(f)
	const bars, others = 0.5, 0.02 // what is left free beside the outermost
	pad := bars * d.bars.slot
	if pad == 0 && (hasPoints(f) || len(f.X.Names) > 0) && len(x) > 0 && !f.X.Log {
		pad = others * (slices.Max(x) - slices.Min(x))
	}
	d.x, d.y = newSpan(f.X, x, 7, false, pad), newSpan(f.Y, y, 5, true, 0)
	d.axes(len(f.X.Names) > 0)
	look := newLook(f)
	for i := range f.Curves {
		d.curve(&f.Curves[i], look)
	}
	if len(d.Shapes) == 0 {
		d.Empty = noSamples
	}
	return d
}

func axisLabel(a suite.Axis) string {
	if a.Unit == "" {
		return a.Label
	}
	if a.Label == "" {
		return a.Unit
	}
	return a.Label + ", " + a.Unit
}

// extent collects what the axes must cover. Bars stand on 0.
func extent(f *suite.Figure) (x, y []float64) {
	for _, c := range f.Curves {
		x = append(x, c.X...)
		y = append(append(append(y, c.Y...), c.Low...), c.High...)
		if c.Kind == suite.Bars && !f.Y.Log {
			y = append(y, 0)
		}
	}
	return x, y
}

func hasPoints(f *suite.Figure) bool {
	return slices.ContainsFunc(f.Curves, func(c suite.Curve) bool {
		return c.Kind == suite.Points
	})
}

// axes places the ticks.
func (d *drawing) axes(named bool) {
	widest, room := 0, math.Inf(1)
	for i, t := range d.x.ticks {
		d.XTicks = append(d.XTicks, tick{number(d.across(t.value)), t.label})
		widest = max(widest, utf8.RuneCountInString(t.label))
		if i > 0 {
			room = min(room, d.across(t.value)-d.across(d.x.ticks[i-1].value))
		}
	}
	foot := figureFoot
	if width := letterWidth * float64(widest+1); named && width > room {
		d.Slant = true
		foot += min(int(width*math.Sin(math.Pi/6)), slantedFoot-figureFoot)
		most := int(slantedFoot/(letterWidth*math.Sin(math.Pi/6))) - 4
		for i := range d.XTicks {
			d.XTicks[i].Label = shortened(d.XTicks[i].Label, most)
		}
	}
	for _, t := range d.y.ticks {
		d.YTicks = append(d.YTicks, tick{number(d.down(t.value)), t.label})
	}
	d.Height = d.Top + d.InnerH + foot
}

// shortened cuts a name that has no room, and shows that it did.
func shortened(s string, most int) string {
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}

// across is where a value of the axis lies, and down one of the upright axis. What is beyond an
// axis leaves the frame a little and is cut off there.
func (d *drawing) across(v float64) float64 {
	return marginLeft + innerWidth*inSight(d.x.at(v))
}

func (d *drawing) down(v float64) float64 {
	return float64(d.Top) + float64(d.InnerH)*(1-inSight(d.y.at(v)))
}

func inSight(share float64) float64 {
	const beyond = 0.05
	return min(max(share, -beyond), 1+beyond)
}

// Bottom is where the axis lies.
func (d *drawing) Bottom() int { return d.Top + d.InnerH }

// LabelX is where the labels of the upright axis end.
func (d *drawing) LabelX() int { return d.Left - 6 }

// FootX and FootY are where the label of the axis stands.
func (d *drawing) FootX() int { return d.Left + d.InnerW/2 }

// FootY is its height.
func (d *drawing) FootY() int { return d.Height - 5 }

// MiddleY is where a text stands that is said instead of a drawing.
func (d *drawing) MiddleY() int { return d.Top + d.InnerH/2 }

// look says how curves are told apart: by colour which they are, by pattern whose numbers.
type look struct {
	colours map[string]string
	many    bool // there are curves of several origins, so the legend names them
}

func newLook(f *suite.Figure) *look {
	l := &look{colours: map[string]string{}}
	for _, c := range f.Curves {
		if _, ok := l.colours[c.Name]; !ok {
			class := "crowd"
			if n := len(l.colours); n < colourFlows {
				class = "f" + strconv.Itoa(n)
			}
			l.colours[c.Name] = class
		}
		l.many = l.many || c.From != f.Curves[0].From
	}
	return l
}

// classes of the shapes of a curve.
func (l *look) classes(c *suite.Curve) string {
	from := c.From
	if from == "" {
		from = suite.Ours
	}
	return l.colours[c.Name] + " " + string(from)
}

// origins are the words of the legend.
var origins = map[suite.Origin]string{suite.Ours: "ours", suite.Twin: "virtual time",
	suite.Model: "model", suite.Printed: "paper"}

func (l *look) label(c *suite.Curve) string {
	if !l.many {
		return c.Name
	}
	if c.Name == "" {
		return origins[c.From]
	}
	return fmt.Sprintf("%s, %s", c.Name, origins[c.From])
}
