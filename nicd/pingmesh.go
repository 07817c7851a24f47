package nicd

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
)

// PingmeshConfig has the host probe others: "RDMA over Commodity Ethernet at Scale" 5.3. All hosts
// of a mesh must have one, because it also answers. A lab fills in the peers.
type PingmeshConfig struct {
	Interval time.Duration `yaml:"interval"` // between two probes to one peer; 0: off
	Timeout  time.Duration `yaml:"timeout"`  // 0: the interval
	Phase    time.Duration `yaml:"phase,omitempty"`
	Peers    []PeerConfig  `yaml:"peers,omitempty"`
}

// PeerConfig is a host to be probed.
type PeerConfig struct {
	Name string     `yaml:"name"`
	IP   netip.Addr `yaml:"ip"`
	MAC  wire.MAC   `yaml:"mac"`
}

func (c *PingmeshConfig) validate() (faults []daemon.Fault) {
	unless := func(ok bool, path, format string, args ...any) {
		if !ok {
			faults = append(faults, daemon.Fault{Path: "pingmesh." + path,
				Problem: fmt.Sprintf(format, args...)})
		}
	}
	unless(c.Interval >= 0, "interval", "%v is negative", c.Interval)
	unless(c.Timeout >= 0 && c.Timeout <= c.Interval, "timeout",
		"%v is not in 0..%v, which is the interval", c.Timeout, c.Interval)
	unless(c.Phase >= 0, "phase", "%v is negative", c.Phase)
	unless(len(c.Peers) <= app.MaxProbed, "peers", "%d are more than %d", len(c.Peers),
		app.MaxProbed)
	known := map[netip.Addr]bool{}
	for i, p := range c.Peers {
		path := fmt.Sprintf("peers[%d].", i)
		unless(p.Name != "", path+"name", "is missing")
		unless(p.IP.IsValid() && !known[p.IP], path+"ip", "%v: want the address of one host", p.IP)
		unless(p.MAC != wire.MAC{} && !p.MAC.IsMulticast(), path+"mac",
			"%v: want the address of one station", p.MAC)
		known[p.IP] = true
	}
	return faults
}

// begin starts the pingmesh of a host, if there is one.
func (c *PingmeshConfig) begin(h *app.Host, g *Gateway) error {
	if c.Interval == 0 || len(c.Peers) == 0 {
		return nil
	}
	m := app.Pingmesh{Interval: c.Interval, Timeout: c.Timeout, Phase: c.Phase}
	if m.Timeout == 0 {
		m.Timeout = c.Interval
	}
	for _, p := range c.Peers {
		m.Peers = append(m.Peers, app.ProbedPeer{Name: p.Name,
			Path: nic.Path{IP: p.IP, MAC: g.toward(p.IP, p.MAC)}})
	}
	return h.Probe(0, m)
}

// PingmeshStatus is the answer to GET /v1/pingmesh.
type PingmeshStatus struct {
	VirtualNs     int64        `json:"virtual_ns"`
	RefusedProbes uint64       `json:"refused_probes"` // from hosts that are no peers
	Peers         []PeerStatus `json:"peers"`
	// RTTs counts the round trips to all peers together, from short to long. They only grow, so two
	// answers tell what was between them.
	RTTs []RTTCount `json:"rtts"`
}

// RTTCount is how many round trips took no longer than UpToNs, and longer than in the one before.
type RTTCount struct {
	UpToNs int64  `json:"up_to_ns"` // an eighth more than the shortest, at most
	Count  uint64 `json:"count"`
}

// PeerStatus is what came of the probes to one peer.
type PeerStatus struct {
	Peer   string            `json:"peer"`
	Last   string            `json:"last"`   // code of the latest probe that has ended
	Probes map[string]uint64 `json:"probes"` // by code
	RTT    RTTStatus         `json:"rtt"`
}

// RTTStatus is the round trip times of the probes that were answered; quantiles are off by an
// eighth at most, upwards.
type RTTStatus struct {
	MeanNs int64 `json:"mean_ns"`
	P50Ns  int64 `json:"p50_ns"`
	P90Ns  int64 `json:"p90_ns"`
	P99Ns  int64 `json:"p99_ns"`
	MaxNs  int64 `json:"max_ns"`
}

func (s *verbs) pingmesh(struct{}) (st PingmeshStatus, err error) {
	st.Peers, st.RTTs = []PeerStatus{}, []RTTCount{}
	var all app.Histogram
	err = s.do(func(now unit.Time) error {
		st.VirtualNs = int64(now)
		st.RefusedProbes = s.host.Probes(func(p *app.ProbeStats) {
			one := PeerStatus{Peer: p.Peer, Last: p.Last.String(), Probes: map[string]uint64{},
				RTT: RTTStatus{MeanNs: p.RTT.Mean().Nanoseconds(),
					P50Ns: p.RTT.Quantile(0.5).Nanoseconds(),
					P90Ns: p.RTT.Quantile(0.9).Nanoseconds(),
					P99Ns: p.RTT.Quantile(0.99).Nanoseconds(), MaxNs: p.RTT.Max.Nanoseconds()}}
			for code, n := range p.Ended {
				one.Probes[app.ProbeCode(code).String()] = n
			}
			st.Peers = append(st.Peers, one)
			all.Merge(&p.RTT)
		})
		all.Each(func(upTo time.Duration, n uint64) {
			st.RTTs = append(st.RTTs, RTTCount{upTo.Nanoseconds(), n})
		})
		return nil
	})
	return st, err
}
