package interop

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
)

// Frames are lost in both directions, of requests, acknowledgements and answers alike; the tools
// see nothing of it. Long packets over IPv6. Loss is by chance, of which a thousand frames have
// enough: with every n-th frame, a window of as many requests loses the same one for ever.
func TestToolsOverLoss(t *testing.T) {
	s := at(t, 4500)
	id := s.hurt(t, hurt{"loss 0.04", "loss 4%"})
	before, ours := s.counters(t), s.nicCounters(t)
	s.tools(t, lossy(jumbo(impatient)))
	if qdisc := s.sh(t, "tc -s qdisc show dev eth0"); strings.Contains(qdisc, "dropped 0,") {
		t.Errorf("the guest lost nothing:\n%s", qdisc)
	}
	var list daemon.FaultList
	if err := s.control.Call(t.Context(), "GET", "/v1/fault", nil, &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Faults {
		if f.ID == id && f.Hits == 0 {
			t.Error("we lost nothing")
		}
	}
	after, now := s.counters(t), s.nicCounters(t)
	for _, name := range []string{"completer_retry_err", "out_of_seq_request", "rcvd_seq_err"} {
		if after[name] == before[name] {
			t.Errorf("rxe met no loss: its %s stayed %d", name, after[name])
		}
	}
	for _, name := range []string{"packet_seq_err", "local_ack_timeout_err", "out_of_sequence"} {
		if now[name] == ours[name] {
			t.Errorf("we met no loss: our %s stayed %d", name, now[name])
		}
	}
}

// lossy excuses what loss brings about.
func lossy(all []tool) []tool {
	for i := range all {
		all[i].allow.loss = true
	}
	return all
}
