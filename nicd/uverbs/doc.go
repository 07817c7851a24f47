// Package uverbs lets programs own queue pairs of a NIC: the server behind nicd/rdma, named after
// the kernel's interface of the same purpose.
//
//	program --- connection (one goroutine reads, one writes) --- calls ---> loop: create, connect
//	   |                                                                      |
//	   +== submission ring, memory, completion rings ====================== Poll, Completed
//
// A connection is a program. Calls are carried out on the loop's thread, one at a time; work
// requests and completions never leave that thread. When the connection ends, for whatever reason,
// everything of the program is freed, as the kernel does for a process that ends: its queue pairs
// vanish without a word, so that their peers' requests run out of retries.
//
// A program is not trusted. What it writes in shared memory is copied, then judged; work that
// cannot be ends its own queue pair, and a ring that makes no sense ends its connection.
package uverbs
