package dataplane

import "math/bits"

// MaxPorts bounds the ports of one device.
const MaxPorts = 256

// PortSet is a set of ports. The zero value is empty.
type PortSet struct{ words [MaxPorts / 64]uint64 }

// Add puts p into the set.
func (s *PortSet) Add(p PortID) { s.words[p>>6] |= 1 << (p & 63) }

// Remove takes p out of the set.
func (s *PortSet) Remove(p PortID) { s.words[p>>6] &^= 1 << (p & 63) }

// Has reports whether p is in the set.
func (s *PortSet) Has(p PortID) bool { return s.words[p>>6]&(1<<(p&63)) != 0 }

// Next returns the lowest port at or above from, and false if there is none.
func (s *PortSet) Next(from PortID) (PortID, bool) {
	if from >= MaxPorts {
		return 0, false
	}
	w := from >> 6
	word := s.words[w] >> (from & 63) << (from & 63)
	for word == 0 {
		if w++; int(w) == len(s.words) {
			return 0, false
		}
		word = s.words[w]
	}
	return w<<6 + PortID(bits.TrailingZeros64(word)), true
}
