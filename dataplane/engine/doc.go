// Package engine runs devices in time order: the part that both drivers share.
//
// It holds one queue of events (a frame arrives, a wire becomes free, a device wakes, a frame
// leaves the far end of a wire) and enforces the rules of the contract: time never goes back, no
// Wake comes early, Transmit is asked whenever a wire is free and the device says Ready. Of
// simultaneous events arrivals run first, then free wires, then wakes, each by port, then in the
// order in which they were scheduled: an order that does not hang on the driver.
//
// Each device has an engine of its own. The simulator runs all engines by turns, and time jumps
// from event to event. The loop feeds one engine the arrivals of its sockets and runs it up to the
// clock: a simulator slaved to real time. What the device decides is the same.
package engine
