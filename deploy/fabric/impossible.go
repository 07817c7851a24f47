package fabric

import (
	"fmt"

	"github.com/rocelab/rocelab/deploy/lab"
)

// impossible says why there cannot be a network. Builders panic with it.
type impossible string

func (i impossible) Error() string { return string(i) }

// within panics unless there is at least one of something, and not more than there can be.
func within(what string, n, most int) {
	if n < 1 || n > most {
		panic(impossible(fmt.Sprintf("%s: %d, want 1 to %d", what, n, most)))
	}
}

// Try is for networks whose size somebody else chose: what the builder panics with is the error.
func Try(build func() lab.Topology) (t lab.Topology, err error) {
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(impossible)
			if !ok {
				panic(r)
			}
			err = why
		}
	}()
	return build(), nil
}
