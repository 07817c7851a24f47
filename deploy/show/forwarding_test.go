package show

import (
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd"
)

func TestMACTable(t *testing.T) {
	b := &MACs{Entries: []switchd.MACEntry{
		{MAC: wire.MAC{0x7c, 0xfe, 0x90, 0x80, 0x9f, 5}, Port: "Ethernet20", Type: "dynamic"},
		{MAC: wire.MAC{0x7c, 0xfe, 0x90, 0x80, 0x9f, 0x10}, Port: "Ethernet4", Type: "static"}}}
	want(t, b.Text(), `
  No.  Vlan    MacAddress         Port        Type
-----  ------  -----------------  ----------  -------
    1  vlan    7C:FE:90:80:9F:05  Ethernet20  Dynamic
    2  vlan    7C:FE:90:80:9F:10  Ethernet4   Static
Total number of entries 2
`)
}

// neighbour is an entry of the kind that is common.
func neighbour(address, port, on, mac string) switchd.ARPEntry {
	return switchd.ARPEntry{Address: netip.MustParseAddr(address), Port: port, Interface: on,
		MAC: mac, State: "reachable"}
}

func TestNeighbours(t *testing.T) {
	const mac = "88:5a:92:fb:bf:41"
	b := &Neighbours{Entries: []switchd.ARPEntry{
		neighbour("10.0.0.57", "swp1", "swp1", mac),
		neighbour("192.168.0.2", "swp2", "vlan", mac),
		neighbour("192.168.0.3", "", "vlan", mac), // incomplete: [RDMA at scale] section 4.2
		neighbour("192.168.0.4", "", "vlan", ""),  // being asked for
	}}
	want(t, b.Text(), `
Address      MacAddress         Iface    Vlan
-----------  -----------------  -------  ------
10.0.0.57    88:5a:92:fb:bf:41  swp1     -
192.168.0.2  88:5a:92:fb:bf:41  swp2     vlan
192.168.0.3  88:5a:92:fb:bf:41  -        vlan
Total number of entries 3 
`)
	b = &Neighbours{Entries: []switchd.ARPEntry{neighbour("fc00::72", "swp1", "swp1", mac)},
		ndp: true}
	want(t, b.Text(), `
Address    MacAddress         Iface    Vlan    Status
---------  -----------------  -------  ------  ---------
fc00::72   88:5a:92:fb:bf:41  swp1     -       REACHABLE
Total number of entries 1 
`)
}

// routes are of each kind.
func routes() *Routes {
	hop := func(address, on string, up bool) switchd.NextHop {
		return switchd.NextHop{Address: address, Interface: on, Up: up}
	}
	return &Routes{Routes: []switchd.RouteEntry{
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Type: "static", NextHops: []switchd.NextHop{
			hop("10.0.0.1", "swp1", true), hop("10.0.0.5", "swp2", false)}},
		{Prefix: netip.MustParsePrefix("10.0.0.0/31"), Type: "connected",
			NextHops: []switchd.NextHop{hop("", "swp1", true)}},
		{Prefix: netip.MustParsePrefix("10.0.0.0/32"), Type: "local"},
		{Prefix: netip.MustParsePrefix("10.0.1.255/32"), Type: "null"},
	}}
}

func TestRoutes(t *testing.T) {
	want(t, routes().Text(), `
Codes: C - connected, S - static, L - local,
       > - selected route, * - FIB route

S>*0.0.0.0/0 [1/0] via 10.0.0.1, swp1
                   via 10.0.0.5, swp2, inactive
C>*10.0.0.0/31 is directly connected, swp1
L>*10.0.0.0/32 is directly connected
`)
}

func TestRouteTo(t *testing.T) {
	for to, prefix := range map[string]string{"10.0.0.1": "10.0.0.0/31", "10.0.0.0": "10.0.0.0/32",
		"8.8.8.8": "0.0.0.0/0", "10.0.0.0/31": "10.0.0.0/31"} {
		b := routes()
		if err := b.choose(to); err != nil || len(b.Routes) != 1 ||
			b.Routes[0].Prefix.String() != prefix {
			t.Errorf("to %s: %v, %v, want %s", to, b.Routes, err, prefix)
		}
	}
	b := routes()
	if err := b.choose("10.0.0.0/9"); err != nil || len(b.Routes) != 0 {
		t.Errorf("%v %v", b.Routes, err)
	}
	if err := b.choose("nowhere"); err == nil {
		t.Error("an address that is none is taken")
	}
}
