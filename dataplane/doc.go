// Package dataplane is the contract between machines and drivers.
//
// A Device decides: which frame is admitted, marked, paused, paced, sent. A driver (loop for real
// frames, sim for virtual time) owns the clock and the wires and does nothing else. Egress is
// pulled, never pushed: when a wire is free the driver asks Transmit, so scheduling, pausing and
// marking happen at the moment the wire is free.
//
//	        arrival                      wire free
//	driver ---------> Device.Receive   driver ---------> Device.Transmit ---> frame or nil
//	        deadline
//	driver ---------> Device.Wake
//
// Nothing in a Device knows which driver runs it.
package dataplane
