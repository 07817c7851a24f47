// Package ib holds the InfiniBand transport headers that RoCEv2 carries in UDP: views over bytes,
// facts about opcodes in one table, PSN arithmetic, the invariant CRC and the packet builder.
//
//	Ethernet [802.1Q] | IPv4 or IPv6 | UDP 4791 | BTH | extended headers | payload | pad | ICRC
//	                  ^------------- covered by the ICRC, variant fields masked ------->|
//
// A view is a pointer to an array laid over the packet, so an accessor cannot reach outside of
// it. Open makes all views of a received packet with one check; Headers.Build writes a whole
// packet from a template that is computed once for a QP. Neither allocates.
//
// IBTA is the InfiniBand Architecture Specification volume 1, release 1.5; A17 its annex RoCEv2.
package ib
