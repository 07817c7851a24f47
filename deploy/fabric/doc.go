// Package fabric builds the networks of the papers' experiments as topologies of labs, for real
// frames (package lab) and for virtual time (package twin).
//
// Switches and NICs have the defaults of lab.Star: callers change Switch and NIC of what they get.
// A star bridges. All other networks route:
//
//   - every ToR is an IP subnet ([DCQCN] figure 2): ToR n, counted from 1 over the whole network,
//     is 10.x.y.0/24 with n = 256x + y; its i-th host has the address .i, the ToR itself .254;
//   - every link between switches is a /31 of 172.16.0.0/12, the upper switch with the odd address;
//   - up by ECMP over all links, down by the prefixes of the ToRs below. The top has no way up, and
//     a switch knows exactly the ToRs below it, so no packet goes round in a loop, not even one for
//     a subnet that nobody has;
//   - in a Clos, host i of ToR t1-3 is h1-3-i: the number of its ToR, then its own.
//
// A builder panics if there cannot be a network of that size; Try makes an error of it.
package fabric
