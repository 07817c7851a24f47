// Package fib is the switch's forwarding database: which port a MAC address is behind.
//
// It is one broadcast domain. Addresses are learnt from source addresses and age out, static ones
// stay. The table has a fixed size and never allocates; what does not fit is flooded, and counted.
// Ageing is lazy: an entry that is too old is not found, and its place is reused when the table
// is full, so that nothing has to wake up for it. IEEE 802.1Q-2022 clause 8.8.
package fib
