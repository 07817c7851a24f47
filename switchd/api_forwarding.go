package switchd

import (
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// The control calls of the MAC table, of neighbours and of routes. What they change is not in the
// configuration and gone with the daemon.
//
//	GET  /v1/mac                             -> []MACEntry, by address
//	POST /v1/mac           MACRequest           a static entry
//	POST /v1/mac/delete    MACRequest           port is not looked at
//	POST /v1/mac/flush     FlushRequest         what was learnt
//	GET  /v1/arp                             -> []ARPEntry, ND's too, by interface and address
//	POST /v1/arp           ARPRequest           a static entry
//	POST /v1/arp/delete    ARPRequest           mac is not looked at
//	GET  /v1/route                           -> []RouteEntry, by prefix
//	POST /v1/route         RouteRequest         adds it, or gives it other next hops
//	POST /v1/route/delete  RouteRequest         next_hops are not looked at

// MACEntry is an entry of the MAC table.
type MACEntry struct {
	MAC  wire.MAC `json:"mac"`
	Port string   `json:"port"`
	Type string   `json:"type"` // dynamic or static
	// AgeNs is the time since the address was seen; 0 if static.
	AgeNs int64 `json:"age_ns"`
}

// MACRequest names an address, and the port of a static entry.
type MACRequest struct {
	MAC  wire.MAC `json:"mac"`
	Port string   `json:"port"`
}

// FlushRequest says whose addresses are forgotten: a port's, or without one all.
type FlushRequest struct {
	Port string `json:"port"`
}

// ARPEntry is a neighbour.
type ARPEntry struct {
	Address   netip.Addr `json:"address"`
	Interface string     `json:"interface"`
	MAC       string     `json:"mac"`   // empty while it is asked for
	State     string     `json:"state"` // incomplete, reachable, probe, permanent
	// Port is where the MAC address is. Empty although the MAC address is known: the entry is
	// incomplete in the sense of [RDMA at scale] section 4.2.
	Port    string `json:"port"`
	AgeNs   int64  `json:"age_ns"`  // since it was confirmed; 0 if permanent
	Waiting int    `json:"waiting"` // packets
}

// ARPRequest names an address of a connected subnet, and the MAC address of a static entry.
type ARPRequest struct {
	Address netip.Addr `json:"address"`
	MAC     wire.MAC   `json:"mac"`
}

// RouteEntry is a route.
type RouteEntry struct {
	Prefix   netip.Prefix `json:"prefix"`
	Type     string       `json:"type"` // static, connected, local, or null: leads nowhere
	NextHops []NextHop    `json:"next_hops"`
}

// NextHop is a neighbour that a route leads to, or only the interface of a connected one.
type NextHop struct {
	Address   string `json:"address"`
	Interface string `json:"interface"`
	Up        bool   `json:"up"`
}

// RouteRequest is a static route.
type RouteRequest struct {
	Prefix   netip.Prefix `json:"prefix"`
	NextHops []netip.Addr `json:"next_hops"`
}
