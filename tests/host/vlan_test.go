package host

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/nicd"
)

// Two NICs on VLAN 100 talk to each other in tagged frames; one whose address is on no VLAN hears
// nothing of it.
func TestVLANOnTheWire(t *testing.T) {
	a, b := pair(t, func(c *nicd.Config) {
		c.IPv4 = netip.MustParseAddr("10.100.0." + c.Name[1:])
		c.VLAN = 100
	})
	f := &flow{from: a, to: b, a: a.open(""), b: b.open("")}
	a.call("POST", "/v1/join", nicd.JoinRequest{QPN: f.a.QPN, Peer: f.b}, nil)
	b.call("POST", "/v1/join", nicd.JoinRequest{QPN: f.b.QPN, Peer: f.a}, nil)
	f.start()
	f.goesOn(50)
	if g := a.addresses().GIDs; len(g) != 1 || g[0].VLAN != 100 {
		t.Errorf("%+v", g)
	}
	if l := b.status().Ledger; l.Dropped["not_for_us"].Frames != 0 {
		t.Errorf("%+v", l.Dropped)
	}
}

func TestOtherVLANIsAnotherNetwork(t *testing.T) {
	a, b := pair(t, func(c *nicd.Config) {
		c.IPv4 = netip.MustParseAddr("10.100.0." + c.Name[1:])
		if c.Name == "h1" {
			c.VLAN = 100
		}
	})
	f := &flow{from: a, to: b, a: a.open(""), b: b.open("")}
	a.call("POST", "/v1/join", nicd.JoinRequest{QPN: f.a.QPN, Peer: f.b}, nil)
	b.call("POST", "/v1/join", nicd.JoinRequest{QPN: f.b.QPN, Peer: f.a}, nil)
	f.start()
	b.await("tagged frames are dropped", func() error {
		if l := b.status().Ledger; l.Dropped["not_for_us"].Frames == 0 {
			return fmt.Errorf("%+v", l.Dropped)
		}
		return nil
	})
	if s := f.status(); s.Messages != 0 {
		t.Errorf("%d messages went through", s.Messages)
	}
}
