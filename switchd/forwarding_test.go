package switchd

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// still runs functions at a time that stands.
type still unit.Time

func (t still) Do(fn func(unit.Time)) error                     { fn(unit.Time(t)); return nil }
func (t still) Every(time.Duration, func(unit.Time) bool) error { return nil }

// called is a switch of a configuration and its control calls.
func called(t *testing.T, text string, at unit.Time) (post func(path string, req, resp any) error) {
	t.Helper()
	c, err := decode(t, text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Virtual()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	v.Handle(still(at), mux)
	local := daemon.Local{Name: "t1", Mux: mux}
	return func(path string, req, resp any) error {
		method := http.MethodPost
		if req == nil {
			method = http.MethodGet
		}
		return local.Call(t.Context(), method, path, req, resp)
	}
}

// fails wants an error with that text.
func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestMACCalls(t *testing.T) {
	call := called(t, torText, 0)
	b := wire.MAC{2, 5: 0xb}
	if err := call("/v1/mac", MACRequest{MAC: b, Port: "swp2"}, nil); err != nil {
		t.Fatal(err)
	}
	fails(t, call("/v1/mac", MACRequest{MAC: b, Port: "swp9"}, nil), `no port "swp9"`)
	fails(t, call("/v1/mac", MACRequest{MAC: b, Port: "swp3"}, nil), "does not bridge")
	fails(t, call("/v1/mac", MACRequest{MAC: wire.Broadcast, Port: "swp1"}, nil), "group address")
	var list []MACEntry
	if err := call("/v1/mac", nil, &list); err != nil || len(list) != 2 ||
		list[1] != (MACEntry{MAC: b, Port: "swp2", Type: "static"}) {
		t.Errorf("%+v %v", list, err)
	}
	if err := call("/v1/mac/delete", MACRequest{MAC: b}, nil); err != nil {
		t.Error(err)
	}
	fails(t, call("/v1/mac/delete", MACRequest{MAC: b}, nil), "no MAC address")
	for _, port := range []string{"", "swp1"} {
		if err := call("/v1/mac/flush", FlushRequest{Port: port}, nil); err != nil {
			t.Error(err)
		}
	}
	fails(t, call("/v1/mac/flush", FlushRequest{Port: "swp9"}, nil), "no port")
}

func TestARPCalls(t *testing.T) {
	call := called(t, torText, 7)
	near, far := netip.MustParseAddr("10.0.1.20"), netip.MustParseAddr("10.1.0.1")
	for addr, n := range map[netip.Addr]byte{near: 20, far: 21} {
		if err := call("/v1/arp", ARPRequest{addr, wire.MAC{2, 5: n}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	fails(t, call("/v1/arp", ARPRequest{Address: netip.MustParseAddr("10.9.9.9")}, nil),
		"in no interface's subnet")
	var list []ARPEntry
	if err := call("/v1/arp", nil, &list); err != nil || len(list) != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	// In order of interface: swp3, then vlan. The configured one's MAC address is on swp1; the
	// other's is on no port, and so it is incomplete in the paper's sense.
	if list[0].Address != far || list[0].Port != "swp3" || list[1].Port != "swp1" ||
		list[2].Address != near || list[2].Port != "" || list[2].MAC != "02:00:00:00:00:14" ||
		list[2].State != "permanent" || list[2].AgeNs != 0 {
		t.Errorf("%+v", list)
	}
	if err := call("/v1/arp/delete", ARPRequest{Address: near}, nil); err != nil {
		t.Error(err)
	}
	fails(t, call("/v1/arp/delete", ARPRequest{Address: near}, nil), "no neighbour")
}

func TestRouteCalls(t *testing.T) {
	call := called(t, torText, 0)
	r := RouteRequest{Prefix: netip.MustParsePrefix("192.0.2.0/24"),
		NextHops: []netip.Addr{netip.MustParseAddr("10.1.0.3")}}
	if err := call("/v1/route", r, nil); err != nil {
		t.Fatal(err)
	}
	var list []RouteEntry
	if err := call("/v1/route", nil, &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]RouteEntry{}
	for _, e := range list {
		found[e.Prefix.String()] = e
	}
	added, vlan := found["192.0.2.0/24"], found["10.0.1.0/24"]
	if added.Type != "static" || len(added.NextHops) != 1 ||
		added.NextHops[0] != (NextHop{"10.1.0.3", "swp4", true}) ||
		vlan.Type != "connected" || vlan.NextHops[0] != (NextHop{"", "vlan", true}) ||
		found["10.0.1.1/32"].Type != "local" || found["224.0.0.0/4"].Type != "null" ||
		len(found["0.0.0.0/0"].NextHops) != 2 {
		t.Errorf("%+v", list)
	}
	if err := call("/v1/route/delete", r, nil); err != nil {
		t.Error(err)
	}
	fails(t, call("/v1/route/delete", r, nil), "no such static route")
	r.NextHops = []netip.Addr{netip.MustParseAddr("10.9.9.9")}
	fails(t, call("/v1/route", r, nil), "in no interface's subnet")
}

// TestBridgeHasNoRouter: there is nothing to show, and the calls that change something say so.
func TestBridgeHasNoRouter(t *testing.T) {
	call := called(t, minimal, 0)
	var arp []ARPEntry
	var routes []RouteEntry
	err := errors.Join(call("/v1/arp", nil, &arp), call("/v1/route", nil, &routes))
	if err != nil || arp == nil || len(arp) != 0 || routes == nil || len(routes) != 0 {
		t.Errorf("neighbours %v, routes %v, %v", arp, routes, err)
	}
	fails(t, call("/v1/arp", ARPRequest{Address: netip.MustParseAddr("10.0.0.1")}, nil),
		"does not route")
	fails(t, call("/v1/route", RouteRequest{Prefix: netip.MustParsePrefix("10.0.0.0/8")}, nil),
		"does not route")
}
