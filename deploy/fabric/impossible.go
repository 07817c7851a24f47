package fabric

import (
	"fmt"

	"github.com/rocelab/rocelab/deploy/lab"
)

// impossible says why there cannot be a network. Builders panic with it.
type impossible string

func (i impossible) Error() string { return string(i) }

// within panics unless a number is in its bounds.
func within(what string, n, low, high int) {
	if n < low || n > high {
		panic(impossible(fmt.Sprintf("%s: %d, want %d to %d", what, n, low, high)))
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
