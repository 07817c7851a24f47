package report

import (
	"slices"
	"strings"

	"github.com/rocelab/rocelab/deploy/result"
)

// loss lists what was dropped by reason and place; a run that lost nothing says so.
func loss(r *result.Result) section {
	type cause struct{ reason, where string }
	var causes []cause
	for _, run := range r.Runs {
		for _, d := range run.Drops {
			if c := (cause{d.Reason, d.Where}); d.Frames > 0 && !slices.Contains(causes, c) {
				causes = append(causes, c)
			}
		}
	}
	rows := []row{each(r, "drops", func(run *result.Run) string {
		return orNone(dropped(run, anyDrop))
	})}
	for _, c := range causes {
		label := strings.TrimSuffix("  "+c.reason+" at "+c.where, " at ")
		rows = append(rows, each(r, label, func(run *result.Run) string {
			return countText(dropped(run, func(d result.Drop) bool {
				return c == cause{d.Reason, d.Where}
			}))
		}))
	}
	return section{"Loss", append(rows, each(r, "retransmitted packets", retransmitted))}
}

func retransmitted(run *result.Run) string {
	var n uint64
	for _, f := range run.Flows {
		n += f.Retransmitted
	}
	return orNone(n)
}

func anyDrop(result.Drop) bool { return true }

// dropped adds up the drops that count.
func dropped(run *result.Run, counts func(result.Drop) bool) (n uint64) {
	for _, d := range run.Drops {
		if counts(d) {
			n += d.Frames
		}
	}
	return n
}

func orNone(n uint64) string {
	if n == 0 {
		return "none"
	}
	return countText(n)
}
