package switchd

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/capture"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// portCapture chooses what a capture takes. Every port and direction is an interface of the file.
type portCapture struct {
	*capture.Capture
	all []bool // by port: take every frame
	pfc bool   // take PFC frames of every port
}

var directions = [...]string{loop.In: "ingress", loop.Out: "egress"}

func (s *server) startCapture(r CaptureRequest) (struct{}, error) {
	c := &portCapture{all: make([]bool, len(s.names)), pfc: r.PFC}
	for _, name := range r.Ports {
		port, ok := s.names[name]
		if !ok {
			return struct{}{}, fmt.Errorf("no port %q", name)
		}
		c.all[port] = true
	}
	ifaces := make([]capture.Interface, len(directions)*len(s.names))
	for name, port := range s.names {
		for dir, text := range directions {
			ifaces[interfaceOf(port, loop.Direction(dir))] = capture.Interface{
				Name: name + ":" + text,
			}
		}
	}
	s.capturing.Lock()
	defer s.capturing.Unlock()
	if s.capture != nil {
		return struct{}{}, errors.New("a capture is at work already")
	}
	var err error
	c.Capture, err = capture.Start(r.Path, ifaces, capture.Options{Frames: r.Frames})
	if err != nil {
		return struct{}{}, err
	}
	s.capture = c
	return struct{}{}, s.Loop.SetTap(c.take)
}

func interfaceOf(port dataplane.PortID, dir loop.Direction) int {
	return int(port)*len(directions) + int(dir)
}

// take is the loop's tap.
func (c *portCapture) take(at unit.Time, port dataplane.PortID, dir loop.Direction,
	f *frame.Frame) {
	b := f.Bytes()
	if c.all[port] || (c.pfc && isPFC(b)) {
		c.Record(at, interfaceOf(port, dir), b)
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

func (s *server) stopCapture(struct{}) (res CaptureResult, err error) {
	s.capturing.Lock()
	defer s.capturing.Unlock()
	c := s.capture
	if c == nil {
		return res, errors.New("no capture is at work")
	}
	if err := s.Loop.SetTap(nil); err != nil {
		return res, err
	}
	s.capture = nil
	err = c.Close()
	res.Dropped = c.Dropped.Load()
	return res, err
}
