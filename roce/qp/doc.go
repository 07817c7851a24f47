// Package qp is the transport: queue pairs, memory regions, completions. QP is the reliable
// connection, UD the unreliable datagram.
//
//	   Post                                              PostReceive
//	    |                                                     |
//	send queue --> requester ---(Next: requests)-------> responder --> memory region
//	                                                       |     |
//	               completer <--(Next: answers to READs)---+     |
//	completions <--    |     <--(NextResponse: ACK, NAK,---+     +---> completions
//	               memory            atomics' answers)
//
// One QP has all three. It is pulled: whoever paces asks Next for one packet of data when it may
// go, and NextResponse when the wire has room for a small answer. Packets that arrive go to
// Receive. Nothing is copied but payload: from the sender's region into the frame, from the frame
// into the receiver's region.
//
// Loss is repaired by going back to the packet that is missing, IBTA 9.7.5.1: the responder asks
// for it once by a NAK, or an answer that comes too early implies that NAK; if those are lost too,
// the retransmission timer of the requester runs out. READs and atomics that were executed are
// kept, to answer again.
//
// A QP is made with what its owner chooses (Config). What the peers agree on comes with the
// transitions, as in verbs: ReceiveAttributes to RTR, SendAttributes to RTS. What the standard
// leaves to a NIC is its Personality: when ACKs and NAKs go out, and from where loss is repaired.
//
// IBTA is the InfiniBand Architecture Specification volume 1, release 1.5.
package qp
