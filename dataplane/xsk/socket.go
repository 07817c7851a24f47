package xsk

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/asavie/xdp"
	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
)

// chunkHeadroom is what the kernel keeps in front of received data in a chunk.
// XDP_PACKET_HEADROOM in linux/bpf.h.
const chunkHeadroom = 256

// Options size a socket.
type Options struct {
	Receive  int // chunks and ring entries for receiving, a power of two
	Transmit int // the same for transmitting
	Chunk    int // bytes per chunk, 2048 or 4096
}

// DefaultOptions suits the RoCE MTUs that fit a standard Ethernet frame.
var DefaultOptions = Options{Receive: 2048, Transmit: 1024, Chunk: 2048}

// MaxFrame is the longest frame a chunk can receive.
func (o Options) MaxFrame() int { return o.Chunk - chunkHeadroom }

// Socket is an AF_XDP socket bound to one queue of a device. It implements loop.Wire.
type Socket struct {
	sock   *xdp.Socket
	opts   Options
	free   []xdp.Desc // transmit chunks we own
	batch  []xdp.Desc // transmit chunks to hand over with the next Flush
	refill []xdp.Desc // receive chunks to give back
	stats  loop.WireStats
	closed bool
	err    error // why the wire went down; nil while it is up
}

// Open binds a socket to queue 0 of the device and puts it into the program's XSKMAP. The
// calling thread must be in the device's network namespace.
func Open(ifindex int, xskMap *ebpf.Map, opts Options) (*Socket, error) {
	sock, err := bind(ifindex, opts)
	if err != nil {
		return nil, explain(err, opts)
	}
	s := &Socket{sock: sock, opts: opts, batch: make([]xdp.Desc, 0, opts.Transmit),
		refill: make([]xdp.Desc, 0, opts.Receive)}
	// The lower chunks go to the kernel for good, so the rest of the free list is for sending.
	if n := sock.Fill(sock.GetDescs(opts.Receive)); n != opts.Receive {
		sock.Close()
		return nil, fmt.Errorf("AF_XDP fill ring took %d of %d chunks", n, opts.Receive)
	}
	s.free = append(make([]xdp.Desc, 0, opts.Transmit), sock.GetDescs(opts.Transmit)...)
	if err := xskMap.Put(uint32(0), uint32(sock.FD())); err != nil {
		sock.Close()
		return nil, fmt.Errorf("register AF_XDP socket in XSKMAP: %w", err)
	}
	return s, nil
}

// bind opens the socket. The kernel lets go of a closed socket's queue in the background, so a
// queue that is busy is asked for again, for a second at most.
func bind(ifindex int, opts Options) (*xdp.Socket, error) {
	const attempts, pause = 100, 10 * time.Millisecond
	for i := 0; ; i++ {
		sock, err := xdp.NewSocket(ifindex, 0, &xdp.SocketOptions{
			NumFrames:              opts.Receive + opts.Transmit,
			FrameSize:              opts.Chunk,
			FillRingNumDescs:       opts.Receive,
			RxRingNumDescs:         opts.Receive,
			TxRingNumDescs:         opts.Transmit,
			CompletionRingNumDescs: opts.Transmit,
		})
		if err == nil || !strings.Contains(err.Error(), unix.EBUSY.Error()) || i == attempts {
			return sock, err
		}
		time.Sleep(pause)
	}
}

// explain adds what an operator can do. asavie/xdp formats errors with %v, so the text decides.
func explain(err error, opts Options) error {
	text := err.Error()
	switch {
	case strings.Contains(text, unix.EAFNOSUPPORT.Error()):
		return fmt.Errorf("AF_XDP: this kernel has no XDP sockets (CONFIG_XDP_SOCKETS): %w", err)
	case strings.Contains(text, unix.ENOBUFS.Error()):
		need := (opts.Receive + opts.Transmit) * opts.Chunk
		return fmt.Errorf(
			"AF_XDP: %d bytes of packet memory exceed the locked-memory limit; raise it"+
				" (ulimit -l, LimitMEMLOCK=) or grant CAP_IPC_LOCK: %w",
			need,
			err,
		)
	case strings.Contains(text, unix.EPERM.Error()):
		return fmt.Errorf("AF_XDP: need CAP_NET_RAW and CAP_NET_ADMIN: %w", err)
	}
	return fmt.Errorf("AF_XDP: %w", err)
}

// FD is the descriptor to poll for arrivals.
func (s *Socket) FD() int { return s.sock.FD() }

// Receive copies frames out of the ring into frames of the pool, at most len(dst).
func (s *Socket) Receive(pool *frame.Pool, dst []loop.Arrival) (n int) {
	if s.err != nil || s.closed {
		return 0
	}
	s.refill = s.refill[:0]
	for _, d := range s.sock.Receive(min(len(dst), s.sock.NumReceived())) {
		s.refill = append(s.refill, xdp.Desc{Addr: d.Addr &^ uint64(s.opts.Chunk-1)})
		if a, ok := s.take(pool, d); ok {
			dst[n] = a
			n++
		}
	}
	if len(s.refill) > 0 {
		s.sock.Fill(s.refill)
	}
	return n
}

func (s *Socket) take(pool *frame.Pool, d xdp.Desc) (loop.Arrival, bool) {
	f := pool.Get()
	if f == nil {
		s.stats.NoFrame++
		return loop.Arrival{}, false
	}
	if !f.Set(s.sock.GetFrame(d)) {
		f.Release()
		s.stats.TooLong++
		return loop.Arrival{}, false
	}
	a := loop.Arrival{Frame: f}
	meta := xdp.Desc{Addr: d.Addr - bpf.MetaLen, Len: bpf.MetaLen}
	if class, mono, ok := bpf.DecodeMeta(s.sock.GetFrame(meta)); ok {
		f.Meta.Class, a.Mono = class, mono
	}
	s.stats.Received++
	return a, true
}

// Send copies f into a transmit chunk. It reports false, and leaves f with the caller, if no chunk
// is free; the frame is on its way after Flush.
func (s *Socket) Send(f *frame.Frame) bool {
	if s.err != nil {
		s.stats.Down++
		f.Release()
		return true
	}
	if len(s.free) == 0 && !s.reclaim() {
		return false
	}
	d := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	d.Len = uint32(s.opts.Chunk)
	d.Len = uint32(copy(s.sock.GetFrame(d), f.Bytes()))
	s.batch = append(s.batch, d)
	s.stats.Sent++
	f.Release()
	return true
}

// reclaim takes back the chunks that the kernel has completed. Only transmit chunks can be free
// in the library's list, and none of them is in ours when this is called.
func (s *Socket) reclaim() bool {
	s.flush()
	if s.err != nil {
		return false
	}
	s.sock.Complete(s.sock.NumCompleted())
	// Chunks of this Flush not yet handed over are still marked free by the library.
	if len(s.batch) > 0 {
		return false
	}
	s.free = append(s.free[:0], s.sock.GetDescs(s.opts.Transmit)...)
	return len(s.free) > 0
}

// Flush hands the frames of Send to the kernel.
func (s *Socket) Flush() error {
	s.flush()
	return s.err
}

func (s *Socket) flush() {
	for len(s.batch) > 0 && s.err == nil {
		n := s.transmit(s.batch)
		s.batch = append(s.batch[:0], s.batch[n:]...)
		if n == 0 {
			return
		}
	}
	// In copy mode the kernel sends at most 32 frames a call; ask until it has taken all.
	for s.err == nil && s.sock.NumFreeTxSlots() < s.opts.Transmit {
		before := s.sock.NumFreeTxSlots()
		s.transmit(nil)
		if s.sock.NumFreeTxSlots() == before {
			return
		}
	}
}

// transmit is the one place where the library may panic: sendto failed, the device is gone.
func (s *Socket) transmit(descs []xdp.Desc) (n int) {
	defer func() {
		if r := recover(); r != nil {
			s.err = fmt.Errorf("AF_XDP send: %v", r)
		}
	}()
	return s.sock.Transmit(descs)
}

// Why a wire was taken down from outside.
var (
	ErrDown = errors.New("device is down")
	ErrGone = errors.New("device is gone")
)

// Stats reads the wire's counters, those of the kernel included.
func (s *Socket) Stats() loop.WireStats {
	st := s.stats
	if s.closed {
		return st
	}
	if k, err := s.sock.Stats(); err == nil {
		st.RingDropped = k.KernelStats.Rx_dropped
		st.RingFull = k.KernelStats.Rx_ring_full
		st.FillEmpty = k.KernelStats.Rx_fill_ring_empty_descs
		st.TxInvalid = k.KernelStats.Tx_invalid_descs
	}
	return st
}

// Close releases the socket, its rings and its memory. It may be called twice.
func (s *Socket) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(unmapRings(s.sock.FD()), s.sock.Close())
}
