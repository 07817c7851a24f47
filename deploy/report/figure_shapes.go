package report

import (
	"math"
	"slices"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// curve draws one, its band below it or its error bars above it.
func (d *drawing) curve(c *suite.Curve, l *look) {
	class, title := l.classes(c), l.label(c)
	errors, lined := len(c.Low) > 0, false
	var path string
	switch c.Kind {
	case suite.Bars:
		path = d.barsOf(c)
	case suite.Points:
		path = d.dots(c)
	default:
		path, lined = d.trace(c), true
	}
	if errors && lined {
		d.Shapes = append(d.Shapes, shape{"band " + class, d.between(c), title})
	}
	d.Shapes = append(d.Shapes, shape{kindClass(c.Kind) + class, path, title})
	if errors && !lined {
		d.Shapes = append(d.Shapes, shape{"whisker " + class, d.whiskers(c), title})
	}
}

// trace joins the points by straight lines or by steps.
func (d *drawing) trace(c *suite.Curve) string {
	var b strings.Builder
	last := ""
	for i, p := range d.thinned(c.X, c.Y) {
		if i > 0 && c.Kind == suite.Step {
			b.WriteString("H" + number(p[0]) + "V" + number(p[1]))
			continue
		}
		var one strings.Builder
		one.WriteByte("ML"[min(i, 1)])
		pair(&one, p[0], p[1])
		if one.String() != last {
			last = one.String()
			b.WriteString(last)
		}
	}
	if len(c.X) == 1 {
		b.WriteString("h0.1") // a round cap makes it a dot
	}
	return b.String()
}

// thinned leaves of the points in one column of the drawing the first, the last and both extremes,
// so that no spike is lost however many samples there are.
func (d *drawing) thinned(x, y []float64) (out [][2]float64) {
	for from := 0; from < len(x); {
		to, column := from+1, math.Floor(d.across(x[from]))
		for to < len(x) && math.Floor(d.across(x[to])) == column {
			to++
		}
		keep := []int{from, to - 1}
		if to-from > len(keep) {
			low, high := from, from
			for i := from; i < to; i++ {
				if y[i] < y[low] {
					low = i
				}
				if y[i] > y[high] {
					high = i
				}
			}
			keep = append(keep, low, high)
		}
		slices.Sort(keep)
		for _, i := range slices.Compact(keep) {
			out = append(out, [2]float64{d.across(x[i]), d.down(y[i])})
		}
		from = to
	}
	return out
}

// between fills from the low to the high ends.
func (d *drawing) between(c *suite.Curve) string {
	var b strings.Builder
	for i := range c.X {
		b.WriteByte("ML"[min(i, 1)])
		pair(&b, d.across(c.X[i]), d.down(c.High[i]))
	}
	for i := len(c.X) - 1; i >= 0; i-- {
		b.WriteByte('L')
		pair(&b, d.across(c.X[i]), d.down(c.Low[i]))
	}
	b.WriteByte('Z')
	return b.String()
}

// whiskers draws error bars.
func (d *drawing) whiskers(c *suite.Curve) string {
	const cap = 3
	var b strings.Builder
	for i := range c.X {
		x := d.across(c.X[i])
		if c.Kind == suite.Bars {
			left, right := d.barEnds(c, i)
			x = (left + right) / 2
		}
		low, high := d.down(c.Low[i]), d.down(c.High[i])
		for _, y := range []float64{low, high} {
			b.WriteByte('M')
			pair(&b, x-cap, y)
			b.WriteString("H" + number(x+cap))
		}
		b.WriteByte('M')
		pair(&b, x, low)
		b.WriteString("V" + number(high))
	}
	return b.String()
}

// dots draws a mark at each point.
func (d *drawing) dots(c *suite.Curve) string {
	var b strings.Builder
	drawn := map[string]bool{} // many samples may fall on one spot
	for i := range c.X {
		mark := dot(origin(c), d.across(c.X[i]), d.down(c.Y[i]))
		if !drawn[mark] {
			drawn[mark] = true
			b.WriteString(mark)
		}
	}
	return b.String()
}

// dot is the mark of an origin: a square, hollow in virtual time; a cross of a model; a diamond of
// the paper.
func dot(from suite.Origin, x, y float64) string {
	corners := [][2]float64{{-3, -3}, {3, -3}, {3, 3}, {-3, 3}}
	switch from {
	case suite.Printed:
		corners = [][2]float64{{0, -4}, {4, 0}, {0, 4}, {-4, 0}}
	case suite.Model:
		var b strings.Builder
		for _, side := range []float64{-1, 1} {
			b.WriteByte('M')
			pair(&b, x-3, y-3*side)
			b.WriteByte('L')
			pair(&b, x+3, y+3*side)
		}
		return b.String()
	}
	var b strings.Builder
	for i, c := range corners {
		b.WriteByte("ML"[min(i, 1)])
		pair(&b, x+c[0], y+c[1])
	}
	b.WriteByte('Z')
	return b.String()
}

// barPlaces says where bars stand: those of all curves side by side in a slot around each x.
type barPlaces struct {
	slot   float64 // width of a slot in the measure of the axis
	curves []*suite.Curve
}

func newBarPlaces(f *suite.Figure) (p barPlaces) {
	s := span{log: f.X.Log}
	var at []float64
	for i := range f.Curves {
		if c := &f.Curves[i]; c.Kind == suite.Bars {
			p.curves = append(p.curves, c)
			for _, x := range c.X {
				at = append(at, s.place(x))
			}
		}
	}
	if len(p.curves) == 0 {
		return p
	}
	slices.Sort(at)
	at = slices.Compact(at)
	p.slot = 1
	for i := range len(at) - 1 {
		if gap := at[i+1] - at[i]; i == 0 || gap < p.slot {
			p.slot = gap
		}
	}
	return p
}

// barEnds are the left and right ends of a curve's bar at its i-th x.
func (d *drawing) barEnds(c *suite.Curve, i int) (left, right float64) {
	const filled = 0.8 // of a slot; the rest keeps neighbours apart
	width := d.bars.slot / (d.x.high - d.x.low) * innerWidth * filled
	own := width / float64(len(d.bars.curves))
	nth := float64(slices.Index(d.bars.curves, c))
	left = d.across(c.X[i]) - width/2 + nth*own
	return left, left + max(own-barGap, barGap)
}

func (d *drawing) barsOf(c *suite.Curve) string {
	foot := number(d.down(math.Inf(-1)))
	if !d.y.log {
		foot = number(d.down(0))
	}
	var b strings.Builder
	for i := range c.X {
		left, right := d.barEnds(c, i)
		b.WriteString("M" + number(left) + " " + foot + "V" + number(d.down(c.Y[i])) + "H" +
			number(right) + "V" + foot + "Z")
	}
	return b.String()
}
