package papers

import "github.com/rocelab/rocelab/deploy/suite"

// scaleExperiments are those of [RDMA at scale].
func scaleExperiments() []suite.Experiment {
	return []suite.Experiment{}
}
