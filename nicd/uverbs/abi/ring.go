package abi

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/rocelab/rocelab/dataplane/shm"
)

// Words of a ring's segment. Each index stands in a cache line of its own.
const (
	wordTail  = 0  // entries ever written, by the producer
	wordHead  = 8  // entries ever taken, by the consumer
	wordFlag  = 16 // submissions: Resting; completions: what the program is armed for
	wordState = 24 // completions: not 0 once it has overflowed
	wordClock = 32 // submissions: sequence, virtual time, monotonic time, speed, lost time
	header    = 64
	wordBytes = 8
)

// Ring is one end's view of a ring in shared memory.
type Ring struct {
	seg  *shm.Segment
	mem  []byte // of the entries
	size int    // of an entry, in bytes
	mask uint64
	own  uint64 // this end's index
}

// RingBytes is the size of a segment for a ring of n entries of size bytes. n is a power of two.
func RingBytes(n, size int) int { return header*wordBytes + n*size }

// RingEntries is how many entries a ring for at least n has: a power of two.
func RingEntries(n int) int { return 1 << bits.Len(uint(max(n, 2)-1)) }

// NewRing views a segment made for n entries of size bytes.
func NewRing(seg *shm.Segment, n, size int) *Ring {
	return &Ring{seg: seg, mem: seg.Bytes()[header*wordBytes:][:n*size], size: size,
		mask: uint64(n - 1)}
}

// Len is how many entries the ring has room for.
func (r *Ring) Len() int { return int(r.mask + 1) }

// Segment is the memory below.
func (r *Ring) Segment() *shm.Segment { return r.seg }

func (r *Ring) tail() *atomic.Uint64 { return r.seg.At(wordTail) }
func (r *Ring) head() *atomic.Uint64 { return r.seg.At(wordHead) }

// Flag is the word by which the consumer asks to be woken.
func (r *Ring) Flag() *atomic.Uint64 { return r.seg.At(wordFlag) }

// State is the word that says what is wrong with the ring; 0: nothing.
func (r *Ring) State() *atomic.Uint64 { return r.seg.At(wordState) }

// slot is entry i.
func (r *Ring) slot(i uint64) []byte {
	at := int(i&r.mask) * r.size
	return r.mem[at : at+r.size : at+r.size]
}

// Room is how many entries the producer may write; ok is false if the consumer's index is not one
// that it can have.
func (r *Ring) Room() (n int, ok bool) {
	used := r.own - r.head().Load()
	if used > r.mask+1 {
		return 0, false
	}
	return int(r.mask + 1 - used), true
}

// Put writes an entry, which the producer must have room for, behind ahead others that are not
// published yet.
func (r *Ring) Put(ahead int, entry []byte) { copy(r.slot(r.own+uint64(ahead)), entry) }

// Publish hands the next n entries to the consumer.
func (r *Ring) Publish(n int) {
	r.own += uint64(n)
	r.tail().Store(r.own)
}

// Ready is how many entries the consumer may take; ok is false if the producer's index is not one
// that it can have.
func (r *Ring) Ready() (n int, ok bool) {
	n64 := r.tail().Load() - r.own
	if n64 > r.mask+1 {
		return 0, false
	}
	return int(n64), true
}

// Take copies the entry behind ahead others to dst.
func (r *Ring) Take(ahead int, dst []byte) { copy(dst, r.slot(r.own+uint64(ahead))) }

// Release gives n entries back to the producer.
func (r *Ring) Release(n int) {
	r.own += uint64(n)
	r.head().Store(r.own)
}

// Time is the clock of a daemon as it was at a moment: virtual time goes on from there at Speed.
type Time struct {
	Virtual int64 // ns
	Mono    int64 // ns of CLOCK_MONOTONIC
	Speed   uint64
	Lost    int64 // virtual ns that a clock of the daemon's own has lost against real time
}

// PutTime publishes the clock, for whoever reads it without a lock.
func (r *Ring) PutTime(t Time) {
	seq := r.seg.At(wordClock)
	n := seq.Load() | 1 // a program that writes here confuses itself
	seq.Store(n)
	r.seg.At(wordClock + 1).Store(uint64(t.Virtual))
	r.seg.At(wordClock + 2).Store(uint64(t.Mono))
	r.seg.At(wordClock + 3).Store(t.Speed)
	r.seg.At(wordClock + 4).Store(uint64(t.Lost))
	seq.Store(n + 1)
}

// Time reads the clock, and reports false if it was being written.
func (r *Ring) Time() (Time, bool) {
	seq := r.seg.At(wordClock)
	n := seq.Load()
	t := Time{Virtual: int64(r.seg.At(wordClock + 1).Load()),
		Mono: int64(r.seg.At(wordClock + 2).Load()), Speed: r.seg.At(wordClock + 3).Load(),
		Lost: int64(r.seg.At(wordClock + 4).Load())}
	return t, n&1 == 0 && seq.Load() == n
}

var order = binary.NativeEndian
