package bpf

import (
	"encoding/binary"

	"github.com/rocelab/rocelab/dataplane/frame"
)

// MetaLen is the length of the metadata that the programs put directly before a frame.
const MetaLen = 32

// The layout of the metadata, little endian; rocelab.h has its twin.
const (
	metaMagicAt   = 0 // 4 bytes
	metaHashAt    = 4 // 4 bytes
	metaArrivedAt = 8 // 8 bytes, CLOCK_MONOTONIC in ns
	metaKindAt    = 16
	metaTCAt      = 17
	metaECNAt     = 18
	metaL3OffAt   = 19
	metaL4OffAt   = 20
	metaDSCPAt    = 21

	metaMagic = 0x314d4c52 // "RLM1"; the last character is the version
)

// DecodeMeta takes the metadata out of b, the MetaLen bytes directly before a frame: what the
// program found, and when the frame arrived by CLOCK_MONOTONIC. ok is false if there is none, as
// in generic mode on drivers without room for it; the caller then classifies and stamps itself.
//
// It erases the magic number: a chunk of memory is used again, and the next frame in it may come
// without metadata of its own.
func DecodeMeta(b []byte) (class frame.Class, arrivedMonoNs int64, ok bool) {
	if len(b) < MetaLen || binary.LittleEndian.Uint32(b[metaMagicAt:]) != metaMagic {
		return frame.Class{}, 0, false
	}
	binary.LittleEndian.PutUint32(b[metaMagicAt:], 0)
	class = frame.Class{
		Kind:  frame.Kind(b[metaKindAt]),
		TC:    b[metaTCAt],
		ECN:   frame.ECN(b[metaECNAt]),
		L3Off: b[metaL3OffAt],
		L4Off: b[metaL4OffAt],
		DSCP:  b[metaDSCPAt],
		Hash:  binary.LittleEndian.Uint32(b[metaHashAt:]),
	}
	return class, int64(binary.LittleEndian.Uint64(b[metaArrivedAt:])), true
}
