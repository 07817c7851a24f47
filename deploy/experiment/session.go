package experiment

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/switchd"
)

// Where RoCE data travels in the lab's default configuration: DSCP 26 is traffic class 3.
const dataQueue = 3

// session is one run at work.
type session struct {
	*Incast
	cfg   RunConfig
	lab   *lab.Lab
	node  func(name string) daemon.Caller
	out   io.Writer
	flows []string // by sender
	sinks []ib.QPN // the receiver's QP of each
	last  map[string]uint64
	began time.Time
}

func (s *session) post(ctx context.Context, node, path string, req, resp any) error {
	return s.node(node).Call(ctx, http.MethodPost, path, req, resp)
}

func (s *session) get(ctx context.Context, node, path string, resp any) error {
	return s.node(node).Call(ctx, http.MethodGet, path, nil, resp)
}

// wire connects a queue pair of each sender to one of the receiver and gives it a flow.
func (s *session) wire(ctx context.Context) error {
	sink := s.host(s.Senders)
	for i := range s.Senders {
		src := s.host(i)
		name := src + " > " + sink
		s.flows = append(s.flows, name)
		var a, b nicd.Endpoint
		open := nicd.OpenRequest{Bytes: int(s.MessageBytes)}
		for _, step := range []struct {
			node, path string
			req, resp  func() any
		}{
			{src, "/v1/open", func() any { return open }, func() any { return &a }},
			{sink, "/v1/open", func() any { return open }, func() any { return &b }},
			{src, "/v1/join", func() any { return nicd.JoinRequest{QPN: a.QPN, Peer: b} }, none},
			{sink, "/v1/join", func() any { return nicd.JoinRequest{QPN: b.QPN, Peer: a} }, none},
			{src, "/v1/flow", func() any {
				return nicd.FlowRequest{Name: name, QPN: a.QPN, Verb: "write", Depth: queueDepth,
					MessageBytes: int(s.MessageBytes), StopNs: s.Duration.Nanoseconds()}
			}, none},
		} {
			if err := s.post(ctx, step.node, step.path, step.req(), step.resp()); err != nil {
				return err
			}
		}
		s.sinks = append(s.sinks, b.QPN)
	}
	return nil
}

func none() any { return nil }

// observe starts samplers everywhere.
func (s *session) observe(ctx context.Context) error {
	sample := s.sample()
	if err := s.post(ctx, "sw0", "/v1/sample", switchd.SampleRequest{SampleRequest: sample,
		Port: s.bottleneck(), Queue: dataQueue}, nil); err != nil {
		return err
	}
	for i := range s.Senders + 1 {
		if err := s.post(ctx, s.host(i), "/v1/sample", sample, nil); err != nil {
			return err
		}
	}
	return nil
}

// capture starts the capture at the switch.
func (s *session) capture(ctx context.Context) error {
	if s.Frames == 0 {
		return nil
	}
	path, err := s.capturePath(s.cfg)
	if err != nil {
		return err
	}
	return s.post(ctx, "sw0", "/v1/capture", daemon.CaptureRequest{Path: path,
		Ports: []string{s.bottleneck()}, PFC: true, Frames: s.Frames}, nil)
}

// stalled is for how long virtual time may stand still before the run is given up.
const stalled = 20 * time.Second

// follow prints a line a second until the scenario is over.
func (s *session) follow(ctx context.Context) error {
	s.began = time.Now()
	s.last = make(map[string]uint64)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	var seen unit.Time
	moved := time.Now()
	end := unit.Time(s.Duration + drain)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-s.lab.Failed():
			return fmt.Errorf("a daemon ended in the middle of the run: %w", err)
		case <-tick.C:
			if err := s.progress(ctx); err != nil {
				return err
			}
		case <-poll.C:
			now := s.lab.Page.Status().Virtual
			if now >= end {
				return nil
			}
			if now > seen {
				seen, moved = now, time.Now()
			}
			if time.Since(moved) > stalled {
				return fmt.Errorf("virtual time stands still at %v: a daemon does not answer", now)
			}
		}
	}
}

// settle waits until every loop has done all that was due when the clock stopped: two looks at all
// daemons that find the same counts.
func (s *session) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stalled)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := int64(s.lab.Page.Status().Virtual)
	var before uint64
	for {
		var sum uint64
		behind := false
		for _, node := range s.lab.Topology.Nodes {
			var st daemon.Status
			if err := s.get(ctx, node.Name, "/v1/status", &st); err != nil {
				return err
			}
			behind = behind || st.VirtualNs < end
			for _, p := range st.Ports {
				sum += p.Sent + p.Received
			}
		}
		if !behind && sum == before {
			return nil
		}
		before = sum
		select {
		case <-ctx.Done():
			return fmt.Errorf("the daemons do not come to rest: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// progress prints one line: the rates since the last one, queue, and counts so far.
func (s *session) progress(ctx context.Context) error {
	var sw switchd.Status
	if err := s.get(ctx, "sw0", "/v1/status", &sw); err != nil {
		return err
	}
	var line strings.Builder
	st := s.lab.Page.Status()
	fmt.Fprintf(
		&line,
		"  %6.1f of %.0f ms  k=%-4.0f",
		float64(st.Virtual)/1e6,
		s.Duration.Seconds()*1e3,
		st.Dilation,
	)
	var cnps uint64
	for i := range s.Senders {
		var nic nicd.Status
		if err := s.get(ctx, s.host(i), "/v1/status", &nic); err != nil {
			return err
		}
		for _, f := range nic.Flows {
			fmt.Fprintf(&line, "  %s %5.2f", s.host(i), s.rate(f.Name, f.AckedBytes, nic.VirtualNs))
		}
		cnps += nic.Counters["rp_cnp_handled"]
	}
	q := sw.SwitchPorts[s.Senders].Queues[dataQueue]
	pfc, _ := pfcTotals(sw.SwitchPorts)
	fmt.Fprintf(
		&line,
		" Gb/s  queue %5.1f KB  PFC %d  marks %d  CNPs %d",
		float64(q.Bytes)/1e3,
		pfc,
		q.MarkedPackets,
		cnps,
	)
	fmt.Fprintln(s.out, line.String())
	return nil
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

// pfcTotals sums over the switch's ports: PFC frames it sent and received.
func pfcTotals(ports []switchd.PortStatus) (sent, received uint64) {
	for _, p := range ports {
		for prio := range p.PFCSent {
			sent += p.PFCSent[prio]
			received += p.PFCReceived[prio]
		}
	}
	return sent, received
}
