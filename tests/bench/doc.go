// Package bench measures forwarding on real veth devices, side by side: switchd, a bare AF_XDP
// forwarder that does nothing else, and the Linux bridge. Same devices, same generator, one run;
// what counts are the ratios.
package bench
