// Package pipeline is the switch: the machine that puts classifier, forwarding database, buffer,
// marking, scheduling and flow control together.
//
//	Receive   classify -> control -> guard -> learn -> route -> forward -> (for each egress) admit,
//	          mark, enqueue
//	Transmit  PFC frame, else CNM, else the scheduler's queue of those neither paused nor above
//	          their rate; release; XON; mark, telemetry
//
// Every step of the ingress returns a verdict, whose zero value is to drop. A frame that is lost
// is counted in the ledger and under its port, class and reason. The ledger balances after every
// call.
//
// PFC priority n is traffic class n. A frame to a group or to an unknown address is flooded, and
// never in a lossless class: its copies would be charged to many queues, and a pause for them
// would spread through the fabric ([RDMA at scale] section 4.2). Only fib.Flood, which brings that
// section's deadlock back, breaks this rule.
//
// A packet that waits for its neighbour's MAC address is in the memory of the switch's CPU: the
// ledger has it as buffered, no queue and no priority group. What the switch itself sends is
// charged to the port it leaves by.
package pipeline
