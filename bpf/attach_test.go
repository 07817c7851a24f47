package bpf

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/tests/require"
)

// inNamespace moves the test into a network namespace of its own for its whole length.
func inNamespace(t *testing.T) {
	t.Helper()
	require.Root(t)
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	ns, err := netns.New()
	if err != nil {
		runtime.UnlockOSThread()
	}
	require.Feature(t, "netns", err == nil, "no network namespace can be made")
	t.Cleanup(func() {
		if err := netns.Set(home); err != nil {
			t.Error(err) // The thread stays locked, and dies with the test.
			return
		}
		runtime.UnlockOSThread()
		ns.Close()
		home.Close()
	})
}

// vethPair makes two devices and returns the number of the first.
func vethPair(t *testing.T) int {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "a0"
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "a1"}); err != nil {
		t.Fatal(err)
	}
	dev, err := net.InterfaceByName("a0")
	if err != nil {
		t.Fatal(err)
	}
	return dev.Index
}

func TestAttach(t *testing.T) {
	inNamespace(t)
	veth := vethPair(t)
	p := loaded(t, LoadSwitch, testMap(classify.TrustDSCP))
	for range 2 { // The second time it replaces itself.
		if mode, err := p.Attach(veth); err != nil || mode != Native {
			t.Fatalf("veth: mode %q, %v", mode, err)
		}
	}
	second := loaded(t, LoadSwitch, testMap(classify.TrustDSCP))
	_, err := second.Attach(veth)
	if err == nil || !strings.Contains(err.Error(), "switch_port") {
		t.Errorf("a device with a program took another: %v", err)
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	if mode, err := second.Attach(veth); err != nil || mode != Native {
		t.Errorf("after detaching: mode %q, %v", mode, err)
	}
	const loopback = 1 // It has no XDP of its own.
	if mode, err := p.Attach(loopback); err != nil || mode != Generic {
		t.Errorf("loopback: mode %q, %v", mode, err)
	}
}

func TestAttachToNothing(t *testing.T) {
	inNamespace(t)
	p := loaded(t, LoadNIC, testMap(classify.TrustDSCP))
	if _, err := p.Attach(4711); err == nil || !strings.Contains(err.Error(), "device 4711") {
		t.Errorf("attached to a device that is not there: %v", err)
	}
}
