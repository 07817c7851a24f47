// Package rdmatest makes pairs of NICs for tests of programs.
package rdmatest

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/loop/looptest"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/cc"
)

// The link between the NICs. Virtual time runs at a hundredth of real time.
const (
	Rate     = 10 * unit.GbPerSecond
	Delay    = 20 * time.Microsecond
	dilation = 100
)

// IP is the address of a NIC.
func IP(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }

// IP6 is the other address of a NIC.
func IP6(i int) netip.Addr { return netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(i + 1)}) }

func mac(i int) wire.MAC { return wire.MAC{2, 0, 0, 0, 0, byte(i + 1)} }

// NewPair is two NICs in their loops, back to back over a wire in memory, with servers for
// programs: two nicd without their control sockets. It returns the paths of these servers.
func NewPair(t testing.TB) (paths [2]string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	page := clock.Private(unit.Time(Delay * 2 / 5))
	governor, err := clock.NewGovernor(page, dilation, dilation)
	must(err)
	links, err := clock.NewLinks(page, 2)
	must(err)
	a, b, err := looptest.Pipe()
	must(err)
	for i, w := range []loop.Wire{a, b} {
		cfg := nic.DefaultConfig()
		cfg.MAC, cfg.IPv4, cfg.IPv6, cfg.Rate, cfg.Seed = mac(i), IP(i), IP6(i), Rate, 7
		pool := frame.NewPool(8192, 1400)
		n, err := nic.New(cfg, pool)
		must(err)
		c, err := clock.NewClock(page, i, 2)
		must(err)
		host, log := app.NewHost(n), slog.New(slog.DiscardHandler)
		l, err := loop.New(loop.Config{Device: host, Pool: pool, Clock: c, Links: links, Log: log,
			Ports: []loop.Port{{Name: "wire", Wire: w, TxLink: i, RxLink: 1 - i,
				Link: link.Config{Rate: cfg.Rate, Delay: Delay}}}})
		must(err)
		paths[i] = filepath.Join(t.TempDir(), "nic.verbs")
		s, err := uverbs.Listen(uverbs.Config{Name: paths[i], Path: paths[i], Host: host, Driver: l,
			Algorithms: cc.BuiltIn(),
			Limits:     uverbs.DefaultLimits(), Log: log, Resolve: resolve})
		must(err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 2)
		go func() {
			err := l.Run(ctx)
			s.Close()
			ended <- err
		}()
		go func() { ended <- s.Serve() }()
		t.Cleanup(func() {
			cancel()
			for range 2 {
				// A test may be over before the server has begun.
				if err := <-ended; err != nil && !errors.Is(err, loop.ErrStopped) {
					t.Error(err)
				}
			}
		})
	}
	governor.Start(dilation)
	return paths
}

func resolve(_ context.Context, ip, _ netip.Addr) (nic.Path, error) {
	for i := range 2 {
		if ip == IP(i) || ip == IP6(i) {
			return nic.Path{IP: ip, MAC: mac(i)}, nil
		}
	}
	return nic.Path{}, errors.New("nobody there")
}
