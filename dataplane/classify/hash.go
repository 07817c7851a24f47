package classify

import "math/bits"

// hash mixes 32-bit words into a 32-bit sum: MurmurHash3 (x86, 32 bits, seed 0) without its
// length step. It needs nothing but multiplication and rotation, which BPF does alike.
type hash uint32

func (h *hash) word(w uint32) {
	w = bits.RotateLeft32(w*0xcc9e2d51, 15) * 0x1b873593
	*h = hash(bits.RotateLeft32(uint32(*h)^w, 13)*5 + 0xe6546b64)
}

func (h *hash) sum() uint32 {
	s := uint32(*h)
	s = (s ^ s>>16) * 0x85ebca6b
	s = (s ^ s>>13) * 0xc2b2ae35
	return s ^ s>>16
}
