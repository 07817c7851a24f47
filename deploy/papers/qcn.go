package papers

import "github.com/rocelab/rocelab/deploy/suite"

// qcnExperiments are those of [QCN].
func qcnExperiments() []suite.Experiment {
	return append(qcnFigures(), qcnTable1())
}
