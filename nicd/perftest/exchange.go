package perftest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// errSilent says that the peer is there, and says nothing.
var errSilent = errors.New("the peer does not answer: --patience sets how long to wait")

// exchange carries messages between the two ends. Both send a message of the same size at every
// step; the client's is sent first.
type exchange interface {
	// swap sends out and fills in, which are equally long.
	swap(out, in []byte) error
	// keys sends the keys of one of our QPs and returns those of the peer's.
	keys(own Keys) (Keys, error)
	// bound sets how long each further step may take, in real time; with 0 it may last as long as
	// the peer is there.
	bound(d time.Duration)
	// finish says goodbye after the last step.
	finish() error
	close()
}

// greeting is what both ends agree on first.
type greeting struct {
	peer      string // the peer's version
	cycle     int    // bytes of a QP's buffer in which small messages walk
	cacheLine int    // bytes between small messages
	mtu       int
}

// ownCycle and ownCacheLine are the page and the cache line of the machines perftest runs on; the
// larger of both ends' is used.
const (
	ownCycle     = 4096
	ownCacheLine = 64
	maxCycle     = 1 << 20 // a peer that announces more is not believed
)

// greet exchanges versions, sizes of buffers and the path MTU.
func greet(x exchange, mtu int) (g greeting, err error) {
	version := make([]byte, versionLen)
	if err := x.swap(appendVersion(nil, Version), version); err != nil {
		return g, fmt.Errorf("exchange versions: %w", err)
	}
	if g.peer, err = parseVersion(version); err != nil {
		return g, err
	}
	number := func(what string, own int) (n int) {
		var b [4]byte
		if err == nil {
			err = x.swap(binary.BigEndian.AppendUint32(nil, uint32(own)), b[:])
			n = max(own, int(int32(binary.BigEndian.Uint32(b[:]))))
			if err == nil && n > maxCycle {
				err = fmt.Errorf("the peer announces a %s of %d bytes", what, n)
			}
		}
		return n
	}
	g.cycle = number("buffer", ownCycle)
	g.cacheLine = number("cache line", ownCacheLine)
	if err != nil {
		return g, fmt.Errorf("exchange sizes of buffers: %w", err)
	}
	var code [2]byte
	if err := x.swap(appendMTU(nil, mtu), code[:]); err != nil {
		return g, fmt.Errorf("exchange the path MTU: %w", err)
	}
	g.mtu = agreeMTU(mtu, code[:])
	return g, nil
}

// swapSummaries exchanges results.
func swapSummaries(x exchange, own summary) (summary, error) {
	var theirs [5][reportLen]byte
	for i, m := range own.fields() {
		if err := x.swap(m[:], theirs[i][:]); err != nil {
			return summary{}, fmt.Errorf("exchange results: %w", err)
		}
	}
	return parseSummary(theirs), nil
}
