// Package fib is what a switch knows about where things are: MAC addresses behind ports, prefixes
// behind next hops, IP addresses behind MAC addresses.
//
// Table is one broadcast domain. Addresses are learnt from source addresses and age out, static
// ones stay. It has a fixed size and never allocates; what does not fit is flooded, and counted.
// Ageing is lazy: an entry that is too old is not found, and its place is reused when the table
// is full, so that nothing has to wake up for it. IEEE 802.1Q-2022 clause 8.8.
//
// Router adds what layer 3 needs. A packet goes by the longest prefix to a next-hop group, by the
// hash of its flow to one of the group's next hops, and by Neighbours, which is ARP's and neighbour
// discovery's table, to a MAC address. On the bridge the MAC address then needs Table for its port.
// The two tables time out apart: [RDMA at scale] section 4.2 tells what came of it.
package fib
