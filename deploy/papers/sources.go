package papers

import "github.com/rocelab/rocelab/deploy/suite"

// dcqcn is where PFC's troubles, DCQCN and its thresholds were measured.
func dcqcn() suite.Paper {
	return suite.Paper{Key: "DCQCN", Title: "Zhu et al.: Congestion Control for Large-Scale RDMA " +
		"Deployments. SIGCOMM 2015"}
}

// qcn is where the hardware of QCN was measured beside its simulation.
func qcn() suite.Paper {
	return suite.Paper{Key: "QCN", Title: "Kabbani and Yasuda: Data Center Quantized Congestion " +
		"Notification (QCN): Implementation and Evaluation on NetFPGA"}
}
