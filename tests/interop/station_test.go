package interop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/tests/interop/guest"
	"github.com/rocelab/rocelab/tests/interop/guest/line"
	"github.com/rocelab/rocelab/tests/require"
)

// feature is what ROCELAB_REQUIRE calls a machine on which this package's tests must run.
const feature = "rxe"

// station is a nicd and a guest on one wire.
type station struct {
	mtu     int
	dir     string // of logs, sockets and captures
	space   string // network namespace
	guest   *guest.Guest
	gids    map[string]int // index by address
	nicd    *program
	control *daemon.Client
	verbs   string // nicd's socket for programs
	vlan    uint16 // of RoCE packets; 0: they have no tag
	failed  bool   // a test on it has failed: keep dir
}

// stations are made when the first test asks for them, and used by all.
var stations = struct {
	sync.Mutex
	byMTU map[int]*station
	err   map[int]error
}{byMTU: map[int]*station{}, err: map[int]error{}}

// setUpTime bounds what may have to download packages.
const setUpTime = 10 * time.Minute

// at returns the station with an MTU of Ethernet, for this test alone until it ends.
func at(t testing.TB, mtu int) *station {
	t.Helper()
	require.Root(t)
	require.Feature(t, feature, runtime.GOARCH == "amd64", "the guest is made for amd64")
	stations.Lock()
	s, err := stations.byMTU[mtu], stations.err[mtu]
	if s == nil && err == nil {
		s, err = open(t, mtu)
		stations.byMTU[mtu], stations.err[mtu] = s, err
	}
	stations.Unlock()
	require.Feature(t, feature, err == nil, fmt.Sprint(err))
	t.Cleanup(func() { s.failed = s.failed || t.Failed() })
	return s
}

func open(t testing.TB, mtu int) (*station, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
	defer cancel()
	image, err := guest.Standard.Image(ctx, t.Logf)
	if err != nil {
		return nil, err
	}
	if err := buildPrograms(ctx); err != nil {
		return nil, err
	}
	s := &station{mtu: mtu, space: fmt.Sprintf("rl-interop-%d-%d", os.Getpid(), mtu)}
	if s.dir, err = os.MkdirTemp("", "rl-interop"); err != nil {
		return nil, err
	}
	if err := s.bringUp(ctx, image); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *station) bringUp(ctx context.Context, image *guest.Image) error {
	tap, err := makeNetwork(s.space, s.mtu)
	if err != nil {
		return err
	}
	defer tap.Close()
	dir := filepath.Join(s.dir, "guest")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	s.guest, err = image.Boot(ctx, guest.Options{Dir: dir, TAP: tap, MAC: guestMAC,
		Line: line.Config{MTU: s.mtu, Addresses: []string{guest4 + "/24", guest6 + "/64"}}})
	if err != nil {
		return err
	}
	if s.gids, err = readGIDs(ctx, s.guest); err != nil {
		return err
	}
	return s.startNIC(ctx, usual)
}

// readGIDs reads the guest's table of addresses, in which tools name them by index.
func readGIDs(ctx context.Context, g *guest.Guest) (map[string]int, error) {
	const list = "cd /sys/class/infiniband/rxe0/ports/1/gids && grep . 0 1 2 3"
	out, err := g.Run(ctx, list)
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	for l := range strings.Lines(out) {
		number, text, _ := strings.Cut(strings.TrimSpace(l), ":")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("GID table %q: %w", out, err)
		}
		gid, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("GID table %q: %w", out, err)
		}
		index[gid.Unmap().String()] = n
	}
	return index, nil
}

func closeStations() {
	for _, s := range stations.byMTU {
		if s == nil {
			continue
		}
		if err := s.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// close takes the station down; what it recorded is kept if something failed.
func (s *station) close() error {
	var faults []error
	if s.nicd != nil {
		faults = append(faults, s.nicd.stop())
	}
	if s.guest != nil {
		faults = append(faults, s.guest.Close())
	}
	faults = append(faults, removeNetwork(s.space))
	if s.failed {
		fmt.Fprintf(os.Stderr, "logs, console and captures of the failed run: %s\n", s.dir)
		return errors.Join(faults...)
	}
	return errors.Join(append(faults, os.RemoveAll(s.dir))...)
}
