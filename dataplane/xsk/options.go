package xsk

import (
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// chunkHeadroom is what the kernel keeps in front of received data in a chunk.
// XDP_PACKET_HEADROOM in linux/bpf.h.
const chunkHeadroom = 256

// Options size a socket.
type Options struct {
	Receive  int // chunks and ring entries for receiving, a power of two
	Transmit int // the same for transmitting
	Chunk    int // bytes per chunk, 2048 or 4096
	// MaxFrame is the longest frame in bytes, without FCS; 0 is what one chunk receives. A longer
	// one is scattered over chunks, which needs kernel 6.6.
	MaxFrame int
}

// DefaultOptions suits the RoCE MTUs that fit a standard Ethernet frame.
var DefaultOptions = OptionsFor(1500)

// MaxMTU is the largest device MTU that a socket carries: 9000 is what switches call jumbo.
const MaxMTU = 9000

// OptionsFor sizes a socket for a device of an MTU. Chunks stay small whatever the MTU: a frame of
// 9018 bytes takes six of them to receive and five to transmit, so that the 192 frames that a loop
// has on their way at most still fit the rings, and packet memory is 6 MB at any MTU.
func OptionsFor(mtu int) Options {
	o := Options{Receive: 2048, Transmit: 1024, Chunk: 2048}
	o.MaxFrame = max(int(wire.MaxFrame(mtu)), o.Chunk-chunkHeadroom)
	return o
}

// Frags reports whether frames come in parts: the socket is then bound for scatter-gather, and the
// XDP program must be one that takes them.
func (o Options) Frags() bool { return o.MaxFrame > o.Chunk-chunkHeadroom }

// flags are those of bind(2).
func (o Options) flags() uint16 {
	if o.Frags() {
		return unix.XDP_USE_SG
	}
	return 0
}

// chunks is how many transmit chunks a frame of n bytes takes.
func (o Options) chunks(n int) int { return max(1, (n+o.Chunk-1)/o.Chunk) }
