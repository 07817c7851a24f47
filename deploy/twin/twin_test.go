package twin

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
)

// line is two hosts on two switches.
func line() *lab.Topology {
	t := lab.Star("line", 1, 40*unit.GbPerSecond, time.Microsecond)
	t.Nodes = append(t.Nodes, lab.Node{Name: "sw1", Kind: lab.Switch},
		lab.Node{Name: "h2", Kind: lab.Host, IPv4: netip.MustParsePrefix("10.0.0.2/16")})
	for _, ends := range [][2]string{{"sw0:swp9", "sw1:swp1"}, {"sw1:swp2", "h2:eth0"}} {
		l := lab.Link{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}
		for i, text := range ends {
			node, device, _ := strings.Cut(text, ":")
			l.Endpoints[i] = lab.Endpoint{Node: node, Device: device}
		}
		t.Links = append(t.Links, l)
	}
	return &t
}

// calls makes control calls that must succeed.
func calls(t *testing.T, tw *Twin) func(node, method, path string, req, resp any) {
	return func(node, method, path string, req, resp any) {
		t.Helper()
		if err := tw.Client(node).Call(t.Context(), method, path, req, resp); err != nil {
			t.Fatal(err)
		}
	}
}

// TestControlCallsInVirtualTime: queue pairs are opened, joined and given a flow as on a lab, and
// the samples tell when the bytes arrived.
func TestControlCallsInVirtualTime(t *testing.T) {
	tw, err := New(line())
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
		Depth: 1, MessageBytes: message, Messages: 3}, nil)
	sample := daemon.SampleRequest{IntervalNs: 1000, Count: 60}
	call("h2", http.MethodPost, "/v1/sample", sample, nil)
	tw.Run(unit.Time(100 * time.Microsecond))
	var got daemon.Samples
	call("h2", http.MethodGet, "/v1/sample", nil, &got)
	placed := got.Values[len(got.Values)-1]
	if len(placed) != 60 || placed[0] != 0 || placed[59] != 3*message {
		t.Errorf("%v: %v", got.Columns, placed)
	}
	if err := tw.Net.Check(); err != nil {
		t.Error(err)
	}
	err = tw.Client("h1").Call(t.Context(), http.MethodPost, "/v1/join",
		nicd.JoinRequest{QPN: 0xbad}, nil)
	if err == nil || !strings.Contains(err.Error(), "h1: POST /v1/join: QP") {
		t.Errorf("an unknown QP: %v", err)
	}
	if err := tw.Client("h1").Call(t.Context(), http.MethodGet, "/v1/no", nil, nil); err == nil {
		t.Error("an unknown call is answered")
	}
}

// TestRefusesWhatADaemonRefuses: the configuration is judged as by a daemon.
func TestRefusesWhatADaemonRefuses(t *testing.T) {
	top := line()
	top.NIC.CC.Algorithm = "magic"
	if _, err := New(top); err == nil || !strings.Contains(err.Error(), "magic") {
		t.Errorf("an unknown algorithm: %v", err)
	}
}
