// Package wire is the headers of a frame as views over its bytes.
//
// A header is an array type of exactly its length, so a view is a pointer into the frame, made by
// one length check; after it no accessor can be out of range, and the compiler has proved it:
//
//	eth, ok := wire.AsEthernet(b)          // *Ethernet = *[14]byte
//	ip, ok := wire.AsIPv4(b[wire.EthernetLen:])
//	if ip.ECN() != wire.NotECT { ip.SetECN(wire.CE) }
//
// A view says what the bytes are, not whether they make sense together: lengths that contradict
// each other are found by package classify, which every frame passes first.
//
// Setters of fields that change on the way (DSCP, ECN, TTL) keep the IPv4 header checksum right.
// All others are for building a header, which ends with UpdateChecksum.
package wire
