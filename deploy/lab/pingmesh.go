package lab

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/nicd/app"
)

// hosts are the nodes that are.
func (t *Topology) hosts() (hosts []Node) {
	for _, n := range t.Nodes {
		if n.Kind == Host {
			hosts = append(hosts, n)
		}
	}
	return hosts
}

// mesh is the pingmesh of a host. Each begins with the host behind it and at a time of its own, so
// that no host is probed by all at once.
func (t *Topology) mesh(n Node) (c nicd.PingmeshConfig) {
	if t.Pingmesh.Interval == 0 {
		return c
	}
	c.Interval, c.Timeout = t.Pingmesh.Interval, t.Pingmesh.Timeout
	hosts := t.hosts()
	for i, h := range hosts {
		if h.Name != n.Name {
			continue
		}
		c.Phase = c.Interval / time.Duration(len(hosts)) * time.Duration(i) /
			time.Duration(len(hosts))
		for k := range len(hosts) - 1 {
			peer := hosts[(i+1+k)%len(hosts)]
			ip, mac := t.Address(peer.Name)
			c.Peers = append(c.Peers, nicd.PeerConfig{Name: peer.Name, IP: ip, MAC: wire.MAC(mac)})
		}
	}
	return c
}

func (t *Topology) validatePingmesh(fault func(string, string, ...any)) {
	p := &t.Pingmesh
	if p.Interval < 0 {
		fault("pingmesh.interval", "%v is negative", p.Interval)
	}
	if p.Timeout < 0 || p.Timeout > p.Interval {
		fault("pingmesh.timeout", "%v is not in 0..%v, which is the interval", p.Timeout,
			p.Interval)
	}
	if n := len(t.hosts()); p.Interval > 0 && n > app.MaxProbed {
		fault("pingmesh.interval", "%d hosts are more than %d", n, app.MaxProbed)
	}
}
