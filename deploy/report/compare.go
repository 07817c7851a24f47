package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rocelab/rocelab/deploy/suite"
)

// Comparison is what became of verdicts.
type Comparison struct {
	Claims  int // that are the same on both sides
	Changes []Change
	// What is on one side only, or short on one side only, as "ID (mode)": nothing can be said.
	Missing, Incomparable []string
}

// Change is a claim whose verdict is not what it was.
type Change struct {
	ID       string
	Mode     suite.Mode
	Claim    string // empty: the experiment
	Was, Now string
}

// What a claim can be.
const (
	stands   = "holds"
	falls    = "does not"
	unknown  = "no such claim"
	failed   = "failed"
	complete = "was judged"
)

func verdictText(holds bool) string {
	if holds {
		return stands
	}
	return falls
}

// Compare tells which verdicts are others than before. A claim that is new or gone is a change. An
// experiment that is not there now is none: it has not been run.
func Compare(before, now []Standing) (c Comparison) {
	for i := range before {
		b := &before[i]
		name := fmt.Sprintf("%s (%s)", b.ID, b.Mode)
		switch n := find(now, b); {
		case n == nil:
			c.Missing = append(c.Missing, name)
		case n.Short != b.Short:
			c.Incomparable = append(c.Incomparable, name)
		default:
			c.compare(b, n)
		}
	}
	for i := range now {
		if n := &now[i]; find(before, n) == nil {
			c.compare(&Standing{ID: n.ID, Mode: n.Mode}, n)
		}
	}
	return c
}

func find(all []Standing, of *Standing) *Standing {
	for i := range all {
		if all[i].ID == of.ID && all[i].Mode == of.Mode {
			return &all[i]
		}
	}
	return nil
}

// compare looks at one experiment in one mode.
func (c *Comparison) compare(before, now *Standing) {
	change := func(claim, was, is string) {
		c.Changes = append(c.Changes, Change{now.ID, now.Mode, claim, was, is})
	}
	switch {
	case before.Failed && now.Failed:
		return
	case now.Failed:
		change("", complete, failed)
		return
	case before.Failed:
		change("", failed, complete)
		return
	}
	was, is := numbered(before), numbered(now)
	for _, claim := range was.order {
		old := was.holds[claim]
		switch holds, ok := is.holds[claim]; {
		case !ok:
			change(claim, verdictText(old), unknown)
		case holds != old:
			change(claim, verdictText(old), verdictText(holds)+": "+is.ours[claim])
		default:
			c.Claims++
		}
	}
	for _, claim := range is.order {
		if _, ok := was.holds[claim]; !ok {
			change(claim, unknown, verdictText(is.holds[claim])+": "+is.ours[claim])
		}
	}
}

// claims are those of an experiment by their text; of equal texts the later have a number.
type claims struct {
	order []string
	holds map[string]bool
	ours  map[string]string
}

func numbered(s *Standing) claims {
	c := claims{holds: map[string]bool{}, ours: map[string]string{}}
	for _, one := range s.Claims {
		text := one.Text
		for n := 2; ; n++ {
			if _, twice := c.holds[text]; !twice {
				break
			}
			text = fmt.Sprintf("%s (%d)", one.Text, n)
		}
		c.order = append(c.order, text)
		c.holds[text], c.ours[text] = one.Holds, one.Ours
	}
	return c
}

// changeColumns are the widths of a table of changes; with the gaps they make tableColumns.
var changeColumns = [...]int{30, 36, 13, 15}

// Print tells what became of the verdicts, in plain ASCII for a terminal of 100 columns. than names
// what they are compared with.
func (c *Comparison) Print(w io.Writer, than string) error {
	out := bufio.NewWriter(w)
	if len(c.Changes) > 0 {
		fmt.Fprintf(out, "verdicts that are others than in %s:\n\n", than)
		columnLine(out, changeColumns[:], "experiment", "claim", "was", "is")
	}
	for _, ch := range c.Changes {
		claim := ch.Claim
		if claim == "" {
			claim = "(all of them)"
		}
		columnLine(out, changeColumns[:], fmt.Sprintf("%s (%s)", ch.ID, ch.Mode), claim, ch.Was,
			ch.Now)
	}
	if len(c.Changes) > 0 {
		fmt.Fprintln(out)
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"not run, or not finished", c.Missing},
		{"run with --short, which may stand differently", c.Incomparable}} {
		if len(part.names) > 0 {
			text := fmt.Sprintf("%s: %s", part.what, strings.Join(part.names, ", "))
			for _, line := range wrap(text, tableColumns) {
				fmt.Fprintln(out, line)
			}
		}
	}
	fmt.Fprintf(out, "%d claims stand as in %s, %d do not\n", c.Claims, than, len(c.Changes))
	return out.Flush()
}
