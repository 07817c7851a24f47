// Package abi is what nicd and its programs agree on: control messages on a socket, and rings in
// shared memory.
//
//	program                                                      daemon
//	  |-- Request, Response (SOCK_SEQPACKET, JSON) ----------------|   create, connect, destroy
//	  |== submissions: one ring for all queue pairs of a program ==>|  work requests, receives
//	  |<= completions: one ring for each completion queue ==========|
//	  |-- doorbell, a pipe: only if the daemon says that it rests ->|
//	  |<- event of a completion queue, a pipe: only if it is armed -|
//	  |== memory: payload, where work requests say ================ |
//
// A ring has one producer and one consumer. Each has an index that only it writes; entries are
// plain memory between them. An end that reads what the other wrote copies it before it judges it,
// because the other may still be writing: the daemon trusts nothing that it has not copied.
//
// The wakers are pipes and not eventfds because of who may do what to them: an eventfd is one open
// file in both processes, so a program could make it block and the daemon's loop with it. Of a pipe
// each has its own end.
package abi
