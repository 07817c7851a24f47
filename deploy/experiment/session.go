package experiment

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// session is one run at work.
type session struct {
	*Incast
	cfg  RunConfig
	out  io.Writer
	last map[string]uint64
}

// scenario is what is run.
func (s *session) scenario() *scenario.Scenario {
	var senders []string
	for i := range s.Senders {
		senders = append(senders, s.host(i))
	}
	return &scenario.Scenario{Topology: s.topology(s.cfg),
		Flows: scenario.Many(s.host(s.Senders), nicd.FlowRequest{MessageBytes: int(s.MessageBytes),
			Depth: queueDepth}, senders...),
		Queues: []scenario.Queue{{Switch: "sw0", Port: s.bottleneck(),
			Queue: scenario.DataQueue}},
		Duration: s.Duration, Warmup: s.Warmup, Interval: s.interval()}
}

// capture starts the capture at the switch.
func (s *session) capture(ctx context.Context, l *lab.Lab) error {
	if s.Frames == 0 {
		return nil
	}
	path, err := s.capturePath(s.cfg)
	if err != nil {
		return err
	}
	return l.Client("sw0").Call(ctx, http.MethodPost, "/v1/capture", daemon.CaptureRequest{
		Path: path, Ports: []string{s.bottleneck()}, PFC: true, Frames: s.Frames}, nil)
}

// ended stops the capture.
func (s *session) ended(ctx context.Context, l *lab.Lab) error {
	if s.Frames == 0 {
		return nil
	}
	var c daemon.CaptureResult
	return l.Client("sw0").Call(ctx, http.MethodPost, "/v1/capture/stop", struct{}{}, &c)
}

// progress prints one line: the rates since the last one, queue, and counts so far.
func (s *session) progress(ctx context.Context, l *lab.Lab) error {
	var sw switchd.Status
	if err := l.Client("sw0").Call(ctx, http.MethodGet, "/v1/status", nil, &sw); err != nil {
		return err
	}
	var line strings.Builder
	st := l.Page.Status()
	fmt.Fprintf(&line, "  %6.1f of %.0f ms  k=%-4.0f", float64(st.Virtual)/1e6,
		s.Duration.Seconds()*1e3, st.Dilation)
	var cnps uint64
	for i := range s.Senders {
		var nic nicd.Status
		if err := l.Client(s.host(i)).Call(ctx, http.MethodGet, "/v1/status", nil,
			&nic); err != nil {
			return err
		}
		for _, f := range nic.Flows {
			fmt.Fprintf(&line, "  %s %5.2f", s.host(i), s.rate(f.Name, f.AckedBytes, nic.VirtualNs))
		}
		cnps += nic.Counters["rp_cnp_handled"]
	}
	q := sw.SwitchPorts[s.Senders].Queues[scenario.DataQueue]
	var pfc uint64
	for _, p := range sw.SwitchPorts {
		for _, n := range p.PFCSent {
			pfc += n
		}
	}
	fmt.Fprintf(&line, " Gb/s  queue %5.1f KB  PFC %d  marks %d  CNPs %d", float64(q.Bytes)/1e3,
		pfc, q.MarkedPackets, cnps)
	_, err := fmt.Fprintln(s.out, line.String())
	return err
}

// rate is the goodput of a flow since it was last asked for, in Gb/s of virtual time.
func (s *session) rate(flow string, bytes uint64, now int64) float64 {
	at, was := s.last[flow+" at"], s.last[flow]
	s.last[flow+" at"], s.last[flow] = uint64(now), bytes
	if uint64(now) <= at {
		return 0
	}
	return float64(bytes-was) * 8 / float64(uint64(now)-at)
}
