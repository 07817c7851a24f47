// Package clock stretches time: it maps CLOCK_MONOTONIC to the virtual time of a lab.
//
// With dilation k one virtual second lasts k real ones. All daemons of a lab share one page of
// memory, so they agree to the nanosecond. The clock is elastic in two ways:
//
//   - hold: every loop publishes the virtual time by which it must act (its slot). Whoever reads
//     the clock and finds it more than the budget past some slot's deadline stops it there, until
//     that loop has caught up. No loop is ever later than the budget, in virtual time.
//   - speed: a governor watches how much of real time is held and slows the clock, or speeds it
//     up again, so that holding stays the exception.
//
// A slow machine therefore gives a slow run, not a wrong one.
//
// A daemon without a lab has a clock of its own (NewOwn). It holds too, for its own loop only, and
// what it has held is lost against its peers, whose time goes on.
//
// The page is a sequence of segments (from real time r0 on, virtual = v0 + speed*(real-r0)); the
// last few are kept, so the time stamp of a frame that waited in a ring still converts exactly.
package clock
