package papers

import (
	"slices"

	"github.com/rocelab/rocelab/deploy/suite"
)

// All lists every experiment, paper by paper.
func All() []suite.Experiment {
	return slices.Concat(dcqcnExperiments(), scaleExperiments(), qcnExperiments(),
		plusExperiments(), ldcpExperiments(), fidelityExperiments(),
		[]suite.Experiment{ccEqualShares()})
}
