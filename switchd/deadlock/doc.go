// Package deadlock finds cycles among paused ports.
//
// Each switch tells its part of the wait-for graph: which of its priority groups pause a peer, and
// which egress queues hold their frames (pipeline.Waits). The links of the lab say which egress of
// which switch such a peer is. Joined, that is a graph of paused egresses; a cycle in it is a
// deadlock if nothing in it drains, because each of its ports waits for the next.
//
//	t1:swp3 -pauses-> l1:swp1            what l1:swp1 holds is of the group of l1:swp2,
//	l1:swp2 -pauses-> t0:swp4 ...        which pauses the next
//
// [RDMA at scale] section 4.2.
package deadlock
