// Package papers has the measured results of five papers as experiments: what is run, and what is
// claimed of it.
//
// One experiment is one file, named like its id, and one line in All. Topologies and settings that
// several share stand in a file by the paper's name. A claim is a sentence of the paper; the number
// is its evidence. One that does not hold says so, with our number, and the reason stands in the
// experiment's notes.
package papers

import "github.com/rocelab/rocelab/deploy/suite"

// The papers.
var (
	dcqcn = suite.Paper{Key: "DCQCN", Title: "Y. Zhu et al., Congestion Control for Large-Scale " +
		"RDMA Deployments, SIGCOMM 2015"}
	atScale = suite.Paper{Key: "RDMA at scale", Title: "C. Guo et al., RDMA over Commodity " +
		"Ethernet at Scale, SIGCOMM 2016"}
	qcn = suite.Paper{Key: "QCN", Title: "A. Kabbani, M. Yasuda, Data Center Quantized " +
		"Congestion Notification (QCN): Implementation and Evaluation on NetFPGA"}
	dcqcnPlus = suite.Paper{Key: "DCQCN+", Title: "Y. Yang, Improvements for Congestion Control " +
		"Algorithms in Large-Scale Datacenter Network, Nanjing University 2018"}
	ldcp = suite.Paper{Key: "LDCP", Title: "H. Dai et al., PFC-Free Low Delay Control Protocol, " +
		"Internet-Draft, April 2021"}
)
