package papers

import "github.com/rocelab/rocelab/deploy/suite"

// All returns every experiment: one line each, by paper and in the order of its figures.
func All() []suite.Experiment {
	return []suite.Experiment{
		dcqcnThresholds(),
		qcnTable1(),
	}
}
