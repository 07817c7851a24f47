package twin

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
)

// lossy is how the bytes of a flow arrive over a link that loses one frame in ten, by the lab's
// seed.
func lossy(t *testing.T, seed uint64) string {
	t.Helper()
	top := line()
	top.Seed = seed
	fault, err := lab.ParseFault("sw0:swp9 loss 0.1 at 1ns")
	if err != nil {
		t.Fatal(err)
	}
	top.Faults = []lab.Fault{fault}
	tw, err := New(top)
	if err != nil {
		t.Fatal(err)
	}
	call := calls(t, tw)
	const message = 64 << 10
	var a, b nicd.Endpoint
	call("h1", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: message}, &a)
	call("h2", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: message}, &b)
	call("h1", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	call("h2", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
	call("h1", http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: "f", QPN: a.QPN, Verb: "write",
		Depth: 1, MessageBytes: message}, nil)
	call("h2", http.MethodPost, "/v1/sample", daemon.SampleRequest{IntervalNs: 1000, Count: 100},
		nil)
	tw.Run(unit.Time(100 * time.Microsecond))
	var got daemon.Samples
	call("h2", http.MethodGet, "/v1/sample", nil, &got)
	return fmt.Sprint(got.Values[len(got.Values)-1])
}

// TestFaultsFollowTheSeed: the same frames are lost by the same seed, others by another.
func TestFaultsFollowTheSeed(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(4) {
		once := lossy(t, seed)
		if lossy(t, seed) != once {
			t.Errorf("seed %d gives two runs", seed)
		}
		if other, twice := seen[once]; twice {
			t.Errorf("seeds %d and %d give the same run", other, seed)
		}
		seen[once] = seed
	}
}
