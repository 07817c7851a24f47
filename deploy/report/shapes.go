package report

import (
	"strconv"
	"strings"
)

// crowded says whether columns hold several samples, so that a line alone would hide extremes.
func crowded(points []point) bool {
	for _, p := range points {
		if p.n > 1 {
			return true
		}
	}
	return false
}

// line joins the means of the columns.
func (p *plot) line(points []point) string {
	var b strings.Builder
	for i, pt := range points {
		b.WriteByte("ML"[min(i, 1)])
		pair(&b, right(pt.at), p.value(pt.mean))
	}
	if len(points) == 1 {
		b.WriteString("h0.1") // a round cap makes it a dot
	}
	return b.String()
}

// band fills between the extremes of the columns.
func (p *plot) band(points []point) string {
	var b strings.Builder
	for i, pt := range points {
		b.WriteByte("ML"[min(i, 1)])
		pair(&b, right(pt.at), p.value(pt.max))
	}
	for i := len(points) - 1; i >= 0; i-- {
		b.WriteByte('L')
		pair(&b, right(points[i].at), p.value(points[i].min))
	}
	b.WriteByte('Z')
	return b.String()
}

// under fills from the origin up to the smallest value of each column.
func (p *plot) under(points []point) string {
	var b strings.Builder
	b.WriteByte('M')
	pair(&b, right(points[0].at), p.down(0))
	for _, pt := range points {
		b.WriteByte('L')
		pair(&b, right(pt.at), p.value(pt.min))
	}
	b.WriteByte('L')
	pair(&b, right(points[len(points)-1].at), p.down(0))
	b.WriteByte('Z')
	return b.String()
}

// area draws one series that is read from the origin: filled, with its extremes and its mean.
func (p *plot) area(c *canvas, timeNs []int64, values []float64, class string) {
	points := decimate(timeNs, values, c.span, innerWidth)
	if len(points) == 0 {
		p.Empty = noSamples
		return
	}
	p.Shapes = append(p.Shapes, shape{Class: "under " + class, Path: p.under(points)})
	if crowded(points) {
		p.Shapes = append(p.Shapes, shape{Class: "band " + class, Path: p.band(points)})
	}
	p.Shapes = append(p.Shapes, shape{Class: "line " + class, Path: p.line(points)})
}

// bars draws sums over time.
func (p *plot) bars(bins []bin, class string) {
	var b strings.Builder
	for _, bin := range bins {
		b.WriteByte('M')
		pair(&b, right(bin.from), p.down(0))
		b.WriteByte('V')
		b.WriteString(number(p.value(bin.sum)))
		b.WriteByte('H')
		b.WriteString(number(right(bin.to) - barGap))
		b.WriteByte('V')
		b.WriteString(number(p.down(0)))
		b.WriteByte('Z')
	}
	if len(bins) > 0 {
		p.Shapes = append(p.Shapes, shape{Class: "bar " + class, Path: b.String()})
	}
}

// barGap is what is left free at the right of a bar.
const barGap = 0.6

// value turns a value of the y axis into a coordinate. What is beyond the axis leaves the frame
// a little and is cut off there.
func (p *plot) value(v float64) float64 {
	const beyond = 1.05
	return p.down(min(max(p.y.at(v), 0), beyond))
}

func pair(b *strings.Builder, x, y float64) {
	b.WriteString(number(x))
	b.WriteByte(' ')
	b.WriteString(number(y))
}

// number prints a coordinate to a tenth of a unit.
func number(v float64) string { return trimZeros(strconv.FormatFloat(v, 'f', 1, 64)) }
