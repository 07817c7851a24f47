package nic

import (
	"errors"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// ErrNoPipeline says that a receive pipeline cannot stop that is not modelled.
var ErrNoPipeline = errors.New("receive.buffer is not set: there is no receive pipeline")

// pipeline is the receive side: frames wait in order of arrival, whatever their priority, for a
// single server.
//
//	arrive --> [ lossless bytes | lossy bytes ] --> head is served for its time --> handle
//	   |                |
//	   drop, no room    +--> XOFF, XON to the generator
type pipeline struct {
	cfg     ReceiveConfig
	waiting frame.FIFO // the head is being served, if one is
	bytes   [classes]unit.Bytes
	most    [classes]unit.Bytes

	serving bool
	done    unit.Time     // when the head has been served, or the last one was
	stopped bool          // the pipeline handles nothing: the bug of [RDMA at scale] 4.3
	left    time.Duration // of the head's service when the pipeline stopped
	served  uint64
	serial  unit.Serial
	discard [8]dataplane.Count // by priority
	mtt     mtt
}

// class is one of the two buffers.
type class uint8

const (
	lossless class = iota
	lossy
	classes
)

func (r *pipeline) class(priorities pfc.Set, f *frame.Frame) class {
	if priorities.Has(pfc.Priority(f.Meta.Class.TC)) {
		return lossless
	}
	return lossy
}

// enter takes a frame that arrived, or drops it if its buffer is full. A frame must find room in
// full: what is stored in part is of no use.
func (n *NIC) enter(now unit.Time, f *frame.Frame) {
	r := &n.receiving
	k := r.class(n.cfg.PFC, f)
	room, why := r.cfg.Buffer, n.overflow()
	if k == lossy {
		room, why = r.cfg.Lossy, frame.DropBuffer
	}
	if r.bytes[k]+f.Len() > room {
		r.discard[f.Meta.Class.TC&7].Add(f.Len())
		n.ledger.Drop(f, why)
		return
	}
	f.Meta.Arrived = now
	r.bytes[k] += f.Len()
	r.most[k] = max(r.most[k], r.bytes[k])
	n.ledger.Buffered.Add(f.Len())
	r.waiting.Push(f)
	if r.bytes[lossless] > r.cfg.XOFF {
		n.pauseAll()
	}
	n.serve(now)
}

// serve handles every frame whose service has ended, and begins with the next.
func (n *NIC) serve(now unit.Time) {
	r := &n.receiving
	for !r.stopped {
		f := r.waiting.Head()
		if f == nil {
			break
		}
		if !r.serving {
			// A late call must not make the pipeline slower.
			r.serving, r.done = true, max(r.done, f.Meta.Arrived).Add(n.serviceTime(f))
		}
		if r.done > now {
			n.wheel.Set(serviceTimer, r.done)
			return
		}
		r.serving = false
		r.served++
		n.leave(now, r.waiting.Pop())
	}
	n.wheel.Cancel(serviceTimer)
}

// leave gives back the room of a frame and handles it.
func (n *NIC) leave(now unit.Time, f *frame.Frame) {
	r := &n.receiving
	r.bytes[r.class(n.cfg.PFC, f)] -= f.Len()
	n.ledger.Buffered.Sub(f.Len())
	if r.bytes[lossless] <= r.cfg.XON {
		n.resumeAll()
	}
	n.dispatch(now, f)
}

// serviceTime is how long the pipeline takes for a frame.
func (n *NIC) serviceTime(f *frame.Frame) time.Duration {
	r := &n.receiving
	d := r.cfg.PacketTime
	if r.cfg.MTT.Entries > 0 {
		d += n.translate(f)
	}
	if r.cfg.Rate > 0 {
		d += r.serial.Time(f.Len(), r.cfg.Rate)
	}
	return d
}

func (n *NIC) pauseAll() {
	for p := range n.cfg.PFC.All() {
		n.asking.XOFF(p)
	}
}

func (n *NIC) resumeAll() {
	for p := range n.cfg.PFC.All() {
		n.asking.XON(p)
	}
}

// StopReceiving stops the receive pipeline, as the bug of [RDMA at scale] section 4.3 does:
// nothing that arrives is handled, the buffer fills, and the NIC pauses its switch for as long as
// this lasts. Pause frames from the other end are still obeyed: they do not pass the pipeline.
func (n *NIC) StopReceiving(now unit.Time) error {
	r := &n.receiving
	if !r.cfg.on() {
		return ErrNoPipeline
	}
	n.now = now
	if r.stopped {
		return nil
	}
	n.serve(now)
	r.stopped, r.left = true, max(r.done.Sub(now), 0)
	n.wheel.Cancel(serviceTimer)
	n.kick()
	return nil
}

// StartReceiving lets the pipeline go on where it stopped.
func (n *NIC) StartReceiving(now unit.Time) error {
	r := &n.receiving
	if !r.cfg.on() {
		return ErrNoPipeline
	}
	n.now = now
	if r.stopped {
		r.stopped, r.done = false, now.Add(r.left)
		n.serve(now)
		n.kick()
	}
	return nil
}

// ReceiveView is the receive side from outside.
type ReceiveView struct {
	Modelled        bool
	Stopped         bool
	PauseDisabled   pfc.Set    // priorities that the watchdog lets pause no more
	PauseDisabledAt unit.Time  // when it said so last; 0: never
	Waiting         int        // frames
	Lossless        unit.Bytes // that wait
	Lossy           unit.Bytes
	LosslessMost    unit.Bytes // watermark: most that waited since the start
	LossyMost       unit.Bytes
	Served          uint64             // frames
	Discarded       [8]dataplane.Count // for lack of room, by priority
	DiscardedTotal  uint64             // frames, over all priorities
	MTTHits         uint64
	MTTMisses       uint64
}

// Receiving shows the receive side.
func (n *NIC) Receiving() ReceiveView {
	v := n.receiving.view()
	v.PauseDisabled = n.watchdog.Stormed()
	for p := range n.cfg.PFC.All() {
		v.PauseDisabledAt = max(v.PauseDisabledAt, n.watchdog.Stats(p).DetectedAt)
	}
	return v
}

func (r *pipeline) view() ReceiveView {
	v := ReceiveView{Modelled: r.cfg.on(), Stopped: r.stopped, Waiting: r.waiting.Len(),
		Lossless: r.bytes[lossless], Lossy: r.bytes[lossy], LosslessMost: r.most[lossless],
		LossyMost: r.most[lossy], Served: r.served, Discarded: r.discard, MTTHits: r.mtt.hits,
		MTTMisses: r.mtt.misses}
	for _, c := range r.discard {
		v.DiscardedTotal += c.Frames
	}
	return v
}
