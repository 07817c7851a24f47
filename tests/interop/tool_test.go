package interop

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// words puts into a command what differs between the ends: {own} and {peer} are the addresses of
// packets, {tcp} is the peer's for what goes ahead of them, {gid} the index of the own one in the
// guest, {mtu} the path MTU.
func (s *station) words(command, own, peer, tcp string) string {
	return strings.NewReplacer("{own}", own, "{peer}", peer, "{tcp}", tcp,
		"{gid}", strconv.Itoa(s.gids[own]), "{mtu}", strconv.Itoa(s.pathMTU())).Replace(command)
}

// guestTime ends a program of the guest somewhat before its case, so that it can tell how far it
// came.
const guestTime = "timeout 50 "

// commands are those of both ends; client says whether ours is the client.
func (s *station) commands(c tool, client bool) (ours, theirs string) {
	ours, theirs = c.ours+" --nic "+s.verbs+c.server, guestTime+c.theirs+c.client
	if client {
		ours, theirs = c.ours+" --nic "+s.verbs+c.client, guestTime+c.theirs+c.server
	}
	packets := cmp.Or(c.packets, four)
	return s.words(ours, packets.ours, packets.guest, guest4),
		s.words(theirs, packets.guest, packets.ours, ours4)
}

// tool runs the two ends until both have ended well.
func (s *station) tool(t *testing.T, c tool, client bool) {
	t.Helper()
	ctx := within(t, caseTime)
	ours, theirs := s.commands(c, client)
	if !client {
		p := s.ourTool(t, ours)
		if err := p.says(ctx, c.ready); err != nil {
			t.Fatal(err)
		}
		out, err := s.guest.Run(ctx, theirs)
		s.finished(t, ctx, p, c)
		if err != nil {
			t.Errorf("%s: %v\n%s", theirs, err, out)
		}
		return
	}
	there, err := s.guest.Start(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(there.Kill)
	if c.cm {
		s.listensCM(t, ctx)
	} else if err := s.guest.Listens(ctx, perftestPort); err != nil {
		t.Fatal(err)
	}
	s.finished(t, ctx, s.ourTool(t, ours), c)
	if _, err := there.Wait(ctx); err != nil {
		t.Errorf("%s: %v\n%s", theirs, err, there.Output())
	}
}

func (s *station) ourTool(t *testing.T, command string) *program {
	t.Helper()
	p, err := run(s.space, "rocelab", strings.Fields(command)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// finished waits for ours and looks at what it printed.
func (s *station) finished(t *testing.T, ctx context.Context, p *program, c tool) {
	t.Helper()
	out, err := p.wait(ctx)
	if err != nil || !strings.Contains(out, c.want) {
		t.Errorf("rocelab %s: %v\n%s", c.ours, err, out)
	}
}

// listensCM waits until somebody in the guest listens by the connection manager.
func (s *station) listensCM(t *testing.T, ctx context.Context) {
	t.Helper()
	if err := s.await(ctx, func() error {
		out, err := s.guest.Run(ctx, "rdma resource show cm_id")
		if err == nil && !strings.Contains(out, "LISTEN") {
			err = fmt.Errorf("nobody listens:\n%s", out)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
