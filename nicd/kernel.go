package nicd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/host"
	"github.com/rocelab/rocelab/nicd/nic"
)

// kernel brings to the machine what the kernel says of the port's device. What the configuration
// gives, it leaves alone.
type kernel struct {
	c      *Config
	log    *slog.Logger
	nic    *nic.NIC
	run    daemon.Executor
	record func(daemon.Event)
	ready  chan struct{} // closed when the three above are there
	done   chan struct{} // closed when the daemon ends

	mu   sync.Mutex
	host *host.Host // nil: nothing needed it yet

	first bool       // the state has been told once, to whoever began to follow
	state host.State // then
}

func newKernel(c *Config, log *slog.Logger) *kernel {
	return &kernel{c: c, log: log, ready: make(chan struct{}), done: make(chan struct{})}
}

// followsAddresses reports whether the NIC's addresses are the kernel's.
func (c *Config) followsAddresses() bool { return !c.IPv4.IsValid() && !c.IPv6.IsValid() }

// follows reports whether anything is the kernel's.
func (c *Config) follows() bool {
	return c.MAC == wire.MAC{} || c.followsAddresses() || c.MTU == 0
}

// begin completes the machine's configuration, if it needs the kernel for that.
func (k *kernel) begin(machine *nic.Config) error {
	if !k.c.follows() {
		return nil
	}
	if _, err := k.open(); err != nil {
		return err
	}
	if k.c.MAC == (wire.MAC{}) {
		machine.MAC = k.state.MAC
	}
	machine.KernelPaths = k.c.followsAddresses()
	if most := k.state.PathMTU(); k.c.MTU == 0 && most == 0 {
		return fmt.Errorf("port %s: MTU %d is too small for RDMA: want at least %d",
			k.state.Name, k.state.MTU, host.DeviceMTU(256))
	} else if k.c.MTU == 0 {
		machine.QP.MTU = most
	}
	return nil
}

// attach gives the machine its addresses and lets changes through from now on.
func (k *kernel) attach(n *nic.NIC, run daemon.Executor, record func(daemon.Event)) {
	k.nic, k.run, k.record = n, run, record
	if k.host != nil && k.c.followsAddresses() {
		n.SetAddresses(0, addressesOf(&k.state))
	}
	close(k.ready)
}

// close ends the following.
func (k *kernel) close() {
	close(k.done)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.host != nil {
		k.host.Close()
	}
}

// open follows the device from now on, if it does not already.
func (k *kernel) open() (h *host.Host, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.host != nil {
		return k.host, nil
	}
	k.host, err = host.Follow(host.Options{Netns: k.c.Netns, Device: k.c.Port.Name, Log: k.log,
		Changed: k.changed, Peers: k.peers, Moved: k.moved, Lost: k.lost})
	switch {
	case errors.Is(err, host.ErrNoDevice) && k.c.Netns != "":
		return nil, fmt.Errorf("port %w in network namespace %s", err, k.c.Netns)
	case err != nil:
		return nil, fmt.Errorf("port %w", err)
	}
	return k.host, nil
}

// Resolve is how the kernel would send to dst, from source or the address it prefers.
func (k *kernel) Resolve(ctx context.Context, dst, source netip.Addr) (host.Path, error) {
	h, err := k.open()
	if err != nil {
		return host.Path{}, err
	}
	return h.Resolve(ctx, dst, source)
}

// used tells that there are new peers.
func (k *kernel) used() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.host != nil {
		k.host.Used()
	}
}

// do runs fn on the loop's thread, once there is one.
func (k *kernel) do(fn func(now unit.Time)) {
	select {
	case <-k.ready:
	case <-k.done:
		return
	}
	if err := k.run.Do(fn); err != nil && !errors.Is(err, loop.ErrStopped) {
		k.log.Warn("a change of the kernel's is not in force", "reason", err)
	}
}

func (k *kernel) tell(now unit.Time, kind, detail string) {
	k.record(daemon.Event{AtNs: int64(now), Source: "host", Port: k.c.Port.Name, Kind: kind,
		Detail: detail})
}

func (k *kernel) changed(s host.State) {
	if !k.first {
		k.first, k.state = true, s
		return
	}
	k.do(func(now unit.Time) {
		if k.c.MAC == (wire.MAC{}) && s.MAC != k.nic.Config().MAC {
			k.nic.SetMAC(now, s.MAC)
			k.tell(now, "mac_change", s.MAC.String())
		}
		if s.Index != 0 && s.MTU < k.nic.Config().QP.MTU+headers {
			k.log.Warn("the device's MTU is too small for the path MTU", "device", s.Name,
				"mtu", s.MTU, "path_mtu", k.nic.Config().QP.MTU)
		}
		if !k.c.followsAddresses() {
			return
		}
		before := fmt.Sprint(k.nic.GIDs())
		k.nic.SetAddresses(now, addressesOf(&s))
		if fmt.Sprint(k.nic.GIDs()) != before { // IBV_EVENT_GID_CHANGE
			k.tell(now, "gid_change", fmt.Sprintf("%d addresses", len(s.Addresses)))
		}
	})
}

func addressesOf(s *host.State) (all []nic.Address) {
	for _, a := range s.Addresses {
		all = append(all, nic.Address{IP: a.IP, VLAN: a.VLAN, Device: a.Device})
	}
	return all
}

func (k *kernel) peers() (all []host.Peer) {
	k.do(func(unit.Time) {
		for _, p := range k.nic.Peers() {
			all = append(all, host.Peer(p))
		}
	})
	return all
}

func (k *kernel) moved(p host.Peer, to host.Path) {
	k.do(func(now unit.Time) {
		k.nic.Moved(now, p.Source, p.IP, to.MAC)
		k.tell(now, "path_moved", fmt.Sprintf("%v by %v at %v", p.IP, to.Hop, to.MAC))
	})
}

func (k *kernel) lost(p host.Peer, why error) {
	reason := frame.DropNoRoute
	if errors.Is(why, host.ErrUnreachable) {
		reason = frame.DropNoNeighbour
	}
	k.do(func(now unit.Time) {
		k.nic.PathDown(now, p.Source, p.IP, reason)
		k.tell(now, "path_lost", fmt.Sprintf("%v: %v", p.IP, why))
	})
}
