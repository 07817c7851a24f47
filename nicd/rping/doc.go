// Package rping speaks the protocol of rdma-core's rping, as client and as server.
//
// The ends are connected by the connection manager, port 7174. For every ping
//
//	client                          server
//	SEND  where the text is   ----->
//	                          <-----  RDMA READ of the text
//	                          <-----  SEND  go ahead
//	SEND  where to put it     ----->
//	                          <-----  RDMA WRITE of the text
//	                          <-----  SEND  go ahead
//
// The SENDs are 16 bytes: address, key and length in network order. Nobody looks into those of the
// server.
package rping
