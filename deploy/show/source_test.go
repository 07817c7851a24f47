package show

import (
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd"
)

// standing is a driver whose clock shows what it is told.
type standing struct{ now *unit.Time }

func (s standing) Do(fn func(unit.Time)) error                     { fn(*s.now); return nil }
func (s standing) Every(time.Duration, func(unit.Time) bool) error { return nil }

// source is a switch in virtual time with its control calls, and its clock.
func source(t *testing.T, text string) (*Source, *unit.Time) {
	t.Helper()
	c := switchd.Default()
	if err := daemon.Decode("sw.yaml", []byte(text), &c); err != nil {
		t.Fatal(err)
	}
	v, err := c.Virtual()
	if err != nil {
		t.Fatal(err)
	}
	now, mux := new(unit.Time), http.NewServeMux()
	v.Handle(standing{now}, mux)
	return &Source{Name: "t1", Client: daemon.Local{Name: "t1", Mux: mux},
		Cache: t.TempDir()}, now
}

const router = `
name: t1
ports:
  - {name: swp1, rate: 40Gb/s}
  - {name: swp2, rate: 40Gb/s}
  - {name: swp10, rate: 40Gb/s}
interfaces: {swp1: 10.1.0.0/31, vlan: [10.0.1.1/24, "fc00::1/64"]}
static_routes: {10.0.0.0/8: [10.1.0.1]}
static_arp: {10.0.1.7: "02:00:00:00:00:07", "fc00::7": "02:00:00:00:00:07"}
static_macs: {"02:00:00:00:00:07": swp2}
`

func TestSourceOfARouter(t *testing.T) {
	s, _ := source(t, router)
	ctx := t.Context()
	blocks := map[string]func() (Block, error){
		"02:00:00:00:00:07  swp2  Static": func() (Block, error) {
			return s.MACs(ctx, &Filter{})
		},
		"10.0.1.7   02:00:00:00:00:07  swp2     vlan": func() (Block, error) {
			return s.Neighbours(ctx, false, netip.Addr{})
		},
		"fc00::7    02:00:00:00:00:07  swp2     vlan    PERMANENT": func() (Block, error) {
			return s.Neighbours(ctx, true, netip.Addr{})
		},
		"S>*10.0.0.0/8 [1/0] via 10.1.0.1, swp1": func() (Block, error) {
			return s.Routes(ctx, false, "10.77.0.1")
		},
		"C>*fc00::/64 is directly connected, vlan": func() (Block, error) {
			return s.Routes(ctx, true, "")
		},
	}
	for text, ask := range blocks {
		b, err := ask()
		if err != nil || !strings.Contains(squeeze(b.Text()), squeeze(text)) ||
			b.About().Switch != "t1" {
			t.Errorf("want %q: %v\n%v", text, err, b)
		}
	}
	if b, err := s.Neighbours(ctx, false, netip.MustParseAddr("10.0.1.8")); err != nil ||
		len(b.(*Neighbours).Entries) != 0 {
		t.Errorf("%v %v", b, err)
	}
	if b, err := s.MACs(ctx, &Filter{Ports: []string{"swp1"}}); err != nil ||
		len(b.(*MACs).Entries) != 0 {
		t.Errorf("%v %v", b, err)
	}
	if _, err := s.MACs(ctx, &Filter{Ports: []string{"swp3"}}); err == nil {
		t.Error("a port that is not there has MAC addresses")
	}
	if err := s.ClearNeighbours(ctx, false, netip.Addr{}); err != nil {
		t.Error(err)
	}
	if err := s.FlushMACs(ctx, ""); err != nil {
		t.Error(err)
	}
	if b, err := s.Neighbours(ctx, false, netip.Addr{}); err != nil ||
		len(b.(*Neighbours).Entries) != 1 {
		t.Errorf("static neighbours are cleared: %v %v", b, err)
	}
}

// squeeze makes one space of many: how wide columns are is for the tests of layouts.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// What was cleared is subtracted for as long as the switch lives, and by nobody else.
func TestClear(t *testing.T) {
	s, now := source(t, router)
	*now = 1000
	if err := s.Clear(t.Context(), PFCCounterSet); err != nil {
		t.Fatal(err)
	}
	st, at, err := s.Cleared(t.Context(), &Filter{}, PFCCounterSet)
	if err != nil || at == nil || st.VirtualNs != 1000 || st.Ports[2].Name != "swp10" {
		t.Fatalf("%v %v %+v", at, err, st)
	}
	if _, at, err := s.Cleared(t.Context(), &Filter{}, QueueCounterSet); err != nil || at != nil {
		t.Errorf("queue counters are cleared as well: %v %v", at, err)
	}
	other := *s
	other.Cache = t.TempDir()
	if _, at, err := other.Cleared(t.Context(), &Filter{}, PFCCounterSet); err != nil || at != nil {
		t.Errorf("another user's counters are cleared: %v %v", at, err)
	}
	if err := os.WriteFile(s.file(PFCCounterSet), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Cleared(t.Context(), &Filter{}, PFCCounterSet); err == nil {
		t.Error("half a file is taken for a baseline")
	}
}

func TestClearWatermarks(t *testing.T) {
	s, _ := source(t, router)
	for object, fails := range map[string]bool{"queue": false, "": false, "nothing": true} {
		err := s.ClearWatermarks(t.Context(), switchd.ClearWatermarksRequest{Kind: "user",
			Object: object})
		if (err != nil) != fails {
			t.Errorf("%q: %v", object, err)
		}
	}
}

func TestInterfacesWithoutRates(t *testing.T) {
	s, _ := source(t, router)
	b, err := s.Interfaces(t.Context(), &Filter{Ports: []string{"swp2"}}, 0)
	if err != nil || !strings.Contains(b.Text(), "swp2") || strings.Contains(b.Text(), "swp10") {
		t.Errorf("%v\n%v", err, b)
	}
}
