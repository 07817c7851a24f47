// Package fault is what goes wrong on purpose: faults of ports as one line of text, plans of when
// they begin and end, and the executor that carries them out.
//
//	loss 0.001                 every frame is lost with this probability
//	drop ipid 0xff             frames whose IP ID ends in 0xff ([RDMA at scale] 4.1)
//	drop qp 0x11 psn 100       this packet of this queue pair, each time it is sent
//	mark every 10 limit 5      every tenth ECN-capable packet is marked CE, five in all
//	corrupt 1e-4               one bit of the frame is flipped
//	dup 0.01                   the frame is sent twice
//	reorder 0.01 by 5us        it is held back; or "by 3 frames", until three have passed
//	delay 10us jitter 2us      everything takes longer, in order
//	rate 10Gb/s                the wire is slower than the device believes
//	down                       the link is down, both ways
//	freeze                     nothing leaves, and the device believes that the link is up
//	storm 3,4                  PFC XOFF for ever
//
// Faults act where frames leave a port (link.Rule, and engine for the port itself), in both drivers
// alike. The Executor is a machine: a driver tells it the time and of every frame that was hit.
package fault
