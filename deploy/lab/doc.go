// Package lab builds a network on this machine and removes it again: namespaces, veth pairs,
// addresses, the shared clock, and a daemon for every switch and host.
//
// A lab owns what it made and nothing else. Its folder below /run/rocelab holds a lock for as long
// as its owner lives; a folder without one was left behind by an owner that was killed, and the
// next Up or Down of that name removes what it lists.
package lab
