package host

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/tests/require"
)

// rig is two namespaces with a veth between their devices eth0: ours is followed, far is the
// kernel at the other end.
type rig struct {
	testing.TB
	ours, far string
	host      *Host
	log       bytes.Buffer

	mu     sync.Mutex
	states []State
	peers  []Peer
	told   chan struct{}
	lost   error // the last one
}

func newRig(t testing.TB) *rig {
	require.Root(t)
	require.Tool(t, "ip")
	r := &rig{TB: t, ours: fmt.Sprintf("rlh%d-a", os.Getpid()),
		far: fmt.Sprintf("rlh%d-b", os.Getpid()), told: make(chan struct{}, 1)}
	for _, ns := range []string{r.ours, r.far} {
		if err := netspace.Create(ns); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := netns.DeleteNamed(ns); err != nil {
				t.Error(err)
			}
		})
	}
	r.wire()
	return r
}

// wire puts the veth in place and gives its ends addresses.
func (r *rig) wire() {
	r.ip(r.ours, "link add eth0 address 02:00:00:00:00:0a type veth peer name eth0 address "+
		"02:00:00:00:00:0b netns "+r.far)
	for ns, n := range map[string]string{r.ours: "1", r.far: "2"} {
		// Duplicate address detection takes seconds, and is not what we look at.
		r.sysctl(ns, "net/ipv6/conf/eth0/accept_dad", "0")
		r.sysctl(ns, "net/ipv6/conf/default/accept_dad", "0") // of VLAN devices
		// A neighbour that does not answer fails after three probes.
		r.sysctl(ns, "net/ipv4/neigh/eth0/retrans_time_ms", "20")
		r.sysctl(ns, "net/ipv6/neigh/eth0/retrans_time_ms", "20")
		r.ip(ns, "link set lo up")
		r.ip(ns, "link set eth0 up")
		r.ip(ns, "addr add 10.1.0."+n+"/24 dev eth0")
		r.ip(ns, "addr add fd01::"+n+"/64 dev eth0")
	}
}

// ip runs ip(8) in a namespace.
func (r *rig) ip(ns, args string) {
	r.Helper()
	out, err := exec.Command("ip", append([]string{"-n", ns}, strings.Fields(args)...)...).
		CombinedOutput()
	if err != nil {
		r.Fatalf("ip -n %s %s: %v: %s", ns, args, err, out)
	}
}

func (r *rig) sysctl(ns, name, value string) {
	r.Helper()
	err := netspace.Do(ns, func() error {
		return os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
	})
	if err != nil {
		r.Fatal(err)
	}
}

// follow starts what is tested.
func (r *rig) follow() {
	r.Helper()
	h, err := Follow(Options{Netns: r.ours, Device: "eth0",
		Log: slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Changed: func(s State) {
			r.note(func() { r.states = append(r.states, s) })
		},
		Peers: func() []Peer {
			r.mu.Lock()
			defer r.mu.Unlock()
			return append([]Peer(nil), r.peers...)
		},
		Moved: func(p Peer, to Path) {
			r.note(func() {
				at := r.at(p)
				at.MAC, at.VLAN, at.Lost = to.MAC, to.VLAN.ID, false
			})
		},
		Lost: func(p Peer, why error) {
			r.note(func() { r.at(p).Lost, r.lost = true, why })
		}})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(h.Close)
	r.host = h
}

func (r *rig) at(p Peer) *Peer {
	for i := range r.peers {
		if r.peers[i].IP == p.IP && r.peers[i].Source == p.Source {
			return &r.peers[i]
		}
	}
	r.Errorf("told of %+v, which is no peer", p)
	return &Peer{}
}

func (r *rig) note(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	select {
	case r.told <- struct{}{}:
	default:
	}
}

// patience bounds what takes milliseconds.
const patience = 20 * time.Second

// until waits for a condition on what was told.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	end := time.After(patience)
	for {
		r.mu.Lock()
		done := ok()
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-r.told:
		case <-end:
			r.Fatalf("never: %s; last state %+v, peers %+v, lost %v", what,
				r.states[len(r.states)-1], r.peers, r.lost)
		}
	}
}

// has reports whether the last state that was told has an address. For until.
func (r *rig) has(ip string, vlan uint16) func() bool {
	return func() bool {
		for _, a := range r.states[len(r.states)-1].Addresses {
			if a.IP == netip.MustParseAddr(ip) && a.VLAN == vlan {
				return true
			}
		}
		return false
	}
}

func (r *rig) resolve(dst, source string) (Path, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var from netip.Addr
	if source != "" {
		from = netip.MustParseAddr(source)
	}
	return r.host.Resolve(ctx, netip.MustParseAddr(dst), from)
}

// use resolves a peer and puts it to use.
func (r *rig) use(dst string) Path {
	r.Helper()
	p, err := r.resolve(dst, "")
	if err != nil {
		r.Fatal(err)
	}
	r.mu.Lock()
	r.peers = append(r.peers, Peer{Source: p.Source, IP: netip.MustParseAddr(dst), MAC: p.MAC,
		VLAN: p.VLAN.ID})
	r.mu.Unlock()
	r.host.Used()
	return p
}

// sentTo is a condition: packets to a peer go to this MAC address.
func (r *rig) sentTo(dst, mac string) func() bool {
	return func() bool {
		for _, p := range r.peers {
			if p.IP == netip.MustParseAddr(dst) {
				return !p.Lost && p.MAC.String() == mac
			}
		}
		return false
	}
}
