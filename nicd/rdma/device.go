package rdma

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// Device is a NIC of a running nicd, as this program has it. Make it with Open.
type Device struct {
	*connection
	hello abi.Device
	bell  int

	// post is held while entries are put into the ring. Whoever takes it checks err first.
	post sync.Mutex
	ring *abi.Ring
	keys map[uint32]*Memory // that work requests may name
	into writer             // of entries into the ring

	mu     sync.Mutex
	queues map[uint32]*QP
	cqs    map[uint32]*CQ
	srqs   map[uint32]*SRQ
	dialed uint32           // number of the latest connection that we asked for
	links  map[uint32]*link // connections by their numbers
	ports  map[uint32]*Listener

	last   atomic.Int64 // latest virtual time given out
	lost   atomic.Int64 // latest lost time given out
	events chan Event
}

// Attributes is what a NIC has and allows one program.
type Attributes struct {
	Name      string // of the daemon, as in its configuration
	Addresses []netip.Addr
	MAC       wire.MAC
	Rate      unit.Rate // of the port, virtual
	MTU       int       // largest path MTU, 256 to 4096

	MaxQPs       int   // that this program may have
	MaxObjects   int   // of each other kind: domains, memories, completion queues, addresses
	MaxMemory    int64 // bytes, with those of rings and queues
	MaxDepth     int   // of a send or receive queue
	MaxCQDepth   int
	MaxReadDepth int // READs and atomics in flight, as requester and as responder

	SendDepth    int      // what a zero QPConfig.SendDepth stands for
	ReceiveDepth int      // the same of ReceiveDepth
	Algorithms   []string // that QPConfig.Algorithm may name
}

// maxReadDepth is what eight bits of the connection manager can say. IBTA 12.7.
const maxReadDepth = 255

// Open connects to the daemon behind a socket; the path is `verbs` in nicd's configuration.
func Open(path string) (*Device, error) {
	conn, err := dial(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	d := &Device{connection: conn, keys: map[uint32]*Memory{}, queues: map[uint32]*QP{},
		cqs: map[uint32]*CQ{}, srqs: map[uint32]*SRQ{}, links: map[uint32]*link{},
		ports: map[uint32]*Listener{}, events: make(chan Event, eventsKept),
		bell: -1}
	d.into.dev = d
	conn.event, conn.ended = d.happened, d.end
	go conn.read()
	hello := abi.Hello{Version: abi.Version, Program: os.Args[0]}
	fds, err := conn.call(context.Background(), abi.CallHello, hello, &d.hello, 2)
	if err == nil {
		err = d.share(fds)
	}
	if err != nil {
		conn.close(err)
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return d, nil
}

// share maps the submission ring and takes the doorbell.
func (d *Device) share(fds []int) error {
	defer unix.Close(fds[0])
	seg, err := shm.MapSegment(fds[0], abi.RingBytes(abi.Submissions, abi.SubmissionSize))
	if err != nil {
		unix.Close(fds[1])
		return err
	}
	d.bell = fds[1]
	d.ring = abi.NewRing(seg, abi.Submissions, abi.SubmissionSize)
	return nil
}

// Query asks what the NIC is and allows. Addresses may change while the daemon runs.
func (d *Device) Query() (Attributes, error) {
	var a abi.Device
	if err := d.do(abi.CallQuery, struct{}{}, &a); err != nil {
		return Attributes{}, err
	}
	return Attributes{Name: a.Name, Addresses: a.Addresses, MAC: a.MAC, Rate: unit.Rate(a.Rate),
		MTU: a.QP.MTU, MaxQPs: a.Limits.Queues, MaxObjects: a.Limits.Objects,
		MaxMemory: a.Limits.Memory, MaxDepth: a.Limits.Depth, MaxCQDepth: a.Limits.CQDepth,
		MaxReadDepth: maxReadDepth, SendDepth: a.QP.SendQueue, ReceiveDepth: a.QP.ReceiveQueue,
		Algorithms: a.Algorithms}, nil
}

// Now is the virtual time. It makes no call: the daemon publishes its clock in shared memory, and
// time goes on from there. It never goes back. In a lab whose clock waits for somebody it may be
// ahead until the daemon's next turn, by what passed meanwhile.
func (d *Device) Now() unit.Time {
	t, ok := d.clock()
	now := d.last.Load()
	if ok && t.Mono != 0 {
		passed := max(clock.Monotonic()-t.Mono, 0)
		at := t.Virtual + int64(float64(passed)*math.Float64frombits(t.Speed))
		for at > now && !d.last.CompareAndSwap(now, at) {
			now = d.last.Load()
		}
		now = max(now, at)
	}
	return unit.Time(now)
}

// Lost is how much virtual time the NIC has lost against real time, up to the daemon's latest turn.
// It makes no call. In a lab, whose clock waits for everybody, nothing is ever lost; the clock of a
// daemon without a lab loses what its machine stood still. Of what is measured by Now and by
// completions it is the part that a watch sees and they do not.
func (d *Device) Lost() time.Duration {
	t, ok := d.clock()
	for lost := d.lost.Load(); ok && t.Lost > lost; lost = d.lost.Load() {
		d.lost.CompareAndSwap(lost, t.Lost)
	}
	return time.Duration(d.lost.Load())
}

// clock reads what the daemon has published; false if it is gone, or has been writing for long.
func (d *Device) clock() (t abi.Time, ok bool) {
	d.post.Lock()
	defer d.post.Unlock()
	for i := 0; !ok && i < 100 && d.Err() == nil; i++ {
		t, ok = d.ring.Time()
	}
	return t, ok
}

// Done is closed when the daemon has gone or the device was closed.
func (d *Device) Done() <-chan struct{} { return d.done }

// Err is why Done is closed: ErrDaemonGone or ErrClosed; nil before.
func (d *Device) Err() error { return d.failure() }

// Close ends everything that the program has of the NIC, as the end of the program would.
func (d *Device) Close() error {
	d.close(ErrClosed)
	return nil
}

// end lets nobody work with the device any more and wakes who waits. It runs once.
func (d *Device) end() {
	d.post.Lock() // nobody is inside the ring now, and nobody gets in
	if d.ring != nil {
		d.ring.Segment().Close()
	}
	if d.bell >= 0 {
		unix.Close(d.bell)
	}
	d.post.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.cqs {
		c.interrupt()
	}
	d.unlink(nil)
	close(d.events)
}

// do is a call without descriptors or deadline.
func (d *Device) do(call string, req, resp any) error {
	_, err := d.call(context.Background(), call, req, resp, 0)
	return err
}

// queue finds a QP by its handle, nil if it was closed.
func (d *Device) queue(h uint32) *QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queues[h]
}

// ring the daemon's bell if it rests. d.post is held.
func (d *Device) knock() {
	const resting = 1
	if f := d.ring.Flag(); f.Load() == resting && f.CompareAndSwap(resting, 0) {
		_, err := unix.Write(d.bell, []byte{1})
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			d.fail(ErrDaemonGone)
		}
	}
}
