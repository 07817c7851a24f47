package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/tests/interop/guest"
	"github.com/rocelab/rocelab/tests/interop/guest/line"
	"github.com/rocelab/rocelab/tests/require"
)

// The guest's kernel has VLAN devices (8021q), which the machine's need not have. So the test of
// nicd/host that needs them runs there as it is.
func TestHostFollowsTheGuestsKernel(t *testing.T) {
	require.Root(t)
	require.Feature(t, feature, runtime.GOARCH == "amd64", "the guest is made for amd64")
	ctx, cancel := context.WithTimeout(t.Context(), setUpTime)
	defer cancel()
	image, err := guest.Standard.Image(ctx, t.Logf)
	require.Feature(t, feature, err == nil, fmt.Sprint(err))
	program := filepath.Join(t.TempDir(), "host.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", program,
		"../../nicd/host")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tests: %v\n%s", err, out)
	}
	space := fmt.Sprintf("rl-interop-%d-vlan", os.Getpid())
	tap, err := makeNetwork(space, 1500)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeNetwork(space); err != nil {
			t.Error(err)
		}
	})
	defer tap.Close()
	dir := t.TempDir()
	g, err := image.Boot(ctx, guest.Options{Dir: dir, TAP: tap, MAC: guestMAC, Memory: 512,
		Line: line.Config{MTU: 1500}, Files: map[string]string{"bin/host.test": program}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	out, err := g.Run(ctx,
		"cd /tmp && "+require.Env+"=root,ip,vlan /bin/host.test -test.v -test.run VLAN")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "--- PASS: TestVLANDevices") {
		t.Errorf("VLAN devices were not tested:\n%s", out)
	}
}
