// Package classify looks at a frame once and says what it is: the Go twin of the XDP classifier.
//
// In virtual time, and wherever the XDP program could not attach its metadata, this is the
// classifier; everywhere else it is the program's oracle in a differential test. So every rule
// here is one that a BPF program can follow: no loops over headers, no state.
//
//	Ethernet, up to one C-TAG or an S-TAG with a C-TAG inside, then perhaps a CN-TAG
//	  MAC control (untagged)   PFC, Pause or MACControl by opcode
//	  0x22E7                   CNM
//	  IPv4, IPv6               lengths and versions checked; UDP 4791 is RoCE
//	  anything else            Other
//
// A fragment is never RoCE, and its hash leaves the ports out, so that all fragments of a packet
// take one path. IPv6 extension headers are not walked.
package classify
