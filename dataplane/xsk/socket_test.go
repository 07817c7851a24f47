package xsk

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/tests/require"
)

// pair is a veth pair in a namespace of the test's own, with a socket on each end.
type pair struct {
	ns    string
	socks [2]*Socket
	progs [2]*bpf.Program
	got   [4]loop.Arrival // of receive
}

func newPair(t testing.TB, opts Options) *pair {
	t.Helper()
	return newPairOf(t, 1500, opts)
}

func newPairOf(t testing.TB, mtu int, opts Options) *pair {
	t.Helper()
	return newPairBy(t, opts, func() error {
		return addVeth("x0", "x1", mtu)
	})
}

// addVeth makes a pair of devices; x0 and x1 are set up when sockets are opened on them.
func addVeth(name, peer string, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = name, mtu
	return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerMTU: uint32(mtu)})
}

// newPairBy has join make the devices x0 and x1 and what is between them.
func newPairBy(t testing.TB, opts Options, join func() error) *pair {
	t.Helper()
	require.Root(t)
	p := &pair{ns: fmt.Sprintf("rl-xsk-%d", os.Getpid())}
	if err := netspace.Create(p.ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for i := range p.socks {
			p.close(i)
		}
		if err := netns.DeleteNamed(p.ns); err != nil {
			t.Error(err)
		}
	})
	p.do(t, join)
	for i := range p.socks {
		p.do(t, func() error {
			return setUp(name(i))
		})
		p.open(t, i, opts)
	}
	return p
}

func name(i int) string { return fmt.Sprintf("x%d", i) }

func (p *pair) do(t testing.TB, fn func() error) {
	t.Helper()
	if err := netspace.Do(p.ns, fn); err != nil {
		t.Fatal(err)
	}
}

func (p *pair) open(t testing.TB, i int, opts Options) {
	t.Helper()
	p.do(t, func() error {
		dev, err := netlink.LinkByName(name(i))
		if err != nil {
			return err
		}
		cfg := bpf.PortConfig{Frags: opts.Frags(), Device: dev.Attrs().Index}
		if p.progs[i], err = bpf.LoadSwitch(cfg); err != nil {
			return err
		}
		p.socks[i], err = Open(dev.Attrs().Index, p.progs[i].XSKMap(), opts)
		if err != nil {
			return err
		}
		_, err = p.progs[i].Attach(dev.Attrs().Index)
		return err
	})
}

func (p *pair) close(i int) {
	if p.socks[i] != nil {
		p.socks[i].Close()
		p.progs[i].Close()
	}
}

// small rings make every limit near.
var small = Options{Receive: 64, Transmit: 64, Chunk: 2048}

// cross sends count frames from end 0 to end 1 and checks that they arrive whole and in order.
func (p *pair) cross(t testing.TB, pool *frame.Pool, count, size int) {
	t.Helper()
	p.crossWindow(t, pool, count, size, 48)
}

// crossWindow has at most window frames on their way.
func (p *pair) crossWindow(t testing.TB, pool *frame.Pool, count, size, window int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	var got [64]loop.Arrival
	for sent, arrived := 0, 0; arrived < count; {
		if sent < count && sent-arrived < window {
			f := pool.Get()
			f.Resize(size)
			copy(f.Bytes(), []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
			f.Bytes()[size-1] = byte(sent)
			if p.socks[0].Send(f) {
				sent++
			} else {
				f.Release()
			}
		}
		if err := p.socks[0].Flush(); err != nil {
			t.Fatal(err)
		}
		n := p.socks[1].Receive(pool, got[:])
		for _, a := range got[:n] {
			b := a.Frame.Bytes()
			if len(b) != size || b[size-1] != byte(arrived) || a.Mono == 0 ||
				a.Frame.Meta.Class.Kind != frame.Other {
				t.Fatalf("frame %d: %d bytes, tag %d, stamp %d, %v", arrived, len(b), b[len(b)-1],
					a.Mono, a.Frame.Meta.Class.Kind)
			}
			a.Frame.Release()
			arrived++
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d arrived in 10 s", arrived, count)
		}
	}
	if pool.InUse() != 0 {
		t.Errorf("%d frames not released", pool.InUse())
	}
}

func TestManyTimesTheRings(t *testing.T) {
	p := newPair(t, small)
	p.cross(t, frame.NewPool(64, 2048), 1000, 1082)
	if st := p.socks[1].Stats(); st.Received != 1000 || st.Lost() != 0 {
		t.Errorf("%+v", st)
	}
}

// Closing must free the queue: asavie/xdp leaves the rings mapped.
func TestAClosedSocketCanBeOpenedAgain(t *testing.T) {
	p := newPair(t, small)
	pool := frame.NewPool(64, 2048)
	for range 3 {
		p.cross(t, pool, 100, 200)
		p.close(1)
		p.open(t, 1, small)
	}
	if err := p.socks[1].Close(); err != nil {
		t.Error(err)
	}
	if err := p.socks[1].Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// asavie/xdp panics when sendto fails; here it is an error that stays.
func TestAVanishedDeviceIsAnError(t *testing.T) {
	p := newPair(t, small)
	p.do(t, func() error {
		dev, err := netlink.LinkByName("x0")
		if err != nil {
			return err
		}
		return netlink.LinkDel(dev)
	})
	pool := frame.NewPool(4, 2048)
	for range 2 {
		f := pool.Get()
		f.Resize(100)
		if !p.socks[0].Send(f) {
			t.Fatal("no room in an empty ring")
		}
		if err := p.socks[0].Flush(); err == nil {
			t.Error("a frame was sent on a deleted device")
		}
	}
	if n := p.socks[0].Receive(pool, make([]loop.Arrival, 4)); n != 0 || pool.InUse() != 0 {
		t.Errorf("%d received, %d frames not released", n, pool.InUse())
	}
}

func TestAFrameThatDoesNotFitThePoolIsCounted(t *testing.T) {
	p := newPair(t, small)
	pool, tiny := frame.NewPool(8, 2048), frame.NewPool(8, 100)
	f := pool.Get()
	f.Resize(500)
	copy(f.Bytes(), []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
	if !p.socks[0].Send(f) || p.socks[0].Flush() != nil {
		t.Fatal("not sent")
	}
	deadline := time.Now().Add(5 * time.Second)
	for p.socks[1].Stats().TooLong == 0 {
		if n := p.socks[1].Receive(
			tiny,
			make([]loop.Arrival, 4),
		); n != 0 ||
			time.Now().After(deadline) {
			t.Fatalf("%d received, %+v", n, p.socks[1].Stats())
		}
	}
}

func TestMemoryLimitIsExplained(t *testing.T) {
	err := explain(
		fmt.Errorf("unix.SetsockoptUint64 XDP_UMEM_REG failed: no buffer space available"),
		small,
	)
	const want = "AF_XDP: 262144 bytes of packet memory exceed the locked-memory limit"
	if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("%v", err)
	}
}

func TestTheDataPathDoesNotAllocate(t *testing.T) {
	p := newPair(t, small)
	pool := frame.NewPool(64, 2048)
	arrived := make([]loop.Arrival, 64)
	one := func() {
		f := pool.Get()
		f.Resize(200)
		copy(f.Bytes(), []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
		if !p.socks[0].Send(f) || p.socks[0].Flush() != nil {
			t.Fatal("not sent")
		}
		for range 1_000_000 { // veth delivers within Flush, or a softirq later
			n := p.socks[1].Receive(pool, arrived)
			for _, a := range arrived[:n] {
				a.Frame.Release()
			}
			if n > 0 {
				return
			}
		}
		t.Fatal("the frame does not arrive")
	}
	if n := testing.AllocsPerRun(500, one); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
