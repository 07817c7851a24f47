package suite

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// check refuses what JSON cannot hold and nobody can judge.
func (o *Outcome) check() error {
	for _, name := range slices.Sorted(maps.Keys(o.Numbers)) {
		if !finite(o.Numbers[name]) {
			return fmt.Errorf("number %q is %v", name, o.Numbers[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Series)) {
		s := o.Series[name]
		if err := s.check(); err != nil {
			return fmt.Errorf("series %q: %w", name, err)
		}
	}
	return nil
}

func (s *Series) check() error {
	if len(s.X) != len(s.Y) {
		return fmt.Errorf("%d values of x and %d of y", len(s.X), len(s.Y))
	}
	for i := range s.X {
		if !finite(s.X[i], s.Y[i]) {
			return fmt.Errorf("value %d is (%v, %v)", i, s.X[i], s.Y[i])
		}
	}
	return nil
}

// check refuses the same of a verdict, by the claim or the curve.
func (v *Verdict) check() error {
	if len(v.Claims) == 0 && len(v.Tables) == 0 {
		return fmt.Errorf("neither a claim nor a table")
	}
	for _, c := range v.Claims {
		if !finite(c.Ours) || c.Interval != nil && !finite(c.Interval[:]...) {
			return fmt.Errorf("claim %q: our value is %v, its interval %v", c.Text, c.Ours,
				c.Interval)
		}
	}
	for _, f := range v.Figures {
		for _, c := range f.Curves {
			if err := c.check(); err != nil {
				return fmt.Errorf("figure %q, curve %q: %w", f.Title, c.Name, err)
			}
		}
	}
	return nil
}

func (c *Curve) check() error {
	if len(c.Low) != len(c.High) || len(c.Low) != 0 && len(c.Low) != len(c.X) {
		return fmt.Errorf("%d values, %d low ends, %d high ends", len(c.X), len(c.Low),
			len(c.High))
	}
	if !finite(c.Low...) || !finite(c.High...) {
		return fmt.Errorf("an error bar is not finite")
	}
	return c.Series.check()
}
