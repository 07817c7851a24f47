// Package thresholds computes how the buffer of a lossless switch must be divided.
//
// Three questions, three calculators, each with its derivation line by line:
//
//	Emulated   what can still arrive on one of our own links after a group went to XOFF
//	Hardware   the same for a real port: SONiC's formula, from cable, MTU and peer response
//	Section4   [DCQCN] section 4: t_flight, t_PFC, t_ECN, and whether marking precedes pausing
//
// The first is exact for the machines of this repository and is what a profile's headroom (xoff)
// is checked against. The second adds what real ports have and ours have not: transceivers, cells
// of which a small frame fills little, a pipeline between MAC and buffer.
package thresholds
