package lab

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// gateway returns the router by which a host reaches other subnets, and its MAC address: the one
// that the topology names, or else the switch that the host is on; false if there is none.
func (t *Topology) gateway(n Node) (netip.Addr, wire.MAC, bool) {
	if n.Gateway.IsValid() {
		mac, ok := t.station(n.Gateway)
		return n.Gateway, mac, ok
	}
	far := t.linksOf(n.Name)[0].Endpoints[1]
	sw := t.Node(far.Node)
	if sw.Kind != Switch {
		return netip.Addr{}, wire.MAC{}, false
	}
	c := t.SwitchConfig(sw)
	return c.Gateway(far.Device, n.IPv4.Addr())
}

// station finds the MAC address of whoever has an address: a host or a switch.
func (t *Topology) station(addr netip.Addr) (wire.MAC, bool) {
	for _, n := range t.Nodes {
		if n.Kind == Host && n.IPv4.Addr() == addr {
			_, mac := t.Address(n.Name)
			return wire.MAC(mac), true
		}
		if n.Kind != Switch {
			continue
		}
		c := t.SwitchConfig(n)
		for _, own := range c.Interfaces {
			for _, a := range own {
				if a.Addr() == addr {
					return c.RouterAddr(), true
				}
			}
		}
	}
	return wire.MAC{}, false
}

// Toward returns the MAC address that a host must send to, to reach another: that of the other in
// its own subnet, that of its gateway else.
func (t *Topology) Toward(from, to string) wire.MAC {
	src, dst := t.Node(from), t.Node(to)
	if !src.IPv4.Contains(dst.IPv4.Addr()) {
		if _, mac, ok := t.gateway(src); ok {
			return mac
		}
	}
	_, mac := t.Address(to)
	return wire.MAC(mac)
}

// validateNodes judges the settings of each switch, and the gateways of hosts. What is wrong with
// the settings for all switches is told at the first.
func (t *Topology) validateNodes() (faults []daemon.Fault) {
	told := make(map[daemon.Fault]bool)
	common := false // the settings of all NICs have been judged
	for i, n := range t.Nodes {
		path := fmt.Sprintf("nodes[%d]", i)
		add := func(at, format string, args ...any) {
			faults = append(faults, daemon.Fault{Path: path + at, Problem: fmt.Sprintf(format,
				args...)})
		}
		if n.Kind == Host {
			if !n.Switch.IsZero() {
				add(".switch", "%s is a host", n.Name)
			}
			if n.Gateway.IsValid() && !n.IPv4.Contains(n.Gateway) {
				add(".gateway", "%v is not in %v", n.Gateway, n.IPv4.Masked())
			}
			switch {
			case !n.NIC.IsZero():
				for _, problem := range t.judgeNIC(n) {
					add(".nic"+problem.Path, "%s", problem.Problem)
				}
			case !common: // one for all that have nothing of their own
				common = true
				for _, problem := range t.judgeNIC(n) {
					faults = append(faults, daemon.Fault{Path: "nic" + problem.Path,
						Problem: problem.Problem})
				}
			}
			continue
		}
		if !n.NIC.IsZero() {
			add(".nic", "%s is a switch", n.Name)
		}
		if n.Gateway.IsValid() || n.IPv4.IsValid() {
			add("", "%s is a switch: its addresses are in switch.interfaces", n.Name)
		}
		c, err := t.switchConfig(n)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				add(".switch", "%s", line)
			}
			continue
		}
		for _, f := range c.Validate() {
			if !told[f] {
				add(".switch."+f.Path, "%s", f.Problem)
			}
			told[f] = true
		}
	}
	if len(faults) > 0 {
		return faults
	}
	for i, n := range t.Nodes {
		if n.Gateway.IsValid() {
			if _, ok := t.station(n.Gateway); !ok {
				faults = append(faults, daemon.Fault{Path: fmt.Sprintf("nodes[%d].gateway", i),
					Problem: fmt.Sprintf("nobody has the address %v", n.Gateway)})
			}
		}
	}
	return faults
}
