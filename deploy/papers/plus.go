package papers

import "github.com/rocelab/rocelab/deploy/suite"

// plusExperiments are those of [DCQCN+].
func plusExperiments() []suite.Experiment {
	return []suite.Experiment{}
}
