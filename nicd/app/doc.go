// Package app is traffic of the kind that perftest makes, as a machine on top of a NIC: flows of
// equal messages which keep a number of them in the send queue, and sinks that receive.
//
//	Open           a region and a QP; what the peer must know comes back
//	Join           connects with what the peer's Open returned
//	Start          a flow, from a time on, until a time or for a number of messages
//
// A Host is a dataplane.Device around a NIC: it looks after the flows whenever the NIC was called,
// and wakes up when one is to start.
package app
