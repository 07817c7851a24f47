// Package scenarios runs whole fabrics: hosts with applications around a switch.
//
// The devices are those of the daemons, with the daemons' defaults. A bed puts them under a
// driver: virtual time, or real loops that share one clock page in one process. A scenario does
// not know which. One of them also runs on daemons and real frames, and gives the same bytes.
package scenarios
