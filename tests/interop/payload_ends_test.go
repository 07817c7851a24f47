package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// What must be true of the bytes at both ends after each kind of traffic. perftest's own are random
// and the same in every message; ours are random and differ from message to message.

// lastWentThere: all our messages went to the same place, where the last remains.
func (p *peer) lastWentThere(theirs []byte) error {
	return same("what the guest has", theirs[:p.x.bytes], p.bytes(rounds-1))
}

// lastArrived: the same for messages that the guest took where it had a place for them.
func (p *peer) lastArrived(theirs []byte) error {
	if !bytes.Contains(theirs, p.bytes(rounds-1)) {
		return fmt.Errorf("the last message is nowhere in the guest's buffer")
	}
	return nil
}

// cameHere: our region has what the guest has, and what is around it did not change.
func (p *peer) cameHere(theirs []byte) error {
	n := p.x.bytes
	if err := same("our region", p.mem.Bytes[:n], theirs[:n]); err != nil {
		return err
	}
	return same("what is behind it", p.mem.Bytes[n:], p.old[n:])
}

// allAreTheirs: every READ brought the same.
func (p *peer) allAreTheirs(theirs []byte) error {
	for i := range rounds {
		if err := same(fmt.Sprint("READ ", i), p.bytes(i), theirs[:p.x.bytes]); err != nil {
			return err
		}
	}
	return nil
}

// received: every message that came has the guest's bytes.
func (p *peer) received(theirs []byte) error {
	if err := p.complete(); err != nil {
		return err
	}
	return p.allAreTheirs(theirs)
}

// addedUp: each FETCH_ADD was done once, in their order, and brought what was there before it.
func (p *peer) addedUp(theirs []byte) error {
	now := binary.LittleEndian.Uint64(theirs)
	for i := rounds - 1; i >= 0; i-- {
		now -= addend(i)
		if got := binary.LittleEndian.Uint64(p.bytes(i)); got != now {
			return fmt.Errorf("FETCH_ADD %d brought %#x, want %#x", i, got, now)
		}
	}
	return nil
}

// eachGrew: the guest added one to each of our numbers, and nothing else changed.
func (p *peer) eachGrew([]byte) error {
	want := bytes.Clone(p.old)
	for i := range rounds {
		number := want[i*p.stride():]
		binary.LittleEndian.PutUint64(number, binary.LittleEndian.Uint64(number)+1)
	}
	return same("our numbers", p.mem.Bytes, want)
}

func same(what string, got, want []byte) error {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Errorf("%s differs from byte %d of %d on: % x, want % x", what, i,
				len(want), got[min(i, len(got)):min(i+16, len(got))],
				want[i:min(i+16, len(want))])
		}
	}
	return nil
}
