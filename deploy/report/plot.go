package report

import "github.com/rocelab/rocelab/deploy/result"

// The drawing's measures, in the units of its viewBox; a unit is about a pixel on a screen.
const (
	plotWidth   = 600
	marginLeft  = 46
	marginRight = 20
	marginTop   = 8
	marginFoot  = 20
	innerWidth  = plotWidth - marginLeft - marginRight

	barsPerPlot = 120
)

const noSamples = "no samples"

// plot is one drawing.
type plot struct {
	ID, Name, Run  string // Name is for those who cannot see it
	Width, Height  int
	Left, Top      int
	InnerW, InnerH int

	XTicks, YTicks []tick
	Warmup         string // width of the part left out of the means, or nothing
	Shapes         []shape
	Refs           []string // heights of reference lines
	Legend         []key
	Empty          string // said instead of a drawing

	y axis
}

// tick is a labelled position on an axis.
type tick struct{ Pos, Label string }

// shape is a path with the class that colours it.
type shape struct{ Class, Path, Title string }

// key is an entry of the legend.
type key struct{ Class, Label string }

// plot returns an empty drawing with its axes.
func (c *canvas) plot(run *result.Run, y axis, height int) *plot {
	p := &plot{
		Run: runName(run), Width: plotWidth, Height: height + marginTop + marginFoot,
		Left: marginLeft, Top: marginTop, InnerW: innerWidth, InnerH: height,
		y: y,
	}
	for i, t := range c.time.ticks {
		label := c.time.label(t)
		if i == len(c.time.ticks)-1 {
			label += " " + c.time.unit.name
		}
		p.XTicks = append(p.XTicks, tick{number(right(t / c.time.max)), label})
	}
	for _, t := range y.ticks {
		p.YTicks = append(p.YTicks, tick{number(p.down(t / y.max)), y.label(t)})
	}
	if warm := min(run.WarmupNs, c.span); warm > 0 {
		p.Warmup = number(float64(warm) / float64(c.span) * innerWidth)
	}
	return p
}

// Bottom is where the time axis lies.
func (p *plot) Bottom() int { return p.Top + p.InnerH }

// LabelX is where the labels of the y axis end.
func (p *plot) LabelX() int { return p.Left - 6 }

// MiddleX is the middle of the frame.
func (p *plot) MiddleX() int { return p.Left + p.InnerW/2 }

// MiddleY leaves half a line for the text that is said there.
func (p *plot) MiddleY() int { return p.Top + p.InnerH/2 + 4 }

// down turns a height above the origin, as a share, into a coordinate.
func (p *plot) down(share float64) float64 {
	return float64(marginTop) + float64(p.InnerH)*(1-share)
}

func right(share float64) float64 { return marginLeft + share*innerWidth }

// reference draws a horizontal line, named in the legend where no curve can hide it.
func (p *plot) reference(value float64, label string) {
	p.Refs = append(p.Refs, number(p.value(value)))
	p.Legend = append(p.Legend, key{"ref", label})
}
