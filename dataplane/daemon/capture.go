package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/capture"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// The control calls for captures, of every daemon:
//
//	POST /v1/capture       CaptureRequest       write frames into a pcapng file
//	GET  /v1/capture                         -> CaptureStatus
//	POST /v1/capture/stop                    -> CaptureResult

// CaptureRequest writes frames into a pcapng file. The capture is over after the given number of
// frames or time, and the file complete after POST /v1/capture/stop. A frame that an injected fault
// did something to carries a comment, as in fault=loss rule="drop ipid 0xff" id=3; one that was
// lost is there as well, where it left.
type CaptureRequest struct {
	Path   string   `json:"path"`   // absolute; the daemon writes it
	Ports  []string `json:"ports"`  // all frames of these, both directions
	PFC    bool     `json:"pfc"`    // and the PFC frames of every port
	Frames uint64   `json:"frames"` // at most
	Snap   int      `json:"snap"`   // bytes kept of each frame; 0: 2048
	ForNs  int64    `json:"for_ns"` // of virtual time from now on; 0: no limit
}

// CaptureStatus is the answer to GET /v1/capture.
type CaptureStatus struct {
	Path    string `json:"path"`
	Frames  uint64 `json:"frames"`  // so far
	Dropped uint64 `json:"dropped"` // frames for which the writer had no room
	Over    bool   `json:"over"`    // it takes no more
}

// CaptureResult is the answer to POST /v1/capture/stop.
type CaptureResult struct {
	Frames  uint64 `json:"frames"`
	Dropped uint64 `json:"dropped"` // frames for which the writer had no room
}

// maxSnap is more than any frame has.
const maxSnap = 16384

// portCapture chooses what a capture takes. Every port and direction is an interface of the file.
type portCapture struct {
	*capture.Capture
	path   string
	faults *fault.Executor
	all    []bool // by port: take every frame
	pfc    bool   // take PFC frames of every port
	until  unit.Time
}

var directions = [...]string{loop.In: "ingress", loop.Out: "egress"}

func (d *Daemon) handleCapture() {
	Handle(d.Control, "POST /v1/capture", d.startCapture)
	Handle(d.Control, "GET /v1/capture", d.captureStatus)
	Handle(d.Control, "POST /v1/capture/stop", d.stopCapture)
}

func (d *Daemon) startCapture(r CaptureRequest) (struct{}, error) {
	none := struct{}{}
	if !filepath.IsAbs(r.Path) {
		return none, fmt.Errorf("path %q: must be absolute", r.Path)
	}
	if r.Snap < 0 || r.Snap > maxSnap {
		return none, fmt.Errorf("snap %d: want 0 to %d bytes", r.Snap, maxSnap)
	}
	c := &portCapture{path: r.Path, all: make([]bool, len(d.spec.Ports)), pfc: r.PFC,
		faults: d.Loop.Faults(), until: unit.Never}
	for _, name := range r.Ports {
		port, err := d.portID(name)
		if err != nil {
			return none, err
		}
		c.all[port] = true
	}
	var ifaces []capture.Interface
	for _, p := range d.spec.Ports {
		for _, text := range directions {
			ifaces = append(ifaces, capture.Interface{Name: p.Name + ":" + text})
		}
	}
	d.capturing.Lock()
	defer d.capturing.Unlock()
	if d.capture != nil {
		return none, errors.New("a capture is at work already")
	}
	var err error
	c.Capture, err = capture.Start(r.Path, ifaces, capture.Options{Frames: r.Frames, Snap: r.Snap})
	if err != nil {
		return none, err
	}
	d.capture = c
	if r.ForNs > 0 {
		err = d.Loop.Do(func(now unit.Time) { c.until = now.Add(time.Duration(r.ForNs)) })
		if err != nil {
			return none, err
		}
	}
	return none, d.Loop.SetTap(c.take)
}

func (d *Daemon) portID(name string) (dataplane.PortID, error) {
	for i, p := range d.spec.Ports {
		if p.Name == name {
			return dataplane.PortID(i), nil
		}
	}
	return 0, fmt.Errorf("no port %q", name)
}

// take is the loop's tap.
func (c *portCapture) take(at unit.Time, port dataplane.PortID, dir loop.Direction,
	f *frame.Frame) {
	b := f.Bytes()
	if at <= c.until && (c.all[port] || (c.pfc && isPFC(b))) {
		c.Record(at, int(port)*len(directions)+int(dir), b, c.faults.Comment(f.Meta.Faults))
	}
}

func isPFC(b []byte) bool {
	eth, ok := wire.AsEthernet(b)
	if !ok || eth.Type() != wire.TypeMACControl {
		return false
	}
	body, ok := wire.AsPFC(b[wire.EthernetLen:])
	return ok && body.Opcode() == wire.OpPFC
}

var errNoCapture = errors.New("no capture is at work")

func (d *Daemon) captureStatus(struct{}) (st CaptureStatus, err error) {
	d.capturing.Lock()
	defer d.capturing.Unlock()
	c := d.capture
	if c == nil {
		return st, errNoCapture
	}
	err = d.Loop.Do(func(now unit.Time) {
		st = CaptureStatus{Path: c.path, Frames: c.Taken(), Dropped: c.Dropped.Load(),
			Over: c.Full() || now > c.until}
	})
	return st, err
}

func (d *Daemon) stopCapture(struct{}) (res CaptureResult, err error) {
	d.capturing.Lock()
	defer d.capturing.Unlock()
	c := d.capture
	if c == nil {
		return res, errNoCapture
	}
	if err := d.Loop.SetTap(nil); err != nil {
		return res, err
	}
	d.capture = nil
	err = c.Close()
	return CaptureResult{Frames: c.Taken(), Dropped: c.Dropped.Load()}, err
}

// endCapture completes the file of a capture that nobody stopped, when the loop has ended and
// nothing records any more.
func (d *Daemon) endCapture() error {
	d.capturing.Lock()
	defer d.capturing.Unlock()
	c := d.capture
	if c == nil {
		return nil
	}
	d.capture = nil
	return c.Close()
}
