// Package qos is what a switch does with traffic classes: where each goes, when its frames are
// marked, and whose turn it is.
//
//	Map         traffic class to priority group and queue, and which priority pauses what
//	WRED        marks or drops by the length of the egress queue, [DCQCN] figure 5
//	Scheduler   picks the queue that sends next; DWRR or WRR with strict queues above it
//	Shaper      which queues may send, and which are owed something, by their rates
//	CongestionPoint  samples a queue and says what its senders should hear, [QCN] section 2
//	Occupancy   how long a queue was how long, for reports
//
// Everything is computed in integers, so that runs are the same on every machine.
package qos
