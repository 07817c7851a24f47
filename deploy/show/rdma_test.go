package show

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
)

func rdmaExample(v RDMAView) *RDMA {
	ip := netip.MustParseAddr
	return &RDMA{Lab: "star", Command: "show rdma link", View: v, NICs: []nicd.Addresses{
		{Name: "h1", Port: "eth0", Up: true, GIDs: []nicd.GID{
			{Index: 0, GID: "fe80:0000:0000:0000:0000:00ff:fe00:0001", IP: ip("fe80::ff:fe00:1"),
				Type: "RoCE v2", Device: "eth0"},
			{Index: 3, GID: "0000:0000:0000:0000:0000:ffff:0a64:0001", IP: ip("10.100.0.1"),
				Type: "RoCE v2", VLAN: 100, Device: "eth0.100"}},
			Peers: []nicd.Peer{{Source: ip("10.0.0.1"), IP: ip("10.0.0.2"),
				MAC: wire.MAC{2, 0, 0, 0, 0, 2}}, {Source: ip("10.0.0.1"), IP: ip("10.0.0.3"),
				Lost: true}},
			QPs: []nicd.QP{{QPN: 17, RemoteQPN: 18, Type: "RC", State: "RTS"},
				{QPN: 19, Type: "UD", State: "RTS"}}},
		{Name: "h2", Port: "eth0"}}}
}

// The layouts are those of the tools that people and scripts know.
func TestRDMALayouts(t *testing.T) {
	for v, want := range map[RDMAView]string{
		RDMALinks: "link h1/1 state ACTIVE physical_state LINK_UP netdev eth0\n" +
			"link h2/1 state DOWN physical_state DISABLED netdev eth0\n",
		RDMAQPs: "link h1/1 lqpn 17 rqpn 18 type RC state RTS\n" +
			"link h1/1 lqpn 19 type UD state RTS\n",
		RDMAGIDs: "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4 \t\tVER\tDEV\n" +
			"---\t----\t-----\t---\t\t\t\t\t------------ \t---\t---\n" +
			"h1\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:0001\t\t\tv2\teth0\n" +
			"h1\t1\t3\t0000:0000:0000:0000:0000:ffff:0a64:0001\t10.100.0.1 \tv2\teth0.100\n" +
			"n_gids_found=2\n",
		RDMAPeers: "10.0.0.2 dev eth0 lladdr 02:00:00:00:00:02 from 10.0.0.1 REACHABLE\n" +
			"10.0.0.3 dev eth0 lladdr 00:00:00:00:00:00 from 10.0.0.1 FAILED\n",
	} {
		var b strings.Builder
		if err := rdmaExample(v).Text(&b); err != nil || b.String() != want {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
		}
	}
}

func TestRDMAJSON(t *testing.T) {
	var b strings.Builder
	if err := rdmaExample(RDMALinks).JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		SchemaVersion int `json:"schema_version"`
		NICs          []nicd.Addresses
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.SchemaVersion != SchemaVersion || len(got.NICs) != 2 || got.NICs[0].GIDs[1].VLAN != 100 {
		t.Errorf("%+v", got)
	}
}
