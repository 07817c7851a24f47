package dataplane

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// PortID numbers the ports of a device from 0.
type PortID = frame.PortID

// Device is a switch or a NIC: a pure machine with ports.
//
// Rules for drivers: now never goes back. After any call the driver asks Transmit for every port
// that is both idle and in Ready, which it takes out of Ready before, and asks NextWake again. A
// late Wake is allowed, an early one is not. Of simultaneous events arrivals run first, then free
// wires, then wakes.
//
// Rules for devices: Transmit returns nil only if nothing is eligible on that port now. A port on
// which something becomes eligible is put into Ready by the call that made it so (Receive, Wake,
// SetLink, or an operation of the device's own), and by a Transmit that leaves something behind.
type Device interface {
	// Receive takes ownership of f, which finished arriving on port at now.
	Receive(now unit.Time, port PortID, f *frame.Frame)
	// Transmit is asked when the port's wire is free. It gives up ownership of the frame to
	// send, or returns nil when nothing is eligible (empty, paused, paced).
	Transmit(now unit.Time, port PortID) *frame.Frame
	// Ready is the set of ports on which Transmit may have something. Devices add, drivers
	// remove; it saves asking every port after every event.
	Ready() *PortSet
	// NextWake is when Wake must be called even if nothing arrives; unit.Never if not at all.
	NextWake() unit.Time
	Wake(now unit.Time)
	// SetLink tells that a port's link went up or down. Ports start up.
	SetLink(now unit.Time, port PortID, up bool)
	// Ledger is the device's account of every frame it ever had.
	Ledger() Ledger
}
