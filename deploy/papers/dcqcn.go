package papers

import "github.com/rocelab/rocelab/deploy/suite"

// dcqcnExperiments are those of [DCQCN].
func dcqcnExperiments() []suite.Experiment {
	return []suite.Experiment{
		dcqcnThresholds(),
	}
}
