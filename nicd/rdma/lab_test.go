package rdma_test

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
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/cc"
)

// station is a NIC in its loop with a server for programs: nicd without its sockets.
type station struct {
	path   string
	ip     netip.Addr
	host   *app.Host
	loop   *loop.Loop
	server *uverbs.Server
	cancel context.CancelFunc
	ended  chan struct{}
}

// newLab is two stations back to back, over a wire in memory.
func newLab(t testing.TB, limits abi.Limits) (s [2]*station) {
	t.Helper()
	var wires [2]*looptest.Wire
	var err error
	if wires[0], wires[1], err = looptest.Pipe(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range s {
		s[i] = newStation(t, filepath.Join(dir, string(rune('a'+i))), i, wires[i], limits)
	}
	return s
}

func macOf(i int) wire.MAC       { return wire.MAC{2, 0, 0, 0, 0, byte(i + 1)} }
func addressOf(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }

var errNobody = errors.New("nobody there")

// silent is where the kernel asks in vain.
var silent = netip.MustParseAddr("10.0.0.99")

func resolve(ctx context.Context, ip, _ netip.Addr) (nic.Path, error) {
	if ip == silent {
		<-ctx.Done()
		return nic.Path{}, ctx.Err()
	}
	for i := range 2 {
		if ip == addressOf(i) {
			return nic.Path{IP: ip, MAC: macOf(i)}, nil
		}
	}
	return nic.Path{}, errNobody
}

func newStation(t testing.TB, path string, i int, w loop.Wire, limits abi.Limits) *station {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := nic.DefaultConfig()
	cfg.MAC, cfg.IPv4, cfg.Rate, cfg.Seed = macOf(i), addressOf(i), 40*unit.GbPerSecond, 7
	pool := frame.NewPool(8192, 1400)
	n, err := nic.New(cfg, pool)
	must(err)
	c, err := clock.NewOwn(1, unit.Time(loop.Stall(cfg.Rate)), clock.Monotonic)
	must(err)
	s := &station{path: path, ip: cfg.IPv4, host: app.NewHost(n), ended: make(chan struct{})}
	log := slog.New(slog.DiscardHandler)
	s.loop, err = loop.New(loop.Config{Device: s.host, Pool: pool, Clock: c, Log: log,
		Ports: []loop.Port{{Name: "wire", Wire: w, TxLink: loop.NoLink, RxLink: loop.NoLink,
			Link: link.Config{Rate: cfg.Rate, Delay: time.Microsecond}}}})
	must(err)
	s.server, err = uverbs.Listen(uverbs.Config{Name: path, Path: path, Limits: limits,
		Algorithms: cc.BuiltIn(),
		Host:       s.host, Driver: s.loop, Log: log, Resolve: resolve})
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		if err := s.loop.Run(ctx); err != nil {
			t.Error(err)
		}
		s.server.Close()
	}()
	served := make(chan error, 1)
	go func() { served <- s.server.Serve() }()
	t.Cleanup(func() {
		s.stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// stop ends the daemon.
func (s *station) stop() {
	s.cancel()
	<-s.ended
}

// end is a program with one QP on a station.
type end struct {
	dev *rdma.Device
	pd  *rdma.PD
	mem *rdma.Memory
	cq  *rdma.CQ
	qp  *rdma.QP
}

const memorySize = 1 << 20

var everything = rdma.Access{LocalWrite: true, RemoteWrite: true, RemoteRead: true,
	RemoteAtomic: true}

func open(t testing.TB, s *station, c rdma.QPConfig) *end {
	t.Helper()
	e := &end{}
	var err error
	if e.dev, err = rdma.Open(s.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.dev.Close() })
	if e.pd, err = e.dev.AllocPD(); err != nil {
		t.Fatal(err)
	}
	if e.mem, err = e.pd.Allocate(memorySize, everything); err != nil {
		t.Fatal(err)
	}
	if e.cq, err = e.dev.CreateCQ(1024); err != nil {
		t.Fatal(err)
	}
	c.SendCQ = e.cq
	if e.qp, err = e.pd.CreateQP(c); err != nil {
		t.Fatal(err)
	}
	return e
}

// pair is two programs whose QPs are connected.
func pair(t testing.TB, s [2]*station, c rdma.QPConfig) (a, b *end) {
	t.Helper()
	a, b = open(t, s[0], c), open(t, s[1], c)
	connect(t, a, b, s[1].ip)
	connect(t, b, a, s[0].ip)
	return a, b
}

func connect(t testing.TB, from, to *end, ip netip.Addr) {
	t.Helper()
	err := from.qp.Connect(t.Context(), rdma.Remote{QPN: to.qp.QPN(), PSN: to.qp.PSN(),
		Path: rdma.Path{IP: ip}})
	if err != nil {
		t.Fatal(err)
	}
}

// deadline is how long a test waits for what must come.
const deadline = 20 * time.Second

// next waits for one completion.
func (e *end) next(t testing.TB) rdma.Completion {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var c [1]rdma.Completion
	if _, err := e.cq.Wait(ctx, c[:]); err != nil {
		t.Fatal(err)
	}
	return c[0]
}

// event waits for one asynchronous event.
func (e *end) event(t testing.TB) rdma.Event {
	t.Helper()
	select {
	case ev := <-e.dev.Events():
		return ev
	case <-time.After(deadline):
		t.Fatal("no event")
		return rdma.Event{}
	}
}

func post(t testing.TB, q *rdma.QP, wr rdma.WR) {
	t.Helper()
	if n, err := q.Post(wr); n != 1 || err != nil {
		t.Fatalf("posted %d: %v", n, err)
	}
}

func receive(t testing.TB, q *rdma.QP, wr rdma.ReceiveWR) {
	t.Helper()
	if n, err := q.PostReceive(wr); n != 1 || err != nil {
		t.Fatalf("posted %d: %v", n, err)
	}
}

// judge looks, on the loop's thread, that nothing is left in the machine either.
func (s *station) judge(t testing.TB) func(unit.Time) {
	return func(now unit.Time) {
		var snap nic.Snapshot
		s.host.NIC().Snapshot(now, &snap)
		if len(snap.QPs) != 0 {
			t.Errorf("%d QPs are left in the NIC", len(snap.QPs))
		}
	}
}
