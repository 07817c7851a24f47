package host

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/roce/ib"
)

const farMAC = "02:00:00:00:00:0b"

func TestResolve(t *testing.T) {
	r := newRig(t)
	// A router with two subnets behind it, a policy, another device.
	r.ip(r.ours, "addr add 10.1.0.11/24 dev eth0")
	r.ip(r.ours, "route add 10.2.0.0/16 via 10.1.0.2 mtu 1400")
	r.ip(r.ours, "route add 10.4.0.0/16 via inet6 fd01::2")
	r.ip(r.ours, "route add unreachable 10.5.0.0/16")
	r.ip(r.ours, "route add fd02::/64 via fd01::2")
	r.ip(r.ours, "link add other type veth peer name other1")
	r.ip(r.ours, "addr add 10.9.0.1/24 dev other")
	r.ip(r.ours, "link set other up")
	r.ip(r.ours, "link set other1 up")
	r.ip(r.ours, "route add 10.2.9.9/32 via 10.1.0.2 mtu 1300 table 77")
	r.ip(r.ours, "rule add from 10.1.0.11 to 10.2.9.9 table 77")
	r.ip(r.ours, "route add 10.6.0.0/16 via 10.9.0.2 metric 1")
	r.ip(r.ours, "route add 10.6.0.0/16 via 10.1.0.2 metric 9")
	r.follow()
	linkLocal := "fe80::ff:fe00:b"

	for name, c := range map[string]struct {
		dst, from        string
		source, mac, hop string
		mtu              int
		err              error
	}{
		"neighbour":              {dst: "10.1.0.2", source: "10.1.0.1", hop: "10.1.0.2"},
		"from another address":   {dst: "10.1.0.2", from: "10.1.0.11", source: "10.1.0.11"},
		"IPv6":                   {dst: "fd01::2", source: "fd01::1", hop: "fd01::2"},
		"IPv4 in IPv6":           {dst: "::ffff:10.1.0.2", source: "10.1.0.1", hop: "10.1.0.2"},
		"link-local":             {dst: linkLocal, source: "fe80::ff:fe00:a"},
		"link-local of a device": {dst: linkLocal + "%eth0", source: "fe80::ff:fe00:a"},
		"link-local elsewhere":   {dst: linkLocal + "%other", err: ErrElsewhere},
		"router":                 {dst: "10.2.0.9", source: "10.1.0.1", hop: "10.1.0.2", mtu: 1400},
		"IPv6 router":            {dst: "fd02::9", source: "fd01::1", hop: "fd01::2"},
		"IPv6 router for IPv4": {dst: "10.4.0.9", source: "10.1.0.1",
			hop: "fd01::2"},
		"beside the policy": {dst: "10.2.9.9", from: "10.1.0.1", hop: "10.1.0.2", mtu: 1400},
		"by the policy":     {dst: "10.2.9.9", from: "10.1.0.11", hop: "10.1.0.2", mtu: 1300},
		"better elsewhere":  {dst: "10.6.0.1", err: ErrElsewhere},
		"but our address":   {dst: "10.6.0.1", from: "10.1.0.1", hop: "10.1.0.2"},
		"no way but there":  {dst: "10.9.0.2", from: "10.1.0.1", err: ErrElsewhere},
		"unreachable":       {dst: "10.5.0.1", err: ErrNoRoute},
		"no route":          {dst: "192.0.2.1", err: ErrNoRoute},
		"no IPv6 route":     {dst: "2001:db8::1", err: ErrNoRoute},
		"other device":      {dst: "10.9.0.2", err: ErrElsewhere},
		"ourselves":         {dst: "10.1.0.1", err: ErrElsewhere},
		"nobody there":      {dst: "10.1.0.77", err: ErrUnreachable},
		"no IPv6 neighbour": {dst: "fd01::77", err: ErrUnreachable},
		"not our address":   {dst: "10.1.0.2", from: "10.1.0.99", err: ErrNoAddress},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := r.resolve(c.dst, c.from)
			if !errors.Is(err, c.err) {
				t.Fatalf("%+v, %v; want error %v", p, err, c.err)
			}
			if err != nil {
				return
			}
			if c.mtu == 0 {
				c.mtu = 1500
			}
			if p.MAC.String() != farMAC || p.VLAN != (ib.VLAN{}) ||
				p.MTU != c.mtu || c.source != "" && p.Source != netip.MustParseAddr(c.source) ||
				c.hop != "" && p.Hop != netip.MustParseAddr(c.hop) {
				t.Errorf("%+v, want %+v", p, c)
			}
		})
	}
}

// Without a device there is nothing to follow.
func TestFollowNamesWhatIsMissing(t *testing.T) {
	r := newRig(t)
	_, err := Follow(Options{Netns: r.ours, Device: "eth7"})
	if !errors.Is(err, ErrNoDevice) || err.Error() != "eth7: no such device" {
		t.Error(err)
	}
	if _, err := Follow(Options{Netns: "rl-no-such-namespace", Device: "eth0"}); err == nil {
		t.Error("followed a device of a namespace that does not exist")
	}
}

// Who resolves when the host closes is told, asks nothing any more, and does not keep it open.
func TestResolveWhileClosing(t *testing.T) {
	r := newRig(t)
	r.follow()
	const askers = 4
	nobody := netip.MustParseAddr("10.1.0.99")
	ended := make(chan error, askers)
	for range askers {
		go func() {
			for {
				// It waits for an answer, or for the end.
				_, err := r.host.Resolve(t.Context(), nobody, netip.Addr{})
				if !errors.Is(err, ErrUnreachable) {
					ended <- err
					return
				}
			}
		}()
	}
	r.host.Close()
	for range askers {
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("who asks meanwhile sees %v", err)
		}
	}
	_, err := r.host.Resolve(t.Context(), netip.MustParseAddr("10.1.0.2"), netip.Addr{})
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("who asks later sees %v", err)
	}
}
