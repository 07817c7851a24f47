// Package cm is the connection manager: what two channel adapters say to each other over QP1 to
// set up and end a reliable connection, and to find datagram services.
//
//	Connect                                                    Listen
//	   | REQ                                                      |
//	REQ sent --MRA--> MRA REQ rcvd              REQ rcvd <--REQ---+
//	   | REP <---------+                         |    | Delay: MRA (or a second REQ came)
//	REP rcvd --Delay--> MRA REP sent             |   MRA REQ sent
//	   | Confirm: RTU   |                 Accept | REP |
//	   +----------------+                        REP sent --MRA--> MRA REP rcvd
//	   |                                         | RTU, or data <------+
//	   +-------------------> established <-------+
//	             Disconnect: DREQ |  | DREQ arrives
//	                      DREQ sent  DREQ rcvd
//	     DREP, DREQ, no answer |        | Disconnect: DREP
//	                           timewait <
//	                              | the last packets of the connection are gone
//	                             idle
//
// A REJ, or no answer to the last repetition, ends a connection that is not established yet.
// SIDR has two states more, SIDR REQ sent and SIDR REQ rcvd, each ended by the SIDR_REP.
//
// Manager is a pure machine: MADs go in by Receive and come out by Next, what happened by
// NextEvent, deadlines are NextWake and Wake. Each side sends from the PSN that the other told it,
// so what a QP needs to run comes from Attributes.
//
// States and messages are those of IBTA volume 1, chapter 12. Of what the chapter leaves open,
// most is as in Linux drivers/infiniband/core/cm.c, which is the peer we meet.
package cm
