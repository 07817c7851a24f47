// Package loop drives one device on real frames: a simulator slaved to the clock.
//
// One locked thread turns, and each turn is
//
//	read the clock -> take arrivals from the wires, with their XDP time stamps
//	-> run the engine up to now, handing due frames to the kernel -> publish the next deadline
//	-> ppoll over the wires until then
//
// Arrivals and deadlines run in time order up to now, so a late wake-up changes when frames leave
// the process but not what the device decides. A frame leaves the process when its last bit has
// crossed the emulated link, so everything inside the device may run late by the link's delay
// without anyone seeing it: that is the slack the loop sleeps through, to work in bursts.
//
// This package and clock are the only readers of the system's clock.
package loop
