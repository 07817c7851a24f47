package host

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/tests/require"
)

// patience bounds what takes milliseconds on an idle machine.
const patience = 30 * time.Second

// station is a host: a namespace with eth0, and a nicd on it.
type station struct {
	testing.TB
	ns      string
	n       int // its addresses end so
	control *daemon.Client
}

// pair is two stations on a veth, as users would set them up: addresses in the kernel, none in the
// NICs' configurations.
func pair(t testing.TB, change func(*nicd.Config)) (a, b *station) {
	t.Helper()
	require.Root(t)
	require.Tool(t, "ip")
	a, b = newStation(t, 1), newStation(t, 2)
	wired(a, b)
	for _, s := range []*station{a, b} {
		s.start(change)
	}
	return a, b
}

// wired puts a veth between two stations, with addresses. The link-local ones are first set by
// hand: the kernel makes them some time after the link is up, and the GID table is in the order in
// which addresses come.
func wired(a, b *station) {
	a.Helper()
	a.ip("link add eth0 address 02:00:00:00:00:01 type veth peer name eth0 address " +
		"02:00:00:00:00:02 netns " + b.ns)
	for _, s := range []*station{a, b} {
		s.sysctl("net/ipv6/conf/eth0/accept_dad", "0")
		s.sysctl("net/ipv6/conf/eth0/addr_gen_mode", "1") // IN6_ADDR_GEN_MODE_NONE
		s.ip("link set lo up")
		s.ip("link set eth0 up")
		s.ip(fmt.Sprintf("addr add fe80::ff:fe00:%d/64 dev eth0", s.n))
		s.sysctl("net/ipv6/conf/eth0/addr_gen_mode", "0") // IN6_ADDR_GEN_MODE_EUI64: the same
		s.ip(fmt.Sprintf("addr add 10.1.0.%d/24 dev eth0", s.n))
		s.ip(fmt.Sprintf("addr add fd01::%d/64 dev eth0", s.n))
	}
}

func newStation(t testing.TB, n int) *station {
	s := &station{TB: t, n: n, ns: fmt.Sprintf("rlt%d-%d", os.Getpid(), n)}
	if err := netspace.Create(s.ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(s.ns); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start runs the station's nicd until the end of the test.
func (s *station) start(change func(*nicd.Config)) {
	s.Helper()
	c := nicd.Default()
	c.Common = daemon.Common{Name: fmt.Sprint("h", s.n), Netns: s.ns,
		Control: filepath.Join(s.TempDir(), "nicd.sock")}
	c.Port = daemon.PortConfig{Name: "eth0", Rate: 200 * unit.MbPerSecond}
	c.CC.Algorithm = "none"
	c.QP.Timeout = 17 // 0.54 s and 7 retries: more than a device takes to come back
	if change != nil {
		change(&c)
	}
	if faults := c.Validate(); len(faults) > 0 {
		s.Fatal(faults)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(ctx, slog.New(slog.NewTextHandler(s.Output(), nil))) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	s.control = daemon.NewClient(c.Control)
	s.Cleanup(s.control.Close)
	s.await("nicd answers", func() error {
		return s.control.Call(ctx, http.MethodGet, "/v1/status", nil, nil)
	})
}

func (s *station) ip(args string) {
	s.Helper()
	out, err := exec.Command("ip", append([]string{"-n", s.ns}, strings.Fields(args)...)...).
		CombinedOutput()
	if err != nil {
		s.Fatalf("ip -n %s %s: %v: %s", s.ns, args, err, out)
	}
}

func (s *station) sysctl(name, value string) {
	s.Helper()
	err := netspace.Do(s.ns, func() error {
		return os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
	})
	if err != nil {
		s.Fatal(err)
	}
}

// await asks again until the answer is nil.
func (s *station) await(what string, ask func() error) {
	s.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			s.Fatalf("%s: never: %v", what, err)
		}
	}
}

// call makes a control call that must succeed.
func (s *station) call(method, path string, req, resp any) {
	s.Helper()
	if err := s.control.Call(context.Background(), method, path, req, resp); err != nil {
		s.Fatalf("h%d %s %s: %v", s.n, method, path, err)
	}
}

func (s *station) status() (st nicd.Status) {
	s.Helper()
	s.call(http.MethodGet, "/v1/status", nil, &st)
	return st
}

func (s *station) addresses() (a nicd.Addresses) {
	s.Helper()
	s.call(http.MethodGet, "/v1/addresses", nil, &a)
	return a
}

// flow is what a sends to b on one QP.
type flow struct {
	from, to *station
	a, b     nicd.Endpoint
}

// connect makes QPs between addresses, each by its own kernel's word.
func connect(from, to *station, fromIP, toIP string) *flow {
	from.Helper()
	f := &flow{from: from, to: to}
	f.a, f.b = from.open(fromIP), to.open(toIP)
	a, b := f.a, f.b
	a.MAC, b.MAC = [6]byte{}, [6]byte{} // to be found out
	from.call(http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: f.a.QPN, Peer: b}, nil)
	to.call(http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: f.b.QPN, Peer: a}, nil)
	return f
}

// start writes without end: messages of several packets, some at a time.
func (f *flow) start() {
	f.from.Helper()
	f.from.call(http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: "f", QPN: f.a.QPN,
		Verb: "write", MessageBytes: 16 << 10, Depth: 4}, nil)
}

func (f *flow) status() nicd.FlowStatus {
	f.from.Helper()
	for _, s := range f.from.status().Flows {
		if s.QPN == f.a.QPN {
			return s
		}
	}
	f.from.Fatal("no such flow")
	return nicd.FlowStatus{}
}

// goesOn waits until so many more messages are through.
func (f *flow) goesOn(more uint64) {
	f.from.Helper()
	before := f.status()
	f.from.await("the flow goes on", func() error {
		if s := f.status(); s.Failed > 0 || s.Messages < before.Messages+more {
			return fmt.Errorf("%d messages, %d before, %d failed", s.Messages, before.Messages,
				s.Failed)
		}
		return nil
	})
}

func (s *station) open(ip string) (e nicd.Endpoint) {
	s.Helper()
	r := nicd.OpenRequest{Bytes: 64 << 10}
	if ip != "" {
		r.IP = netip.MustParseAddr(ip)
	}
	s.call(http.MethodPost, "/v1/open", r, &e)
	return e
}
