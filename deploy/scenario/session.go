package scenario

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/switchd"
)

// session is a scenario on its nodes, whoever drives them.
type session struct {
	*Scenario
	flows []Flow
	sinks []ib.QPN // the receiver's QP of each
	node  func(name string) daemon.Caller
}

func (s *session) post(ctx context.Context, node, path string, req, resp any) error {
	return s.node(node).Call(ctx, http.MethodPost, path, req, resp)
}

func (s *session) get(ctx context.Context, node, path string, resp any) error {
	return s.node(node).Call(ctx, http.MethodGet, path, nil, resp)
}

// begin judges the scenario.
func (s *Scenario) begin() (*session, error) {
	flows, err := s.complete()
	return &session{Scenario: s, flows: flows}, err
}

// prepare connects the flows and starts the samplers.
func (s *session) prepare(ctx context.Context) error {
	for i := range s.flows {
		if err := s.wire(ctx, &s.flows[i]); err != nil {
			return fmt.Errorf("flow %q: %w", s.flows[i].Name, err)
		}
	}
	// Only now everybody knows the queue pairs that others come after.
	for i := range s.flows {
		f := &s.flows[i]
		if from, _ := feeding(s.flows, f); from >= 0 {
			f.FlowRequest.After = s.sinks[from]
		}
		if err := s.post(ctx, f.From, "/v1/flow", f.FlowRequest, nil); err != nil {
			return fmt.Errorf("flow %q: %w", f.Name, err)
		}
	}
	if err := s.observe(ctx); err != nil || s.Setup == nil {
		return err
	}
	if err := s.Setup(ctx, s.node); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	return nil
}

// wire connects a queue pair of the sender to one of the receiver.
func (s *session) wire(ctx context.Context, f *Flow) error {
	var a, b nicd.Endpoint
	open := nicd.OpenRequest{Bytes: max(f.largest(), f.SpanBytes),
		DSCP: f.DSCP, Payload: nicd.Virtual}
	if f.Verb == "fetch_add" || f.Verb == "cmp_swap" {
		open.Payload = nicd.Real // an atomic looks at what is there
	}
	if err := s.post(ctx, f.From, "/v1/open", open, &a); err != nil {
		return err
	}
	if err := s.post(ctx, f.To, "/v1/open", open, &b); err != nil {
		return err
	}
	there, back := nicd.JoinRequest{QPN: a.QPN, Peer: b}, nicd.JoinRequest{QPN: b.QPN, Peer: a}
	if err := s.post(ctx, f.From, "/v1/join", there, nil); err != nil {
		return err
	}
	f.QPN = a.QPN
	s.sinks = append(s.sinks, b.QPN)
	return s.post(ctx, f.To, "/v1/join", back, nil)
}

func (s *session) samples() daemon.SampleRequest {
	return daemon.SampleRequest{IntervalNs: s.Interval.Nanoseconds(),
		Count: int(s.Duration / s.Interval)}
}

// observe starts samplers everywhere.
func (s *session) observe(ctx context.Context) error {
	for _, n := range s.Topology.Nodes {
		var req any = s.samples()
		if n.Kind == lab.Switch {
			r := switchd.SampleRequest{SampleRequest: s.samples()}
			for _, q := range s.Queues {
				if q.Switch == n.Name {
					r.Queues = append(r.Queues, switchd.QueueRef{Port: q.Port, Queue: q.Queue})
				}
			}
			req = r
		}
		if err := s.post(ctx, n.Name, "/v1/sample", req, nil); err != nil {
			return err
		}
	}
	return nil
}

// collect reads what all nodes recorded.
func (s *session) collect(ctx context.Context) (*Run, error) {
	r := &Run{Scenario: s.Scenario, Flows: s.flows, sinks: s.sinks, nodes: map[string]*node{},
		messages: make([][]nicd.Message, len(s.flows))}
	for _, n := range s.Topology.Nodes {
		one := &node{}
		if err := s.get(ctx, n.Name, "/v1/sample", &one.Samples); err != nil {
			return nil, err
		}
		end := any(&one.nic)
		if n.Kind == lab.Switch {
			end = &one.sw
		}
		if err := s.get(ctx, n.Name, "/v1/sampled", end); err != nil {
			return nil, err
		}
		r.nodes[n.Name] = one
	}
	for i, f := range s.flows {
		if f.Log == 0 {
			continue
		}
		path := "/v1/messages?" + url.Values{"flow": {f.Name}}.Encode()
		if err := s.get(ctx, f.From, path, &r.messages[i]); err != nil {
			return nil, err
		}
	}
	return r, r.digest()
}
