// Package app is traffic of the kind that perftest makes, as a machine on top of a NIC: flows of
// equal messages which keep a number of them in the send queue, and sinks that receive.
//
//	NIC().RegisterMR, CreateQP, Connect    the verbs set a connection up
//	Start                                  a flow, from a time on, for a time or a number
//	Listen                                 receives for what the peer SENDs
//
// A Host is a dataplane.Device around a NIC: it looks after the flows whenever the NIC was called,
// and wakes up when one is to start.
package app
