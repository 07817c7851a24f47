package metrics

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/tests/require"
)

// daemons are a switchd and a nicd at the two ends of a veth pair.
type daemons struct {
	switchd, nicd string // addresses of the metrics endpoints
}

// patience is how long anything here may take.
const patience = 30 * time.Second

// runner is what both daemons' configurations are.
type runner interface {
	daemon.Runner
	daemon.Validator
}

func startDaemons(t *testing.T) daemons {
	t.Helper()
	require.Root(t)
	space := fmt.Sprintf("rl-metrics-%d", os.Getpid())
	if err := netspace.Create(space); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(space); err != nil {
			t.Error(err)
		}
	})
	if err := netspace.Do(space, addPair); err != nil {
		t.Fatal(err)
	}
	addrs := freeAddresses(t, 2)
	common := func(name, metrics string) daemon.Common {
		return daemon.Common{Name: name, Netns: space, Metrics: metrics,
			Control: filepath.Join(t.TempDir(), name)}
	}
	sw := switchd.Default()
	sw.Common = common("sw0", addrs[0])
	sw.Ports = []daemon.PortConfig{{Name: "swp1", Rate: 40 * unit.GbPerSecond}}
	nic := nicd.Default()
	nic.Common = common("h1", addrs[1])
	nic.Port = daemon.PortConfig{Name: "eth0", Rate: 40 * unit.GbPerSecond}
	nic.MAC, nic.IPv4 = wire.MAC{2, 0, 0, 0, 0, 1}, netip.MustParseAddr("10.0.0.1")
	nic.MetricsPerQP = 4
	rx := &nic.Receive // as the sample has it, so that what is counted there is told
	rx.Buffer, rx.Lossy = 256*unit.KB, 128*unit.KB
	rx.XOFF, rx.XON = 128*unit.KB, 96*unit.KB
	nic.Verbs = filepath.Join(t.TempDir(), "verbs")
	serve(t, &sw)
	serve(t, &nic)
	openQP(t, nic.Control)
	return daemons{switchd: addrs[0], nicd: addrs[1]}
}

// addPair makes the veth pair in the current namespace.
func addPair() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "swp1"
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "eth0"}); err != nil {
		return err
	}
	for _, name := range []string{"swp1", "eth0"} {
		dev, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(dev); err != nil {
			return err
		}
	}
	return nil
}

// freeAddresses returns loopback addresses on which nobody listens.
func freeAddresses(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // not before all are found, so that none comes twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// serve runs a daemon for the time of the test, and returns when it answers.
func serve(t *testing.T, cfg runner) {
	t.Helper()
	if faults := cfg.Validate(); len(faults) > 0 {
		t.Fatal(faults)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cfg.Serve(ctx, slog.New(slog.NewTextHandler(t.Output(), nil))) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	control := daemon.NewClient(cfg.Base().Control)
	defer control.Close()
	await(t, func() error { return control.Call(t.Context(), "GET", "/v1/status", nil, nil) })
}

// openQP makes a QP, so that there are metrics of one.
func openQP(t *testing.T, control string) {
	t.Helper()
	c := daemon.NewClient(control)
	defer c.Close()
	if err := c.Call(t.Context(), "POST", "/v1/open", nicd.OpenRequest{Bytes: 4096},
		nil); err != nil {
		t.Fatal(err)
	}
}

// await asks again until the answer is nil, and fails the test with the last one after a while.
func await(t *testing.T, ask func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %v: %v", patience, err)
		}
	}
}

// get reads a page.
func get(url string) ([]byte, error) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, body)
	}
	return body, err
}
