package host

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// What is told of the device: addresses of both families, its MAC address and MTU, a new name, and
// that it went down, away and came back.
func TestStateFollowsTheDevice(t *testing.T) {
	r := newRig(t)
	r.follow()
	last := func() *State { return &r.states[len(r.states)-1] }
	r.until("the first addresses", func() bool {
		return r.has("10.1.0.1", 0)() && r.has("fd01::1", 0)() && r.has("fe80::ff:fe00:a", 0)()
	})
	r.ip(r.ours, "addr add 10.1.0.5/24 dev eth0")
	r.until("an address more", r.has("10.1.0.5", 0))
	r.ip(r.ours, "addr del 10.1.0.5/24 dev eth0")
	r.until("it is gone", func() bool { return !r.has("10.1.0.5", 0)() })

	r.ip(r.ours, "link set eth0 address 02:00:00:00:00:1a")
	r.until("another MAC", func() bool { return last().MAC.String() == "02:00:00:00:00:1a" })
	r.ip(r.ours, "link set eth0 mtu 9000")
	r.until("jumbo frames", func() bool { return last().PathMTU() == 4096 })
	r.ip(r.far, "link set eth0 down")
	r.until("no carrier", func() bool { return !last().Up })
	r.ip(r.far, "link set eth0 up")
	r.until("a carrier", func() bool { return last().Up })

	r.ip(r.ours, "link set eth0 down")
	r.ip(r.ours, "link set eth0 name rdma0")
	r.ip(r.ours, "link set rdma0 up")
	r.until("another name", func() bool { return last().Name == "rdma0" && last().Up })
	r.ip(r.ours, "addr add 10.1.0.6/24 dev rdma0")
	r.until("an address under it", r.has("10.1.0.6", 0))

	r.ip(r.ours, "link del rdma0")
	r.until("it went away", func() bool { return last().Index == 0 && last().Addresses == nil })
	r.wire()
	r.until("it is back", func() bool { return last().Up && r.has("10.1.0.1", 0)() })
}

// A peer in use that gets another MAC address, with and without saying so.
func TestNeighbourMoves(t *testing.T) {
	r := newRig(t)
	r.follow()
	for _, dst := range []string{"10.1.0.2", "fd01::2"} {
		if p := r.use(dst); p.MAC.String() != farMAC {
			t.Fatalf("%v at %v", dst, p.MAC)
		}
	}
	// The kernel at the other end tells nobody (arp_notify is off), so ours must be led to ask.
	r.ip(r.far, "link set eth0 address 02:00:00:00:00:2b")
	r.ip(r.ours, "neigh del 10.1.0.2 dev eth0")
	r.ip(r.ours, "neigh del fd01::2 dev eth0")
	r.until("IPv4 follows", r.sentTo("10.1.0.2", "02:00:00:00:00:2b"))
	r.until("IPv6 follows", r.sentTo("fd01::2", "02:00:00:00:00:2b"))

	r.ip(r.ours, "neigh replace 10.1.0.2 lladdr 02:00:00:00:00:3b dev eth0 nud permanent")
	r.until("what the operator says", r.sentTo("10.1.0.2", "02:00:00:00:00:3b"))
}

// An entry that nobody seems to use is forgotten by the kernel or grows stale. Those in use must
// not, or no move would be noticed: the kernel is led to check them.
func TestNeighbourInUseIsKept(t *testing.T) {
	r := newRig(t)
	r.sysctl(r.ours, "net/ipv4/neigh/eth0/delay_first_probe_time", "0")
	r.follow()
	r.use("10.1.0.2")
	r.ip(r.far, "link set eth0 address 02:00:00:00:00:4b")
	r.ip(r.ours, "neigh change 10.1.0.2 dev eth0 lladdr "+farMAC+" nud stale")
	r.until("a stale entry is checked", r.sentTo("10.1.0.2", "02:00:00:00:00:4b"))
}

// The way to a peer: direct, by a router, none, another one.
func TestRouteMoves(t *testing.T) {
	r := newRig(t)
	r.ip(r.ours, "neigh add 10.1.0.3 lladdr 02:00:00:00:00:33 dev eth0 nud permanent")
	r.ip(r.ours, "route add default via 10.1.0.2")
	r.follow()
	if p := r.use("192.0.2.7"); p.Hop.String() != "10.1.0.2" {
		t.Fatalf("by %v", p.Hop)
	}
	r.ip(r.ours, "route add 192.0.2.0/24 via 10.1.0.3")
	r.until("another router", r.sentTo("192.0.2.7", "02:00:00:00:00:33"))
	r.ip(r.ours, "route del 192.0.2.0/24 via 10.1.0.3")
	r.until("back again", r.sentTo("192.0.2.7", farMAC))
	r.ip(r.ours, "route del default via 10.1.0.2")
	r.until("no way", func() bool { return r.peers[0].Lost && errors.Is(r.lost, ErrNoRoute) })
	r.ip(r.ours, "route add default via 10.1.0.3")
	r.until("a way again", r.sentTo("192.0.2.7", "02:00:00:00:00:33"))
}

// A neighbour that does not answer any more has no path, until it answers.
func TestNeighbourFailsAndComesBack(t *testing.T) {
	r := newRig(t)
	r.follow()
	r.use("10.1.0.2")
	r.ip(r.far, "addr del 10.1.0.2/24 dev eth0")
	r.ip(r.ours, "neigh del 10.1.0.2 dev eth0")
	r.until("it fails", func() bool {
		return r.peers[0].Lost && errors.Is(r.lost, ErrUnreachable)
	})
	r.ip(r.far, "addr add 10.1.0.2/24 dev eth0")
	r.until("it answers", r.sentTo("10.1.0.2", farMAC))
}

// The socket of events holds a few hundred. What is lost beyond that must not matter.
func TestOverrun(t *testing.T) {
	r := newRig(t)
	r.follow()
	r.use("10.1.0.2")
	r.host.news.mu.Lock() // holds up whoever reads events
	var batch strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&batch, "route add 172.16.%d.%d/32 via 10.1.0.2\n", i/250, i%250+1)
	}
	batch.WriteString("addr add 10.1.0.8/24 dev eth0\n" +
		"neigh replace 10.1.0.2 lladdr 02:00:00:00:00:5b dev eth0 nud permanent\n")
	cmd := exec.Command("ip", "-n", r.ours, "-batch", "-")
	cmd.Stdin = strings.NewReader(batch.String())
	out, err := cmd.CombinedOutput()
	r.host.news.mu.Unlock()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.until("an address that was told of in vain", r.has("10.1.0.8", 0))
	r.until("a neighbour likewise", r.sentTo("10.1.0.2", "02:00:00:00:00:5b"))
	r.host.Close()
	if !strings.Contains(r.log.String(), "no buffer space available") {
		t.Errorf("there was no overrun: %s", r.log.String())
	}
}
