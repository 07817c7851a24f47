package nicd

import "github.com/rocelab/rocelab/roce/cc"

// algorithms is the congestion control that configurations may name: what this module has, and
// what the program registered when it started. Nothing changes it later.
var algorithms = cc.BuiltIn()

// RegisterAlgorithm adds a congestion control algorithm to those that configurations and control
// calls may name. It is for init functions: it panics if the entry is not whole or its name is
// taken, as registering twice is a mistake in the program.
func RegisterAlgorithm(e cc.Entry) {
	more, err := algorithms.With(e)
	if err != nil {
		panic("nicd: " + err.Error())
	}
	algorithms = more
}
