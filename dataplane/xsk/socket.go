package xsk

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/asavie/xdp"
	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/loop"
)

// Socket is an AF_XDP socket bound to one queue of a device. It implements loop.Wire.
type Socket struct {
	sock   *xdp.Socket
	opts   Options
	free   []xdp.Desc // transmit chunks we own
	batch  []xdp.Desc // transmit chunks to hand over with the next Flush
	refill []xdp.Desc // receive chunks to give back
	gather gathering
	stats  loop.WireStats
	closed bool
	err    error // why the wire went down; nil while it is up
}

// Open binds a socket to queue 0 of the device and puts it into the program's XSKMAP. The
// calling thread must be in the device's network namespace.
func Open(ifindex int, xskMap *ebpf.Map, opts Options) (*Socket, error) {
	opts.MaxFrame = max(opts.MaxFrame, opts.Chunk-chunkHeadroom)
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
		sock, err := newSocket(ifindex, opts.flags(), &xdp.SocketOptions{
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

// binding guards the library's flags of bind, which are one variable for all sockets.
var binding sync.Mutex

func newSocket(ifindex int, flags uint16, opts *xdp.SocketOptions) (*xdp.Socket, error) {
	binding.Lock()
	defer binding.Unlock()
	xdp.DefaultSocketFlags = flags
	return xdp.NewSocket(ifindex, 0, opts)
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
	case opts.Frags() && strings.Contains(text, unix.EINVAL.Error()):
		return fmt.Errorf("AF_XDP: frames of %d bytes need scatter-gather (Linux 6.6): %w",
			opts.MaxFrame, err)
	}
	return fmt.Errorf("AF_XDP: %w", err)
}

// FD is the descriptor to poll for arrivals.
func (s *Socket) FD() int { return s.sock.FD() }

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
	if f := s.gather.arrival.Frame; s.gather.open && f != nil {
		f.Release()
	}
	return errors.Join(unmapRings(s.sock.FD()), s.sock.Close())
}
