// Package perftest measures bandwidth and latency between two NICs as the perftest suite does
// (ib_send_bw, ib_write_lat, ...), and talks to it: either end may be the real program, 4.5.
//
// A measurement has these parts, in the order in which they are used:
//
//	Config    what to measure; Flags reads it from perftest's options
//	exchange  the two ends agree, over TCP or over a QP that the connection manager made
//	script    in which order what is exchanged; it differs from test to test
//	engine    the traffic: bandwidth (bw.go) or latency (lat.go)
//	Report    what came out, as perftest's table or as JSON
//
// All times are the NIC's virtual time: a completion carries the moment at which the NIC finished
// the work, so a program that is late to look at it does not change the result. What a program
// itself must do between two messages (answer a ping) is in the result, as it is in perftest's.
// What the NIC's clock has lost meanwhile, which it can without a lab, is told beside the result.
package perftest
