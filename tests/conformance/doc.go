// Package conformance runs every device under every driver and checks that both keep the contract.
//
// A device stands between wires whose far ends belong to the test, which sends it everything that
// can arrive on a wire: data, RoCEv2 packets, CNPs, PFC storms, malformed frames, and takes links
// down. conform.Monitor sees each call in between. A new device or driver is one line in a table.
package conformance
