package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
)

// nicConfig is nicd's. The link is faster than the guest's bursts, for which a NIC would have no
// room behind a slower one (dataplane/loop). Nobody marks, so there is no congestion control.
const nicConfig = `name: %s
netns: %s
control: %s
verbs: %s
port: {name: eth0, rate: 10Gb/s, delay: 1us, mtu: %d}
mac: %s
mtu: %d
cc: {algorithm: none}
%s`

// Addresses of NICs.
const (
	usual    = "ipv4: " + ours4 + "\nipv6: " + ours6 + "\n"
	onTagged = "ipv4: " + oursVLAN + "\nvlan: 100\n"
)

// pathMTU is what rxe derives from the MTU of Ethernet.
func (s *station) pathMTU() int {
	if s.mtu >= 4096+256 {
		return 4096
	}
	return 1024
}

// startNIC starts a NIC with the addresses that are given.
func (s *station) startNIC(ctx context.Context, addresses string) (err error) {
	socket := filepath.Join(s.dir, "nicd.sock")
	s.verbs = filepath.Join(s.dir, "nicd.verbs")
	path := filepath.Join(s.dir, "nicd.yaml")
	text := fmt.Sprintf(nicConfig, "interop", s.space, socket, s.verbs, s.mtu, ourMAC,
		s.pathMTU(), addresses)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	// It enters the namespace by itself.
	if s.nicd, err = run("", "nicd", "-config", path); err != nil {
		return err
	}
	s.control = daemon.NewClient(socket)
	return s.await(ctx, func() error {
		return s.control.Call(ctx, "GET", "/v1/status", nil, nil)
	})
}

// await asks again until the answer is nil, ctx ends or nicd has ended.
func (s *station) await(ctx context.Context, ask func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.nicd.ended:
			return fmt.Errorf("nicd ended: %w\n%s", s.nicd.err, s.nicd.out.String())
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
