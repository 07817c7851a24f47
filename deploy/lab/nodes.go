package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// Default is the topology that a file is read over.
func Default() Topology { return Star("", 0, 0, 0) }

// Address returns the IP and MAC address of a host.
func (t *Topology) Address(host string) (netip.Addr, net.HardwareAddr) {
	for i, link := range t.Links {
		for end, e := range link.Endpoints {
			if e.Node == host {
				return t.Nodes[t.index(host)].IPv4.Addr(), hardwareAddr(i, end)
			}
		}
	}
	return netip.Addr{}, nil
}

// Node returns the node of a name, which there must be.
func (t *Topology) Node(name string) Node { return t.Nodes[t.index(name)] }

// index is the place of a node that there is.
func (t *Topology) index(name string) int {
	return slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == name })
}

// common is the part of the configuration that the lab decides for every daemon.
func (l *Lab) common(node string) daemon.Common {
	metrics := ""
	if base := l.Topology.MetricsPort; base != 0 {
		metrics = fmt.Sprintf("127.0.0.1:%d", base+l.slots[node])
	}
	return daemon.Common{
		Name:    node,
		Metrics: metrics,
		Netns:   l.Topology.netns(node),
		Control: filepath.Join(l.Dir, node+".sock"),
		Clock: daemon.ClockConfig{Page: filepath.Join(l.Dir, "clock"), Slot: l.slots[node],
			Slots: len(l.Topology.Nodes), Links: 2 * len(l.Topology.Links)},
	}
}

// SwitchConfig is the configuration of a switch of a valid lab, but for what concerns the daemon.
func (t *Topology) SwitchConfig(n Node) switchd.Config {
	c, _ := t.switchConfig(n) // It has been judged.
	return c
}

// switchConfig puts a switch's own settings over those of all.
func (t *Topology) switchConfig(n Node) (c switchd.Config, err error) {
	c = t.Switch
	if !n.Switch.IsZero() {
		if c, err = t.Switch.Clone(); err != nil {
			return c, err
		}
	}
	t.seedSwitch(n.Name, &c)
	if !n.Switch.IsZero() {
		if err = daemon.Merge("switch", &n.Switch, &c); err != nil {
			return c, err
		}
	}
	if c.ConfigDB != t.Switch.ConfigDB { // a file of its own
		for _, f := range c.Resolve(t.source.Part(&n.Switch)) {
			return c, fmt.Errorf("%s: %s", f.Path, f.Problem)
		}
	}
	c.Name, c.Ports = n.Name, t.ports(n.Name)
	return c, nil
}

// NICConfig is the configuration of a host's NIC in a valid lab, but for what concerns the daemon.
func (t *Topology) NICConfig(n Node) nicd.Config {
	c, _ := t.nicConfig(n) // It has been judged.
	return c
}

// nicConfig puts a host's own settings over those of all.
func (t *Topology) nicConfig(n Node) (c nicd.Config, err error) {
	c = t.NIC
	if !n.NIC.IsZero() {
		if c, err = t.NIC.Clone(); err != nil {
			return c, err
		}
		if err = c.Merge("nic", &n.NIC); err != nil {
			return c, err
		}
	}
	_, mac := t.Address(n.Name)
	c.Name, c.Port, c.MAC, c.IPv4 = n.Name, t.ports(n.Name)[0], wire.MAC(mac), n.IPv4.Addr()
	c.Seed, c.Pingmesh = t.seedOf(n.Name, uint64(t.index(n.Name))+1), t.mesh(n)
	if _, mac, ok := t.gateway(n); ok {
		c.Gateway = &nicd.Gateway{Subnet: n.IPv4.Masked(), MAC: mac}
	}
	return c, nil
}

// judgeNIC judges the settings of a host's NIC.
func (t *Topology) judgeNIC(n Node) (faults []daemon.Fault) {
	c, err := t.nicConfig(n)
	if err != nil {
		return []daemon.Fault{{Problem: err.Error()}}
	}
	for _, f := range c.Validate() {
		faults = append(faults, daemon.Fault{Path: "." + f.Path, Problem: f.Problem})
	}
	return faults
}

// ports are a node's ends of its links. Direction 2i of link i is from its first endpoint.
func (t *Topology) ports(node string) (ports []daemon.PortConfig) {
	for i, link := range t.Links {
		for end, e := range link.Endpoints {
			if e.Node != node {
				continue
			}
			tx, rx := 2*i+end, 2*i+1-end
			port := daemon.PortConfig{Name: e.Device, Rate: link.Rate, Delay: link.Delay,
				MTU: t.LinkMTU(&link), TxLink: &tx, RxLink: &rx, FarEnd: loop.Switch,
				Seed: t.seedOf(e.String(), 0)}
			if far := t.Node(link.Endpoints[1-end].Node); far.Kind == Host {
				ip := far.IPv4.Addr()
				port.FarEnd, port.FarIPv4 = loop.NIC, &ip
			}
			ports = append(ports, port)
		}
	}
	return ports
}

// startNode writes the daemon's configuration and starts it.
func (l *Lab) startNode(n Node) error {
	var cfg any
	kind := "switchd"
	if n.Kind == Switch {
		c := l.Topology.SwitchConfig(n)
		c.Common = l.common(n.Name)
		cfg = c
	} else {
		c := l.Topology.NICConfig(n)
		c.Common = l.common(n.Name)
		cfg, kind = c, "nicd"
	}
	text, err := yaml.Marshal(cfg)
	if err != nil {
		return fmt.Errorf("configuration of %s: %w", n.Name, err)
	}
	file := filepath.Join(l.Dir, n.Name+".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	p, err := l.launch(n.Name, kind, file)
	if err != nil {
		return err
	}
	l.clients[n.Name] = daemon.NewClient(filepath.Join(l.Dir, n.Name+".sock"))
	go func() {
		<-p.done
		select {
		case l.failed <- p.failure():
		default: // an earlier one is told already
		}
	}()
	return nil
}

// readyWithin bounds the start of a daemon: loading programs and locking packet memory.
const readyWithin = 20 * time.Second

// waitReady waits until the node's control socket answers.
func (l *Lab) waitReady(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var st daemon.Status
		err := l.clients[node].Call(ctx, http.MethodGet, "/v1/status", nil, &st)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf(
				"%s does not answer: %w; its last words:\n%s",
				node,
				err,
				lastLines(l.Logs(node), 6),
			)
		case failure := <-l.failed:
			return failure
		case <-tick.C:
		}
	}
}
