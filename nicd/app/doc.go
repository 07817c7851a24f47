// Package app is traffic as a machine on top of a NIC: flows of messages, and sinks that receive.
//
//	NIC().RegisterMR, CreateQP, Connect    the verbs set a connection up
//	Start                                  a flow, from a time on, for a time or a number
//	Listen                                 receives for what the peer SENDs
//
// A flow keeps a number of messages in the send queue, as perftest does. Or its messages arrive by
// themselves, at a mean distance; or wait for what a sink of the host has received, which makes
// servers, clients and collectives. Sizes may be drawn from a distribution.
//
// A Host is a dataplane.Device around a NIC: it looks after the flows whenever the NIC was called,
// and wakes up when one is to start.
package app
