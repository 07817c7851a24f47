// Package loop drives one device on real frames: a simulator slaved to the clock.
//
// One locked thread turns, and each turn is
//
//	read the clock -> take arrivals from the wires -> run the engine up to now, handing frames to
//	the kernel -> publish the next deadline -> ppoll over the wires until then
//
// Between loops that share a clock everything is exact. The sender of a frame computes when its
// last bit arrives and tells so in shared memory (clock.Links) before it hands the frame to the
// kernel, as soon as its first bit leaves; so the kernel carries the frame while it is on the
// emulated link. The receiver takes it from the kernel whenever it comes, handles it at its time,
// and decides nothing later than a frame that it has been told of and has not got. What the XDP
// program drops for the machine (Filter) is accounted for when it would have arrived.
//
// Nobody can be told too late, because of the clock: it shows no more than the budget past the
// deadline of any loop and the arrival of any frame in the kernel. A frame that a device emits at
// t arrives at t + serialisation + delay at the earliest; the loop may be late with it by half of
// the delay, through which it sleeps in order to work in bursts, and by the budget, which is less
// than the other half. So what happens is what happens in virtual time, to the nanosecond and on
// any machine; a slow one is slow.
//
// Frames from senders that tell nothing (a host's kernel, another RoCEv2 stack) arrive when the XDP
// program stamped them, at their link's rate; FarEnd says what is told. A loop that shares its
// clock with nobody loses the time in which its machine stood still, instead of sending at once
// what it owes (clock.NewOwn).
//
// This package and clock are the only readers of the system's clock.
package loop
