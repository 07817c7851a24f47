package twin_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/twin"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// clos is the shipped Clos in virtual time.
type clos struct {
	*twin.Twin
	t *testing.T
}

func newClos(t *testing.T) clos {
	t.Helper()
	top := lab.Default()
	if err := daemon.Load("../topologies/clos.yaml", &top); err != nil {
		t.Fatal(err)
	}
	tw, err := twin.New(&top)
	if err != nil {
		t.Fatal(err)
	}
	return clos{tw, t}
}

func (c clos) call(method, node, path string, req, resp any) {
	c.t.Helper()
	if err := c.Client(node).Call(c.t.Context(), method, path, req, resp); err != nil {
		c.t.Fatal(err)
	}
}

// write connects two hosts and lets one write messages into the other; it returns the receiver's
// queue pair.
func (c clos) write(name, from, to string, messages uint64) (sink nicd.Endpoint) {
	c.t.Helper()
	var a nicd.Endpoint
	open := nicd.OpenRequest{Bytes: 64 << 10}
	c.call(http.MethodPost, from, "/v1/open", open, &a)
	c.call(http.MethodPost, to, "/v1/open", open, &sink)
	c.call(http.MethodPost, from, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: sink}, nil)
	c.call(http.MethodPost, to, "/v1/join", nicd.JoinRequest{QPN: sink.QPN, Peer: a}, nil)
	c.call(http.MethodPost, from, "/v1/flow", nicd.FlowRequest{Name: name, QPN: a.QPN,
		Verb: "write", MessageBytes: 64 << 10, Depth: 1, Messages: messages}, nil)
	return sink
}

// sampled is the value of a column in the only sample of a node.
func (c clos) sampled(node, column string) float64 {
	c.t.Helper()
	var s daemon.Samples
	c.call(http.MethodGet, node, "/v1/sample", nil, &s)
	values, ok := s.Column(column)
	if !ok || len(values) != 1 {
		c.t.Fatalf("%s: no sample of %s: %+v", node, column, s)
	}
	return values[0]
}

// TestWriteAcrossTheClos: RDMA WRITEs from a host of one pod to one of the other cross five
// switches, of which each rewrites MAC addresses and TTL, and arrive whole: the invariant CRC does
// not cover what routers change (IBTA vol 1 A17.3.3). Sixteen flows take both ways up (ECMP by the
// UDP source port).
func TestWriteAcrossTheClos(t *testing.T) {
	c := newClos(t)
	const flows, messages = 16, 4
	var sinks []nicd.Endpoint
	for i := range flows {
		sinks = append(sinks, c.write(fmt.Sprint("flow", i), "h11", "h21", messages))
	}
	const end = 20 * time.Millisecond
	once := daemon.SampleRequest{IntervalNs: end.Nanoseconds(), Count: 1}
	c.call(http.MethodPost, "t1", "/v1/sample",
		switchd.SampleRequest{Port: "swp3", Queue: 3, SampleRequest: once}, nil)
	c.call(http.MethodPost, "h21", "/v1/sample", once, nil)
	c.Run(unit.Time(end))
	var placed float64
	for _, s := range sinks {
		placed += c.sampled("h21", fmt.Sprint(nicd.ColumnPlaced, uint32(s.QPN)))
	}
	if want := float64(flows * messages * 64 << 10); placed != want {
		t.Errorf("%.0f bytes were placed, want %.0f", placed, want)
	}
	line := c.sampled("t1", switchd.ColumnSentLineBytes)
	if share := line / placed; share < 0.2 || share > 0.9 {
		t.Errorf("one of two uplinks took %.2f of the payload", share)
	}
}

// TestAHostIsAskedFor: a ToR that has forgotten a host asks for it, and the host's NIC answers, as
// there is no kernel to do so.
func TestAHostIsAskedFor(t *testing.T) {
	c := newClos(t)
	h21 := netip.MustParseAddr("10.0.2.11")
	forget := switchd.ARPRequest{Address: h21}
	c.call(http.MethodPost, "t2", "/v1/arp/delete", forget, nil)
	c.write("flow", "h11", "h21", 1)
	c.Run(unit.Time(10 * time.Millisecond))
	var list []switchd.ARPEntry
	c.call(http.MethodGet, "t2", "/v1/arp", nil, &list)
	if !slices.ContainsFunc(list, func(e switchd.ARPEntry) bool {
		return e.Address == h21 && e.State == "reachable" && e.Port == "swp1"
	}) {
		t.Errorf("%+v", list)
	}
}

// TestNeighboursOfTheClos: after traffic the ToR knows its hosts from their announcements and its
// leaves from asking, and where each of them is.
func TestNeighboursOfTheClos(t *testing.T) {
	c := newClos(t)
	for i := range 8 {
		c.write(fmt.Sprint("flow", i), "h12", "h22", 1)
	}
	c.Run(unit.Time(10 * time.Millisecond))
	var list []switchd.ARPEntry
	c.call(http.MethodGet, "t1", "/v1/arp", nil, &list)
	ports := map[string]string{}
	for _, e := range list {
		if e.State != "reachable" {
			t.Errorf("%+v", e)
		}
		ports[e.Address.String()] = e.Port
	}
	for addr, port := range map[string]string{"10.0.1.11": "swp1", "10.0.1.12": "swp2",
		"10.1.1.1": "swp3", "10.1.1.3": "swp4"} {
		if ports[addr] != port {
			t.Errorf("%s is on %q, want %s", addr, ports[addr], port)
		}
	}
}
