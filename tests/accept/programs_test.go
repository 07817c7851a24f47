package accept

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/tests/require"
)

// nics are two nicd processes on the ends of a veth pair, in a namespace of the test's own. Each is
// the gateway of the other, so that nobody asks the kernel for the way.
type nics struct {
	ns      string
	daemons [2]*command
	paths   [2]string
}

func macOf(i int) wire.MAC  { return wire.MAC{2, 0, 0, 0, 9, byte(i + 1)} }
func ipOf(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 9, 8, byte(i + 1)}) }

func upNICs(t *testing.T) *nics {
	t.Helper()
	require.Root(t)
	n := &nics{ns: fmt.Sprintf("rl-programs-%d", os.Getpid())}
	if err := netspace.Create(n.ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(n.ns); err != nil {
			t.Error(err)
		}
	})
	err := netspace.Do(n.ns, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "p0"
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "p1"}); err != nil {
			return err
		}
		for i := range 2 {
			dev, err := netlink.LinkByName(fmt.Sprintf("p%d", i))
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(dev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range n.daemons {
		control := filepath.Join(dir, fmt.Sprintf("n%d.sock", i))
		config := filepath.Join(dir, fmt.Sprintf("n%d.yaml", i))
		n.paths[i] = filepath.Join(dir, fmt.Sprintf("n%d.verbs", i))
		text := fmt.Sprintf("name: n%d\nnetns: %s\ncontrol: %s\nport: {name: p%d, rate: 1Gb/s}\n"+
			"mac: %v\nipv4: %v\ncc: {algorithm: none}\ngateway: {subnet: %v/32, mac: %v}\n", i,
			n.ns, control, i, macOf(i), ipOf(i), ipOf(i), macOf(1-i))
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		n.daemons[i] = start(t, "nicd", "-config", config)
		n.daemons[i].until(t, "running")
	}
	return n
}

// owner is a program with a QP and memory on one of them.
type owner struct {
	dev *rdma.Device
	mem *rdma.Memory
	cq  *rdma.CQ
	qp  *rdma.QP
}

func (n *nics) own(t *testing.T, i int) *owner {
	t.Helper()
	o := &owner{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	o.dev, err = rdma.Open(n.paths[i])
	must(err)
	t.Cleanup(func() { o.dev.Close() })
	pd, err := o.dev.AllocPD()
	must(err)
	o.mem, err = pd.Allocate(1<<20, rdma.Access{LocalWrite: true, RemoteWrite: true})
	must(err)
	o.cq, err = o.dev.CreateCQ(64)
	must(err)
	o.qp, err = pd.CreateQP(rdma.QPConfig{SendCQ: o.cq})
	must(err)
	return o
}

// Two programs exchange data by two daemons over a veth; the socket is for root and its group
// alone. When a daemon is killed, its program learns it at once, whatever it waits for, and the
// other one's requests run out of retries.
func TestProgramsAndKilledDaemon(t *testing.T) {
	n := upNICs(t)
	st, err := os.Stat(n.paths[0])
	if err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("socket: %v, %v", st, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ends := [2]*owner{n.own(t, 0), n.own(t, 1)}
	for i, e := range ends {
		peer := ends[1-i]
		err := e.qp.Connect(ctx, rdma.Remote{QPN: peer.qp.QPN(), PSN: peer.qp.PSN(),
			Path: rdma.Path{IP: ipOf(1 - i), MAC: macOf(1 - i)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := ends[0], ends[1]
	for i := range a.mem.Bytes {
		a.mem.Bytes[i] = byte(i * 31)
	}
	write := rdma.WR{Op: rdma.Write, Local: a.mem.Segment(0, 1<<20), Remote: b.mem.Target(0)}
	if _, err := a.qp.Post(write); err != nil {
		t.Fatal(err)
	}
	var c [1]rdma.Completion
	if _, err := a.cq.Wait(ctx, c[:]); err != nil || c[0].Status != rdma.Success ||
		string(a.mem.Bytes) != string(b.mem.Bytes) {
		t.Fatalf("%+v, %v", c[0], err)
	}
	waiting := make(chan error, 1)
	go func() {
		var c [1]rdma.Completion
		_, err := b.cq.Wait(ctx, c[:])
		waiting <- err
	}()
	if err := n.daemons[1].Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-waiting:
		if !errors.Is(err, rdma.ErrDaemonGone) {
			t.Errorf("who waits sees %v", err)
		}
	case <-time.After(limit):
		t.Fatal("who waits for a daemon that was killed waits on")
	}
	if _, err := b.qp.Post(write); !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("who posts sees %v", err)
	}
	if _, err := a.qp.Post(write); err != nil {
		t.Fatal(err)
	}
	if _, err := a.cq.Wait(ctx, c[:]); err != nil || c[0].Status != rdma.RetryExceeded {
		t.Errorf("the peer sees %v, %v", c[0].Status, err)
	}
}
