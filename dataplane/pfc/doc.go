// Package pfc is priority-based flow control: both ends of it, and a watchdog, each a machine of
// one port.
//
// A Receiver obeys the PFC frames that arrive: it holds the priorities it was told to, until the
// time in the frame has passed or another frame says otherwise. A Generator asks the other end:
// it is told which priorities shall be held, and has a frame to send whenever the other end does
// not know that yet or is about to forget it. A Watchdog tells congestion from a storm, in which
// the pauses never end; then the Receiver is told to ignore them and the Generator to be silent.
//
//	 PFC frame                          XOFF, XON (by the buffer's limits)
//	     v                                   v
//	+----------+   Paused(now)         +-----------+   Pending(now), Build
//	| Receiver | -----------> scheduler | Generator | -----------> wire, first
//	+----------+                       +-----------+
//	     | Counters       +----------+       ^
//	     +--------------> | Watchdog | ------+ Silence, and Ignore at the receiver
//	                      +----------+
//
// All are pulled: nothing here sends or schedules. IEEE 802.1Q-2022 clause 36.
package pfc
