package bench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/xsk"
	"github.com/rocelab/rocelab/tests/require"
)

// rig is two veth pairs g0-s0 and s1-g1: the generator sends on g0, a forwarder moves frames from
// s0 to s1, and a program on g1 counts them.
type rig struct {
	ns    string
	gen   *xsk.Socket
	prog  *bpf.Program
	sink  *bpf.Program
	pool  *frame.Pool
	frame []byte
}

const (
	frameSize = 1082 // a RoCEv2 packet with 1024 bytes of payload
	// window is how many frames are on their way at most: below every ring, so that nothing is
	// lost. A veth has 256 slots, of which 16 may be free but not known to be yet: its consumer
	// clears them in batches (include/linux/ptr_ring.h).
	window = 192
)

func newRig(b *testing.B) *rig {
	b.Helper()
	require.Root(b)
	r := &rig{ns: fmt.Sprintf("rl-bench-%d", os.Getpid()), pool: frame.NewPool(window, 2048)}
	if err := netspace.Create(r.ns); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := netns.DeleteNamed(r.ns); err != nil {
			b.Error(err)
		}
	})
	r.frame = bytesToPush()
	r.do(b, func() error {
		for i := range 2 {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = fmt.Sprintf("s%d", i)
			peer := fmt.Sprintf("g%d", i)
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: peer}); err != nil {
				return err
			}
			for _, name := range []string{attrs.Name, peer} {
				if err := raise(name); err != nil {
					return err
				}
			}
		}
		return r.openEnds()
	})
	b.Cleanup(func() { r.gen.Close(); r.prog.Close(); r.sink.Close() })
	return r
}

func raise(name string) error {
	if err := os.WriteFile(
		"/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6",
		[]byte("1"),
		0o644,
	); err != nil {
		return err
	}
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(dev)
}

func (r *rig) openEnds() (err error) {
	if r.prog, r.gen, err = openSocket("g0"); err != nil {
		return err
	}
	if r.sink, err = bpf.LoadSwitch(bpf.PortConfig{}); err != nil {
		return err
	}
	dev, err := netlink.LinkByName("g1")
	if err != nil {
		return err
	}
	_, err = r.sink.Attach(dev.Attrs().Index)
	return err
}

func openSocket(name string) (*bpf.Program, *xsk.Socket, error) {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return nil, nil, err
	}
	prog, err := bpf.LoadSwitch(bpf.PortConfig{})
	if err != nil {
		return nil, nil, err
	}
	sock, err := xsk.Open(dev.Attrs().Index, prog.XSKMap(), xsk.DefaultOptions)
	if err != nil {
		return nil, nil, err
	}
	_, err = prog.Attach(dev.Attrs().Index)
	return prog, sock, err
}

func (r *rig) do(b *testing.B, fn func() error) {
	b.Helper()
	if err := netspace.Do(r.ns, fn); err != nil {
		b.Fatal(err)
	}
}

// counted is how many frames have reached the far end. Without a socket there, the program drops
// and counts.
func (r *rig) counted(b *testing.B) uint64 {
	b.Helper()
	c, err := r.sink.Counters()
	if err != nil {
		b.Fatal(err)
	}
	return c.NoSocket
}

// push sends n frames, at most window of them on their way at a time, and returns the time until
// the last one has arrived.
func (r *rig) push(b *testing.B, n int) time.Duration {
	b.Helper()
	base := r.counted(b)
	begin := time.Now()
	nap := unix.NsecToTimespec(10_000)
	for sent, arrived := 0, 0; arrived < n; {
		before := sent
		for ; sent < n && sent-arrived < window; sent++ {
			f := r.pool.Get()
			f.Set(r.frame)
			if !r.gen.Send(f) {
				f.Release()
				break
			}
		}
		if err := r.gen.Flush(); err != nil {
			b.Fatal(err)
		}
		arrived = int(r.counted(b) - base)
		if sent == before {
			_, _ = unix.Ppoll(nil, &nap, nil) // leave the core to the forwarder
		}
		if time.Since(begin) > 30*time.Second {
			b.Fatalf("%d of %d frames arrived in 30 s", arrived, n)
		}
	}
	return time.Since(begin)
}
