package report

import (
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
	printWidth   = 7.2 // likewise, on paper, where figures are small and their type is larger
)

// draw makes a figure of what was measured in a mode. Its numbers are those of the experiment's
// records and so finite.
func draw(id string, f *suite.Figure, m suite.Mode) *drawing {
	d := &drawing{ID: id, Title: f.Title, Name: f.Title, Width: plotWidth, Left: marginLeft,
		Top: figureTop, InnerW: innerWidth, InnerH: figureHeight,
		XLabel: axisLabel(f.X), YLabel: axisLabel(f.Y)}
	x, y := extent(f)
	d.bars = newBarPlaces(f)
	const bars, others = 0.5, 0.02 // what is left free beside the outermost
	d.x, d.y = newSpan(f.X, x, 7, false), newSpan(f.Y, y, 5, true)
	if hasPoints(f) || len(f.X.Names) > 0 {
		d.x.widen(others * (d.x.high - d.x.low))
	}
	d.x.widen(bars * d.bars.slot)
	d.axes(len(f.X.Names) > 0)
	look, layers := newLook(f, m), byOrigin(f)
	for _, c := range layers {
		d.Legend = append(d.Legend, look.entry(c))
	}
	// What we measured lies over what it is compared with, real frames over virtual time.
	for _, c := range slices.Backward(layers) {
		d.curve(c, look)
	}
	if len(d.Shapes) == 0 {
		d.Empty = noSamples
	}
	return d
}

// byOrigin returns the curves that have any point, ours first.
func byOrigin(f *suite.Figure) (out []*suite.Curve) {
	for _, from := range []suite.Origin{suite.Ours, suite.Twin, suite.Model, suite.Printed} {
		for i := range f.Curves {
			if c := &f.Curves[i]; origin(c) == from && len(c.X) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
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
		most := int(slantedFoot/(printWidth*math.Sin(math.Pi/6))) - 4
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
	many    bool   // there are curves of several origins, so the legend names them
	ours    string // how it names ours
}

func newLook(f *suite.Figure, m suite.Mode) *look {
	l := &look{colours: map[string]string{}, ours: origins[suite.Ours]}
	if m == suite.Real {
		l.ours = "real frames"
	}
	for _, c := range f.Curves {
		if _, ok := l.colours[c.Name]; !ok {
			class := "crowd"
			if n := len(l.colours); n < colourFlows {
				class = "f" + strconv.Itoa(n)
			}
			l.colours[c.Name] = class
		}
		l.many = l.many || origin(&c) != origin(&f.Curves[0])
	}
	return l
}

// origin is whose numbers a curve shows; ours, unless it says something else that is known.
func origin(c *suite.Curve) suite.Origin {
	if _, ok := origins[c.From]; ok {
		return c.From
	}
	return suite.Ours
}

// classes of the shapes of a curve.
func (l *look) classes(c *suite.Curve) string {
	return l.colours[c.Name] + " " + string(origin(c))
}

// origins are the words of the legend.
var origins = map[suite.Origin]string{suite.Ours: "ours", suite.Twin: "virtual time",
	suite.Model: "model", suite.Printed: "paper"}

func (l *look) label(c *suite.Curve) string {
	if !l.many {
		return c.Name
	}
	from := origins[origin(c)]
	if origin(c) == suite.Ours {
		from = l.ours
	}
	if c.Name == "" {
		return from
	}
	return c.Name + ", " + from
}

// entry is how the legend shows a curve.
func (l *look) entry(c *suite.Curve) entry {
	e := entry{Class: kindClass(c.Kind) + l.classes(c), Label: l.label(c)}
	switch c.Kind {
	case suite.Bars:
		e.Path = "M5 0H19V8H5Z"
	case suite.Points:
		e.Path = dot(origin(c), 12, 4)
	default:
		e.Path = "M1 4H23"
	}
	return e
}

// kindClass is the class of a curve's main shape. What is unknown is a line.
func kindClass(k suite.Kind) string {
	switch k {
	case suite.Bars:
		return "bar "
	case suite.Points:
		return "dot "
	}
	return "line "
}
