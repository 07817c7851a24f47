package interop

import (
	"context"
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/nicd"
)

// Flows that nicd makes by itself (POST /v1/flow), and its passive side, against perftest. The
// payload is not looked at here: TestPayload does that.
func TestFlows(t *testing.T) {
	s := at(t, 1500)
	for _, c := range []flowCase{
		{tool: "ib_write_bw", verb: "write", bytes: 65536},
		{tool: "ib_read_bw", verb: "read", bytes: 65536},
		{tool: "ib_atomic_bw", verb: "fetch_add", bytes: 8},
	} {
		for _, c.client = range []bool{true, false} {
			t.Run(fmt.Sprintf("%s client=%v", c.verb, c.client), func(t *testing.T) {
				s.judge(t, tolerance{})
				s.flow(t, c)
			})
		}
	}
}

// flowCase is one kind of traffic with one end of it.
type flowCase struct {
	tool, verb string
	bytes      int
	client     bool // we are
}

// messages is how many each flow has.
const messages = 30

func (s *station) flow(t *testing.T, c flowCase) {
	t.Helper()
	ctx := within(t, caseTime)
	cmd := fmt.Sprintf("%s -F -d rxe0 -x %d -n %d -u %d", c.tool, s.gids[guest4], messages,
		patientTimeout)
	if c.verb != "fetch_add" {
		cmd += fmt.Sprintf(" -s %d", c.bytes)
	}
	if !c.client {
		cmd += " " + ours4
	}
	var e nicd.Endpoint
	s.call(t, "/v1/open", nicd.OpenRequest{Bytes: 1 << 20}, &e)
	p, conn := s.meet(t, ctx, c.client, cmd)
	defer conn.Close()
	h := &handshake{conn: conn, client: c.client, mtu: s.pathMTU()}
	ours := keys{e.QPN, e.PSN, e.RKey, e.VA, e.IP}
	err := h.begin(ours, func(k keys) error {
		peer := nicd.Endpoint{QPN: k.qpn, PSN: k.psn, RKey: k.rkey, VA: k.va, IP: k.ip}
		if err := peer.MAC.UnmarshalText([]byte(guestMAC)); err != nil {
			return err
		}
		join := nicd.JoinRequest{QPN: e.QPN, Peer: peer}
		return s.control.Call(ctx, "POST", "/v1/join", join, nil)
	})
	if err == nil && c.client {
		s.call(t, "/v1/flow", nicd.FlowRequest{Name: t.Name(), QPN: e.QPN, Verb: c.verb,
			MessageBytes: c.bytes, SpanBytes: c.bytes, Depth: 16, Messages: messages}, nil)
		err = s.await(ctx, func() error { return s.sent(ctx, t.Name()) })
	}
	if err == nil {
		err = h.end(ours)
	}
	if err == nil {
		_, err = p.Wait(ctx)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Output())
	}
}

// sent is nil when the flow has sent all its messages.
func (s *station) sent(ctx context.Context, name string) error {
	var st nicd.Status
	if err := s.control.Call(ctx, "GET", "/v1/status", nil, &st); err != nil {
		return err
	}
	for _, f := range st.Flows {
		if f.Name == name && f.Messages == messages && f.Failed == 0 {
			return nil
		}
	}
	return fmt.Errorf("flows are not where they should be: %+v", st.Flows)
}
