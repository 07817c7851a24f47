package sim

import "github.com/rocelab/rocelab/dataplane/unit"

// agenda is when each region's next event is due: a tree of minima, of which a node stands for 64
// of the level below and the lowest level is the regions. A change goes up only as far as it is the
// earliest, and finding all that are due looks at 64 numbers, side by side in memory, for each node
// above them.
type agenda [][]unit.Time

const (
	fanBits = 6
	fan     = 1 << fanBits
)

// newAgenda makes the agenda of so many regions, of which none has anything to do.
func newAgenda(regions int) (a agenda) {
	for n := regions; len(a) == 0 || len(a[len(a)-1]) > 1; n = (n + fan - 1) >> fanBits {
		level := make([]unit.Time, n)
		for i := range level {
			level[i] = unit.Never
		}
		a = append(a, level)
	}
	return a
}

// next is the time of the earliest event, or unit.Never.
func (a agenda) next() unit.Time { return a[len(a)-1][0] }

// add has a region run at the latest at the given time.
func (a agenda) add(region int, at unit.Time) {
	for i := range a {
		if at >= a[i][region] {
			return
		}
		a[i][region] = at
		region >>= fanBits
	}
}

// run calls what for each region that is due up to and including end, in the order of their
// numbers. what returns when the region is due next, and may add to others what is due after end.
func (a agenda) run(end unit.Time, what func(region int) unit.Time) {
	if a.next() <= end {
		a.visit(len(a)-1, 0, end, what)
	}
}

func (a agenda) visit(level, i int, end unit.Time, what func(int) unit.Time) {
	if level == 0 {
		a[0][i] = what(i)
		return
	}
	a[level][i] = unit.Never // until the children have been asked; add may lower it meanwhile
	children, least := a[level-1], unit.Never
	first := i << fanBits
	for c := first; c < min(first+fan, len(children)); c++ {
		if children[c] <= end {
			a.visit(level-1, c, end, what)
		}
		least = min(least, children[c])
	}
	a[level][i] = min(a[level][i], least)
}
