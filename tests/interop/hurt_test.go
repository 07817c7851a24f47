package interop

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/fault"
)

// hurt is what is done to the frames of each side where they leave.
type hurt struct {
	ours  string // a fault of nicd's port, in the text form of package fault
	guest string // parameters of the guest's qdisc netem
}

// hurt lets things go wrong on the way until the test ends. It returns the number of our fault.
func (s *station) hurt(t *testing.T, h hurt) int {
	t.Helper()
	var added daemon.FaultAdded
	if h.ours != "" {
		spec, err := fault.Parse(h.ours)
		if err != nil {
			t.Fatal(err)
		}
		s.call(t, "/v1/fault", daemon.FaultRequest{Port: "eth0", Fault: spec}, &added)
		t.Cleanup(func() {
			s.call(t, "/v1/fault/clear", daemon.FaultClear(added), nil)
		})
	}
	if h.guest != "" {
		// The guest's rxe gives an unknown neighbour one second to answer, and asks once
		// (rdma_addr_find_l2_eth_by_grh in drivers/infiniband/core/addr.c). That may be lost too.
		s.sh(t, fmt.Sprintf("for ip in %s %s; do "+
			"ip neigh replace $ip lladdr %s dev eth0 nud permanent || exit; done", ours4, ours6,
			ourMAC))
		// netem's own limit is 1000 packets. Where all answers to READs are asked for again and
		// again, a slow guest has more, and its rxe takes the loss in its own qdisc for a receive
		// queue that is dry.
		s.sh(t, "tc qdisc add dev eth0 root netem limit 100000 "+h.guest)
		t.Cleanup(func() { s.sh(t, "tc qdisc del dev eth0 root") })
	}
	return added.ID
}

// sh runs a short command in the guest.
func (s *station) sh(t testing.TB, command string) string {
	t.Helper()
	out, err := s.guest.Run(within(t, stepTime), command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
