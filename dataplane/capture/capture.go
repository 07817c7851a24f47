// Package capture writes what passes the ports of a daemon into a pcapng file.
//
// tcpdump on a veth whose both ends are AF_XDP sees nothing, so the daemons record for themselves:
// the loop copies frames into a ring that was allocated at the start, and a goroutine writes them
// out. Every port and direction is an interface of its own, times are virtual, and frames for
// which the ring had no room are counted, never waited for.
package capture

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Interface describes one source of frames.
type Interface struct {
	Name        string // as in "sw0:swp5:egress"
	Description string
}

// Options bound a capture.
type Options struct {
	Frames uint64 // frames to write at most; the capture ends by itself
	Snap   int    // bytes kept of each frame; 0 means 2048
	Ring   int    // frames that may wait for the writer; 0 means 4096
}

// Capture is a capture at work. Record may be called from one goroutine, Close from any.
type Capture struct {
	opts    Options
	ring    []slot
	head    atomic.Uint64 // next slot to write, owned by Record
	tail    atomic.Uint64 // next slot to read, owned by the writer
	left    uint64        // frames Record still takes
	Dropped atomic.Uint64 // frames for which the ring had no room
	wake    chan struct{}
	stop    chan struct{}
	done    chan error
}

type slot struct {
	at    unit.Time
	iface int
	size  int // of the frame on the wire
	data  []byte
	note  string // packet comment
}

// Start creates the file at path and begins to write.
func Start(path string, ifaces []Interface, opts Options) (*Capture, error) {
	if opts.Snap == 0 {
		opts.Snap = 2048
	}
	if opts.Ring == 0 {
		opts.Ring = 4096
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	w, err := newWriter(f, ifaces, opts.Snap)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("capture %s: %w", path, err)
	}
	c := &Capture{opts: opts, ring: make([]slot, opts.Ring), left: opts.Frames,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan error, 1)}
	slab := make([]byte, opts.Ring*opts.Snap)
	for i := range c.ring {
		c.ring[i].data = slab[i*opts.Snap : i*opts.Snap : (i+1)*opts.Snap]
	}
	go func() {
		err := c.write(w)
		if e := w.Flush(); err == nil {
			err = e
		}
		if e := f.Close(); err == nil {
			err = e
		}
		c.done <- err
	}()
	return c, nil
}

func newWriter(f io.Writer, ifaces []Interface, snap int) (*pcapgo.NgWriter, error) {
	var w *pcapgo.NgWriter
	for i, in := range ifaces {
		ng := pcapgo.NgInterface{Name: in.Name, Description: in.Description, OS: "rocelab",
			LinkType: layers.LinkTypeEthernet, SnapLength: uint32(snap), TimestampResolution: 9}
		if i > 0 {
			if _, err := w.AddInterface(ng); err != nil {
				return nil, err
			}
			continue
		}
		var err error
		if w, err = pcapgo.NewNgWriterInterface(f, ng, pcapgo.DefaultNgWriterOptions); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Record takes a copy of the frame. It neither waits nor allocates. A note becomes the frame's
// comment in the file (opt_comment, which Wireshark shows and filters as frame.comment).
func (c *Capture) Record(at unit.Time, iface int, frame []byte, note string) {
	if c.left == 0 {
		return
	}
	head := c.head.Load()
	if head-c.tail.Load() == uint64(len(c.ring)) {
		c.Dropped.Add(1)
		return
	}
	c.left--
	s := &c.ring[head%uint64(len(c.ring))]
	s.at, s.iface, s.size, s.note = at, iface, len(frame), note
	s.data = append(s.data[:0], frame[:min(len(frame), c.opts.Snap)]...)
	c.head.Store(head + 1)
	// Waking costs a lock; a quarter of the ring at a time is enough.
	if (head+1)%uint64(len(c.ring)/4) == 0 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

func (c *Capture) write(w *pcapgo.NgWriter) error {
	for stopped := false; !stopped; {
		select {
		case <-c.wake:
		case <-c.stop:
			stopped = true
		}
		for tail := c.tail.Load(); tail != c.head.Load(); tail++ {
			s := &c.ring[tail%uint64(len(c.ring))]
			info := gopacket.CaptureInfo{
				Timestamp:      time.Unix(0, int64(s.at)),
				InterfaceIndex: s.iface,
				CaptureLength:  len(s.data),
				Length:         s.size,
			}
			var opts pcapgo.NgPacketOptions
			if s.note != "" {
				opts.Comments = []string{s.note}
			}
			if err := w.WritePacketWithOptions(info, s.data, opts); err != nil {
				return err
			}
			c.tail.Store(tail + 1)
		}
	}
	return nil
}

// Taken is how many frames were recorded, and Full whether there will be no more. They are for the
// goroutine that records.
func (c *Capture) Taken() uint64 { return c.head.Load() }

// Full reports whether the capture has as many frames as it was to take.
func (c *Capture) Full() bool { return c.left == 0 }

// Close writes what is left and closes the file. Record must not be called any more.
func (c *Capture) Close() error {
	close(c.stop)
	return <-c.done
}
