package bench

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd"
)

// The two stations: the generator, and the one behind g1.
const (
	source      wiretest.MACOrNumber = 1
	destination wiretest.MACOrNumber = 2
)

// bytesToPush is a RoCEv2 packet of a lossless class, which may be marked.
func bytesToPush() []byte {
	const headers = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	return wiretest.Packet{Src: source, Dst: destination, DSCP: 26, ECN: wire.ECT0,
		Payload: frameSize - headers}.Bytes()
}

// switchd starts the whole daemon with its control socket. Its links are fast and have no delay,
// so that what is measured is the machine and its driver, not the emulated wire.
func (r *rig) switchd(b *testing.B) (stop func()) {
	b.Helper()
	cfg := switchd.Default()
	cfg.Name, cfg.Netns = "bench", r.ns
	cfg.Control = filepath.Join(b.TempDir(), "control")
	for _, name := range []string{"s0", "s1"} {
		cfg.Ports = append(cfg.Ports,
			daemon.PortConfig{Name: name, Rate: 400 * unit.GbPerSecond})
	}
	if faults := cfg.Validate(); len(faults) > 0 {
		b.Fatal(faults)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- cfg.Serve(ctx, slog.New(slog.DiscardHandler)) }()
	r.await(b, cfg.Control, ended)
	r.announce(b)
	return func() {
		r.conserved(b, cfg.Control)
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// await waits until the daemon answers at its control socket.
func (r *rig) await(b *testing.B, path string, ended <-chan error) {
	b.Helper()
	c := daemon.NewClient(path)
	defer c.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for {
		if c.Call(b.Context(), "GET", "/v1/status", nil, nil) == nil {
			return
		}
		select {
		case err := <-ended:
			b.Fatalf("switchd ended: %v", err)
		case <-deadline:
			b.Fatal("switchd does not answer after 10 s")
		case <-tick.C:
		}
	}
}

// announce sends a frame from the destination, so that the switch learns where it is.
func (r *rig) announce(b *testing.B) {
	b.Helper()
	r.do(b, func() error {
		dev, err := netlink.LinkByName("g1")
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		hello := wiretest.Packet{Src: destination, Dst: source, Payload: 64}.Bytes()
		return unix.Sendto(fd, hello, 0, &unix.SockaddrLinklayer{Ifindex: dev.Attrs().Index})
	})
}

// conserved checks that the switch neither lost a frame nor flooded.
func (r *rig) conserved(b *testing.B, path string) {
	b.Helper()
	c := daemon.NewClient(path)
	defer c.Close()
	var st switchd.Status
	if err := c.Call(b.Context(), "GET", "/v1/status", nil, &st); err != nil {
		b.Error(err)
		return
	}
	if l := st.Ledger; len(l.Dropped) != 0 || l.Sent != l.Received {
		b.Errorf("switchd's ledger is %+v", l)
	}
}
