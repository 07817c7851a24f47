// Package qp is the reliable connected transport: queue pairs, memory regions, completions.
//
//	   Post                                              PostReceive
//	    |                                                     |
//	send queue --> requester --(Next: request packets)--> responder --> memory region
//	                                                          |
//	completions <-- completer <--(NextResponse: ACK, NAK)-----+------> completions
//
// One QP has all three. It is pulled: whoever paces asks Next for one packet when it may go, and
// NextResponse when the wire has room for an answer. Packets that arrive go to Receive. Nothing
// is copied but payload: from the sender's region into the frame, from the frame into the
// receiver's region.
//
// Loss is repaired by going back to the packet that is missing, IBTA 9.7.5.1: the responder asks
// for it once by a NAK; if that is lost too, the retransmission timer of the requester runs out.
//
// IBTA is the InfiniBand Architecture Specification volume 1, release 1.5.
package qp
