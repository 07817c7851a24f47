package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/tests/require"
)

// TestMTUOfDevices: what the configuration does not say is asked of the device, frames hold what
// the largest needs, and a device that does not fit is told by name.
func TestMTUOfDevices(t *testing.T) {
	require.Root(t)
	ns := fmt.Sprintf("rl-mtu-%d", os.Getpid())
	if err := netspace.Create(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(ns); err != nil {
			t.Error(err)
		}
	})
	var dev netlink.Link
	err := netspace.Do(ns, func() (err error) {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "a", 4500
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "b"}); err != nil {
			return err
		}
		dev, err = netlink.LinkByName("a")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	given := []PortConfig{{Name: "a"}, {Name: "b", MTU: 2000}}
	found, err := WithMTU(ns, given)
	if err != nil || found[0].MTU != 4500 || found[1].MTU != 2000 || given[0].MTU != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if n := FrameSize(found); n != 4518 {
		t.Errorf("frames of %d bytes, want 4518", n)
	}
	for want, err := range map[string]error{
		"port a: MTU 4500 needs frames of 4518 bytes, packet memory holds 4517": given[0].fits(
			dev, 4517),
		"port a: mtu 1500 is configured, the device has 4500": (&PortConfig{Name: "a",
			MTU: 1500}).fits(dev, 4518),
		"port c: no such device in network namespace " + ns: second(WithMTU(ns,
			[]PortConfig{{Name: "c"}})),
		"port lo: MTU 65536, at most 9000 is possible": second(WithMTU(ns,
			[]PortConfig{{Name: "lo"}})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := found[0].fits(dev, 4518); err != nil {
		t.Errorf("a device that fits: %v", err)
	}
}

func second(_ []PortConfig, err error) error { return err }

func TestMTUIsJudged(t *testing.T) {
	for mtu, bad := range map[int]bool{0: false, 575: true, 576: false, 9000: false, 9001: true} {
		p := PortConfig{Name: "a", Rate: 1, MTU: mtu}
		if f := p.Validate("port"); (len(f) > 0) != bad {
			t.Errorf("MTU %d: %v", mtu, f)
		}
	}
}
