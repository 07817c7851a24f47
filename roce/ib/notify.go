package ib

import "encoding/binary"

// Notification is a view of the sixteen bytes behind the BTH of a CNP, which are reserved: zeros
// (A17.9.3), which we take others not to read. [DCQCN+] section 4 puts the receiver's CNP interval
// there, without saying how: we take the first four bytes for it, in nanoseconds, and two more for
// the congested flows.
type Notification [CNPReservedLen]byte

// IntervalNs is the receiver's CNP interval in nanoseconds, 0 if it does not say.
func (n *Notification) IntervalNs() uint32 { return binary.BigEndian.Uint32(n[0:4]) }

// SetIntervalNs sets the receiver's CNP interval.
func (n *Notification) SetIntervalNs(ns uint32) { binary.BigEndian.PutUint32(n[0:4], ns) }

// Flows is how many flows are congested at the receiver, 0 if it does not say.
func (n *Notification) Flows() uint16 { return binary.BigEndian.Uint16(n[4:6]) }

// SetFlows sets how many flows are congested.
func (n *Notification) SetFlows(flows uint16) { binary.BigEndian.PutUint16(n[4:6], flows) }

// Receiver is the content of a Notification.
type Receiver struct {
	IntervalNs uint32
	Flows      uint16
}
