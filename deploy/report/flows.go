package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/rocelab/rocelab/deploy/result"
)

// colourFlows is how many flows are told apart by colour. Of more, the slowest and the fastest
// stand out and the others are drawn alike.
const colourFlows = 8

// flowColumns is how finely the line of a flow follows it. Rates jump from interval to interval;
// columns of three pixels leave the jumps to the band of extremes and keep the lines apart.
const flowColumns = innerWidth / 3

// flows draws a line per flow and its legend.
func (p *plot) flows(c *canvas, run *result.Run, series [][]float64) {
	if len(series) > colourFlows {
		p.crowd(c, run, series)
	} else {
		for i := range series {
			class := "f" + strconv.Itoa(i)
			if p.flow(c, run, series[i], class, flowName(run, i), flowColumns) {
				p.Legend = append(p.Legend, key{class, flowName(run, i)})
			}
		}
	}
	if len(p.Shapes) == 0 {
		p.Empty = noSamples
	}
}

// crowd draws many flows, the extremes last and so on top.
func (p *plot) crowd(c *canvas, run *result.Run, series [][]float64) {
	slowest, fastest := extremes(run, len(series))
	for i := range series {
		if i != slowest && i != fastest {
			p.flow(c, run, series[i], "crowd", flowName(run, i), flowColumns)
		}
	}
	p.Legend = []key{{"crowd", fmt.Sprintf("%d flows", len(series)-2)}}
	for _, e := range []struct {
		word, class string
		index       int
	}{{"slowest", "f1", slowest}, {"fastest", "f0", fastest}} {
		name := fmt.Sprintf("%s: %s", e.word, flowName(run, e.index))
		if p.flow(c, run, series[e.index], e.class, name, flowColumns) {
			p.Legend = append(p.Legend, key{e.class, name})
		}
	}
}

// flow draws one flow and says whether there was anything to draw.
func (p *plot) flow(
	c *canvas, run *result.Run, values []float64, class, name string, columns int,
) bool {
	points := decimate(run.Series.TimeNs, values, c.span, columns)
	if len(points) == 0 {
		return false
	}
	if class != "crowd" && crowded(points) {
		p.Shapes = append(p.Shapes, shape{"band " + class, p.band(points), name})
	}
	p.Shapes = append(p.Shapes, shape{"line " + class, p.line(points), name})
	return true
}

// extremes returns the flows with the least and the most goodput, two different ones of n >= 2.
func extremes(run *result.Run, n int) (slowest, fastest int) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(flowGoodput(run, a), flowGoodput(run, b))
	})
	return order[0], order[n-1]
}

// flowGoodput and flowName serve flows that may have rates but no sums.
func flowGoodput(run *result.Run, i int) float64 {
	if i < len(run.Flows) {
		return run.Flows[i].GoodputBps
	}
	return 0
}

func flowName(run *result.Run, i int) string {
	if i < len(run.Flows) && run.Flows[i].Name != "" {
		return run.Flows[i].Name
	}
	return fmt.Sprintf("flow %d", i+1)
}
