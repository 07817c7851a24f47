package papers

import "github.com/rocelab/rocelab/deploy/suite"

// ldcpExperiments are those of [LDCP].
func ldcpExperiments() []suite.Experiment {
	return []suite.Experiment{}
}
