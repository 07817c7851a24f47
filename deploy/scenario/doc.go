// Package scenario is traffic on a fabric: who sends what to whom, what goes wrong, which queues
// are looked at, for how long. One description runs in virtual time and on real frames, and what
// happens is the same, to the nanosecond; a run on real frames is compared with its twin in virtual
// time, value by value, and certified.
//
//	Scenario --Virtual--> twin.Twin --+
//	         --Real-----> lab.Lab   --+--> Run: samples and end states of every node,
//	                                       from which rates, queues and sums are taken
//
// Everything goes through the daemons' control calls, so a scenario can do what a person can do.
package scenario
