package interop

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/nicd/rdma"
)

// nicCounters are those of our NIC.
func (s *station) nicCounters(t testing.TB) map[string]uint64 {
	t.Helper()
	var st nicd.Status
	ctx := within(t, stepTime)
	if err := s.control.Call(ctx, "GET", "/v1/status", nil, &st); err != nil {
		t.Fatal(err)
	}
	return st.Counters
}

// The guest has two receives for 200 messages that we send as fast as we can: rxe refuses most with
// an RNR NAK, and a sequence error for the same packet behind. All arrive: the guest's program
// counts them. The two NAKs can be so far apart that the 0.64 ms of the first are over. Then the
// second looks as if the repeated packet was lost, we go back once more, and rxe counts duplicates.
func TestReceiverNotReady(t *testing.T) {
	s := at(t, 1500)
	for _, options := range []string{"", " --use-srq"} {
		t.Run("ib_send_bw -r 2"+options, func(t *testing.T) {
			c := perftest("send_bw", "-n 200 -s 64"+patient, false)
			c.theirs += " -r 2" + options
			before, ours := s.counters(t), s.nicCounters(t)
			s.judge(t, c.allow)
			s.tool(t, c, true)
			after, now := s.counters(t), s.nicCounters(t)
			sent := after["send_rnr_err"] - before["send_rnr_err"]
			took := int(now["rnr_nak_retry_err"] - ours["rnr_nak_retry_err"])
			if sent == 0 || took != sent {
				t.Errorf("rxe sent %d RNR NAKs, we took %d", sent, took)
			}
			t.Logf("%d RNR NAKs", sent)
		})
	}
}

// Our receive queue, or the one shared by all our queue pairs, runs dry, again and again. rxe waits
// as long as we tell it, and every message arrives once and in its order.
func TestReceiveQueueDry(t *testing.T) {
	s := at(t, 1500)
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%v", shared), func(t *testing.T) {
			s.judge(t, tolerance{dryHere: true})
			s.starve(t, shared)
		})
	}
}

// helpings is how many receives are posted at a time; each time all have been used before.
var helpings = []int{1, 2, 8, rounds - 11}

func (s *station) starve(t *testing.T, shared bool) {
	t.Helper()
	ctx := within(t, caseTime)
	x := exchange{tool: "ib_send_bw", bytes: 10_001, op: rdma.Send, shared: shared}
	p := s.newPeer(t, ctx, x)
	post := p.qp.PostReceive
	if shared {
		post = p.srq.PostReceive
	}
	tool, conn := s.meet(t, ctx, false, p.command(false, s.gids[guest4], false))
	defer conn.Close()
	h := &handshake{conn: conn, mtu: s.pathMTU(), send: true}
	ours := keys{p.qp.QPN(), p.qp.PSN(), p.mem.Key, p.mem.VA, netip.MustParseAddr(ours4)}
	err := h.begin(ours, p.join)
	n := 0
	for _, helping := range helpings {
		if err == nil {
			err = s.starves(ctx, t)
		}
		if err == nil {
			err = p.help(post, n, n+helping)
		}
		if err == nil {
			err = p.take(n, n+helping)
		}
		n += helping
	}
	if err == nil {
		err = h.end(ours)
	}
	if err == nil {
		_, err = tool.Wait(ctx)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, tool.Output())
	}
	if err := p.allAreTheirs(s.guestFile(t)); err != nil {
		t.Error(err)
	}
}

// starves is nil when rxe has met another RNR NAK of ours.
func (s *station) starves(ctx context.Context, t *testing.T) error {
	before := s.counters(t)["rcvd_rnr_err"]
	return s.await(ctx, func() error {
		if now := s.counters(t)["rcvd_rnr_err"]; now == before {
			return fmt.Errorf("rxe has received %d RNR NAKs, and no other", now)
		}
		return nil
	})
}
