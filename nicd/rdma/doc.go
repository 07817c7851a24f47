// Package rdma lets a program own queue pairs of a running nicd.
//
//	Open --> Device --> AllocPD --> PD --> Allocate   memory that the daemon reaches too
//	            |                    +---> CreateQP   RC or UD, on completion queues
//	            |                    +---> CreateSRQ
//	            +---> CreateCQ --> CQ: Poll, Wait
//	            +---> Listen, Dial   connections by the connection manager (RDMA CM)
//
// A QP is connected by what the programs told each other (QP.Connect) or by the connection manager
// (Device.Dial, Listener.Accept). Then Post and PostReceive hand work to the NIC, and Poll or Wait
// of the completion queue tell how it ended.
//
// Nothing is copied between the program and the daemon. Memory, work requests and completions
// stand in pages that both have mapped; the daemon sends payload from there and places it there. A
// system call is made only to wake a daemon that sleeps, or to sleep.
//
// When the program ends, in whatever way, the daemon frees all that it owned. When the daemon
// ends, every call that works with it returns ErrDaemonGone, those that wait at once.
//
// Post, PostReceive, Poll and Wait allocate nothing. All methods of Device, PD, QP and SRQ may be
// called from several goroutines at a time. A CQ is for one goroutine at a time.
//
// Times are virtual: those of the lab that the NIC belongs to, see Device.Now.
package rdma
