package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/deploy/suite"
)

// Axis is a setting of a file and the values that it takes.
type Axis struct {
	Path   string // keys and places, as in nic.cc.params.g or traffic.0.depth
	Values []string
}

// ParseAxis reads "nic.cc.params.g=1/256,1/16".
func ParseAxis(text string) (a Axis, err error) {
	path, values, ok := strings.Cut(text, "=")
	if !ok || path == "" || values == "" {
		return a, fmt.Errorf("%q: want a setting and its values, as nic.cc.algorithm=dcqcn,none",
			text)
	}
	return Axis{path, strings.Split(values, ",")}, nil
}

// short is the last key of the path, by which a point names itself.
func (a *Axis) short() string { return a.Path[strings.LastIndex(a.Path, ".")+1:] }

// Point is a file with one value on each axis.
type Point struct {
	Values []string
	file   *File
}

// Sweep runs a file at every combination of values.
type Sweep struct {
	Axes   []Axis
	Points []Point
	name   string
}

// NewSweep reads a file once for each point. name stands for it in errors.
func NewSweep(name string, text []byte, axes []Axis) (*Sweep, error) {
	if len(axes) == 0 {
		return nil, errors.New("nothing to sweep: want a setting and its values, as " +
			"nic.cc.algorithm=dcqcn,none")
	}
	s := &Sweep{Axes: axes}
	values := make([]string, len(axes))
	var add func(axis int) error
	add = func(axis int) error {
		if axis < len(axes) {
			for _, v := range axes[axis].Values {
				values[axis] = v
				if err := add(axis + 1); err != nil {
					return err
				}
			}
			return nil
		}
		changed, err := change(text, axes, values)
		if err != nil {
			return err
		}
		f, err := Decode(name, changed)
		if err != nil {
			return fmt.Errorf("with %s: %w", s.label(values), err)
		}
		s.name = f.Name
		s.Points = append(s.Points, Point{slices.Clone(values), f})
		return nil
	}
	return s, add(0)
}

// label names a point.
func (s *Sweep) label(values []string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = s.Axes[i].short() + "=" + v
	}
	return strings.Join(parts, " ")
}

// change puts values into a file.
func change(text []byte, axes []Axis, values []string) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, errors.New("the file is empty")
	}
	for i, a := range axes {
		if err := put(root.Content[0], strings.Split(a.Path, "."), values[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
	}
	return yaml.Marshal(&root)
}

// put sets a value, making the keys on its way.
func put(at *yaml.Node, path []string, value string) error {
	if len(path) == 0 {
		var v yaml.Node
		if err := yaml.Unmarshal([]byte(value), &v); err != nil || len(v.Content) != 1 {
			return fmt.Errorf("%q is no value", value)
		}
		*at = *v.Content[0]
		return nil
	}
	key := path[0]
	switch {
	case at.Kind == yaml.SequenceNode:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(at.Content) {
			return fmt.Errorf("no place %s in a list of %d", key, len(at.Content))
		}
		return put(at.Content[i], path[1:], value)
	case at.Kind == yaml.ScalarNode && at.Tag == "!!null":
		*at = yaml.Node{Kind: yaml.MappingNode}
	case at.Kind != yaml.MappingNode && at.Kind != 0:
		return fmt.Errorf("%s: there is a value above it", key)
	}
	at.Kind = yaml.MappingNode
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == key {
			return put(at.Content[i+1], path[1:], value)
		}
	}
	below := &yaml.Node{}
	at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, below)
	return put(below, path[1:], value)
}

// Experiment is the sweep as one: its cells are the points with each seed. measures are the numbers
// that are shown; none: what is most asked for.
func (s *Sweep) Experiment(measures []string) suite.Experiment {
	return suite.Experiment{ID: s.name + "-sweep", Title: "Sweep of " + s.name,
		Modes: []suite.Mode{suite.Virtual, suite.Real}, Seeds: 1,
		Cells: func(o suite.Options) (cells []suite.Cell) {
			for _, p := range s.Points {
				o.Each(func(seed uint64) {
					cells = append(cells, p.file.cell(s.label(p.Values)+" ", seed))
				})
			}
			return cells
		},
		Judge: func(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
			numbers := map[string]float64{} // all there are: a run may have ended no message
			for _, o := range found {
				maps.Copy(numbers, o.Numbers)
			}
			if len(measures) == 0 {
				measures = s.Points[0].file.measures(numbers)
			}
			v.Tables = []suite.Table{s.table(measures, found)}
			for _, m := range measures {
				v.Figures = append(v.Figures, s.figure(m, found))
				if _, ok := numbers[m]; !ok {
					v.Claims = append(v.Claims, suite.Claim{Rule: "there is such a number",
						Text: s.Points[0].file.unknown(m, numbers)})
				}
			}
			return v
		}}
}

// Value is a measure at a point: its mean over the seeds.
type Value struct {
	Mean     float64
	Interval *[2]float64 // 95 %; nil with one seed
}

// valueOf takes a number of what cells found; nil if one of them has none of that name.
func valueOf(name string, found []suite.Outcome) *Value {
	var xs []float64
	for _, o := range found {
		if x, ok := o.Numbers[name]; ok {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 || len(xs) < len(found) {
		return nil
	}
	v := &Value{}
	v.Mean, v.Interval = suite.Interval(xs)
	return v
}

// at are the cells of a point.
func (s *Sweep) at(point int, found []suite.Outcome) []suite.Outcome {
	seeds := len(found) / len(s.Points)
	return found[point*seeds : (point+1)*seeds]
}

// table has a row for each point.
func (s *Sweep) table(measures []string, found []suite.Outcome) suite.Table {
	t := suite.Table{Title: fmt.Sprintf("Sweep of %s, %d seeds, mean +- 95 %%", s.name,
		len(found)/len(s.Points))}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, a.Path)
	}
	t.Columns = append(t.Columns, measures...)
	for i, p := range s.Points {
		row := slices.Clone(p.Values)
		for _, m := range measures {
			v := valueOf(m, s.at(i, found))
			switch {
			case v == nil:
				row = append(row, "-")
			case v.Interval == nil:
				row = append(row, number(v.Mean))
			default:
				row = append(row, fmt.Sprintf("%s +- %s", number(v.Mean),
					strconv.FormatFloat((v.Interval[1]-v.Interval[0])/2, 'g', 2, 64)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// figure draws a measure over the first axis, a curve for each combination of the others.
func (s *Sweep) figure(measure string, found []suite.Outcome) suite.Figure {
	first := s.Axes[0]
	fig := suite.Figure{Title: measure, X: suite.Axis{Label: first.Path},
		Y: suite.Axis{Label: measure}}
	kind, places := suite.Line, numeric(first.Values)
	if places == nil {
		kind, fig.X.Names = suite.Bars, first.Values
		for i := range first.Values {
			places = append(places, float64(i))
		}
	}
	curves := map[string]int{}
	for i := range s.Points {
		v := valueOf(measure, s.at(i, found))
		if v == nil {
			continue
		}
		values := s.Points[i].Values
		name := s.rest(values)
		at, ok := curves[name]
		if !ok {
			at = len(fig.Curves)
			curves[name] = at
			fig.Curves = append(fig.Curves, suite.Curve{Name: name, Kind: kind, From: suite.Ours})
		}
		c := &fig.Curves[at]
		c.X = append(c.X, places[slices.Index(first.Values, values[0])])
		c.Y = append(c.Y, v.Mean)
		if v.Interval != nil {
			c.Low, c.High = append(c.Low, v.Interval[0]), append(c.High, v.Interval[1])
		}
	}
	return fig
}

// rest names a point by all axes but the first.
func (s *Sweep) rest(values []string) string {
	if len(values) == 1 {
		return s.name
	}
	return (&Sweep{Axes: s.Axes[1:]}).label(values[1:])
}

// numeric are the values as numbers; nil if one is none.
func numeric(values []string) (xs []float64) {
	for _, v := range values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return nil
		}
		xs = append(xs, x)
	}
	return xs
}
