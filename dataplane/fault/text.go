package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// verb is the first word of a fault that acts on frames, with the clauses it alone may have.
type verb struct {
	word string
	kind Kind
	own  []string
}

// The verbs. Loss has two words: with a probability it is printed as loss, without one as drop.
var verbs = []verb{
	{"loss", Loss, nil}, {"drop", Loss, nil},
	{"corrupt", Corrupt, []string{"byte", "mask"}},
	{"dup", Duplicate, nil},
	{"reorder", Reorder, []string{"by", "within"}},
	{"delay", Delay, []string{"jitter"}},
	{"mark", Mark, nil},
}

const words = "loss, drop, corrupt, dup, reorder, delay, mark, rate, down, freeze or storm"

// ownClauses are those that not every verb may have.
var ownClauses = []string{"byte", "mask", "by", "within", "jitter"}

// Parse reads the text form. Package doc has examples.
func Parse(text string) (s Spec, err error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return s, fmt.Errorf("fault %q: want %s", text, words)
	}
	if s, err = parse(fields[0], fields[1:]); err == nil {
		err = s.Validate()
	}
	if err != nil {
		return Spec{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return s, nil
}

func parse(first string, rest []string) (s Spec, err error) {
	for _, v := range verbs {
		if v.word == first {
			s.Kind, s.Rule.Effect = v.kind, effects[v.kind]
			return s, parseRule(&s.Rule, v, rest)
		}
	}
	switch first {
	case "rate":
		s.Kind = Rate
		if len(rest) == 0 {
			return s, fmt.Errorf("rate wants a rate, as 10Gb/s")
		}
		s.Rate, err = unit.ParseRate(strings.Join(rest, " "))
	case "down", "freeze":
		s.Kind = map[string]Kind{"down": Down, "freeze": Freeze}[first]
		if len(rest) > 0 {
			err = fmt.Errorf("%s wants nothing behind it, not %q", first, rest[0])
		}
	case "storm":
		s.Kind = Storm
		s.Storm, err = parsePriorities(rest)
	default:
		err = fmt.Errorf("unknown fault %q: want %s", first, words)
	}
	return s, err
}

func parsePriorities(rest []string) (set pfc.Set, err error) {
	if len(rest) != 1 {
		return 0, fmt.Errorf("storm wants priorities, as 3 or 3,4")
	}
	for part := range strings.SplitSeq(rest[0], ",") {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || n >= wire.Priorities {
			return 0, fmt.Errorf("storm %s: priorities are 0 to %d", rest[0], wire.Priorities-1)
		}
		set = set.With(pfc.Priority(n))
	}
	return set, nil
}

// parseRule reads what stands behind a verb: a probability or a delay, then clauses in any order.
func parseRule(r *link.Rule, v verb, rest []string) (err error) {
	if len(rest) > 0 && !isWord(rest[0]) {
		if v.kind == Delay {
			if r.By, err = duration(rest[0]); err != nil {
				return fmt.Errorf("delay %s: want a time, as 10us", rest[0])
			}
		} else if r.Chance, err = chance(rest[0]); err != nil {
			return err
		}
		rest = rest[1:]
	}
	said := map[string]bool{}
	for len(rest) > 0 {
		word := rest[0]
		if said[word] {
			return fmt.Errorf("%s is said twice", word)
		}
		said[word] = true
		if slices.Contains(ownClauses, word) && !slices.Contains(v.own, word) {
			return fmt.Errorf("%s is nothing of %s", word, v.word)
		}
		if rest, err = parseClause(r, word, rest[1:]); err != nil {
			return err
		}
	}
	if v.word == "loss" && r.Chance == 0 {
		return fmt.Errorf("loss wants a probability, as loss 0.001; drop is certain")
	}
	return nil
}

func parseClause(r *link.Rule, word string, rest []string) ([]string, error) {
	if word == "prob" && len(rest) > 0 {
		if r.Chance != 0 {
			return nil, fmt.Errorf("the probability is said twice")
		}
		var err error
		r.Chance, err = chance(rest[0])
		return rest[1:], err
	}
	i := slices.IndexFunc(clauses, func(c clause) bool { return c.word == word })
	if i < 0 {
		return nil, fmt.Errorf("unknown word %q: want %s", word, clauseWords())
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("%s wants %s", word, clauses[i].want)
	}
	if err := clauses[i].read(r, rest[0]); err != nil {
		return nil, fmt.Errorf("%s %s: want %s", word, rest[0], clauses[i].want)
	}
	rest = rest[1:]
	if word == "by" && len(rest) > 0 && (rest[0] == "frames" || rest[0] == "frame") {
		if r.Behind == 0 {
			return nil, fmt.Errorf("by: a time is not a number of frames")
		}
		rest = rest[1:]
	}
	return rest, nil
}

func clauseWords() string {
	list := []string{"prob"}
	for _, c := range clauses {
		list = append(list, c.word)
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// isWord reports whether a field begins a clause and is no number.
func isWord(s string) bool { return s[0] >= 'a' && s[0] <= 'z' }

// chance reads a probability: 0.001, 1e-3 or 0.1%.
func chance(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("probability %s: want above 0 and at most 1, as 0.001 or 0.1%%", s)
	}
	return p, nil
}

// String is the text form. What Parse does not read it does not print: it is for valid specs.
func (s Spec) String() string {
	switch {
	case s.Kind == Rate:
		return "rate " + rateText(s.Rate)
	case s.Kind == Storm:
		return "storm " + s.Storm.String()
	case !s.OnFrames():
		return s.Kind.String()
	}
	r := &s.Rule
	out := s.Kind.String()
	switch {
	case s.Kind == Delay && r.By > 0:
		out += " " + printDuration(r.By)
	case s.Kind != Delay && r.Chance > 0:
		out += " " + strconv.FormatFloat(r.Chance, 'g', -1, 64)
	case s.Kind == Loss:
		out = "drop"
	}
	if s.Kind == Delay && r.Chance > 0 {
		out += " prob " + strconv.FormatFloat(r.Chance, 'g', -1, 64)
	}
	for _, c := range clauses {
		if v := c.print(r); v != "" {
			out += " " + c.word + " " + v
		}
	}
	return out
}

// rateText prints a rate without losing a bit of it.
func rateText(r unit.Rate) string {
	text, _ := r.MarshalText() // never fails
	return string(text)
}
