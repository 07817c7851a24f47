package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/tests/require"
)

// rig is a relay daemon between two veth pairs in a namespace of the test's own. The far ends,
// fa and fb, are ordinary devices that the test reads and writes with packet sockets.
type rig struct {
	d     *Daemon
	relay *conform.Relay
	ns    string
	far   [2]int // packet sockets
}

func newRig(t *testing.T) *rig {
	t.Helper()
	require.Root(t)
	r := &rig{relay: &conform.Relay{}, ns: fmt.Sprintf("rl-daemon-%d", os.Getpid())}
	if err := netspace.Create(r.ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(r.ns); err != nil {
			t.Error(err)
		}
	})
	for i, name := range []string{"a", "b"} {
		r.addVeth(t, name)
		r.openFar(t, i, "f"+name)
	}
	dir := t.TempDir()
	d, err := New(Spec{
		Kind:   "switchd",
		Device: r.relay,
		Pool:   frame.NewPool(512, 2048),
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		Load: func(_ int, cfg bpf.PortConfig) (*bpf.Program, error) {
			return bpf.LoadSwitch(cfg)
		},
		Common: Common{Name: "rig", Netns: r.ns, Control: filepath.Join(dir, "control"),
			Metrics: "127.0.0.1:0"},
		Ports: []PortConfig{
			{Name: "a", Rate: 40 * unit.GbPerSecond},
			{Name: "b", Rate: 40 * unit.GbPerSecond},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.d = d
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) do(t *testing.T, fn func() error) {
	t.Helper()
	if err := netspace.Do(r.ns, fn); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) addVeth(t *testing.T, name string) {
	t.Helper()
	r.do(t, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		if err := netlink.LinkAdd(
			&netlink.Veth{LinkAttrs: attrs, PeerName: "f" + name},
		); err != nil {
			return err
		}
		for _, dev := range []string{name, "f" + name} {
			path := "/proc/sys/net/ipv6/conf/" + dev + "/disable_ipv6"
			if err := os.WriteFile(path, []byte("1"), 0o644); err != nil {
				return err
			}
			l, err := netlink.LinkByName(dev)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(l); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *rig) openFar(t *testing.T, i int, dev string) {
	t.Helper()
	r.do(t, func() error {
		proto := 0x0300 // ETH_P_ALL in network order
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, proto)
		if err != nil {
			return err
		}
		l, err := netlink.LinkByName(dev)
		if err != nil {
			return err
		}
		tv := unix.NsecToTimeval(int64(5 * time.Second))
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
			return err
		}
		r.far[i] = fd
		t.Cleanup(func() { unix.Close(fd) })
		return unix.Bind(
			fd,
			&unix.SockaddrLinklayer{Protocol: uint16(proto), Ifindex: l.Attrs().Index},
		)
	})
}

// frameTo is a frame of an experimental EtherType (IEEE 802 local experimental) with a tag.
func frameTo(tag byte, size int) []byte {
	f := make([]byte, size)
	copy(f, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5})
	f[size-1] = tag
	return f
}

// receive reads the next frame that came in from the wire.
func (r *rig) receive(t *testing.T, i int) []byte {
	t.Helper()
	buf := make([]byte, 2048)
	for {
		n, from, err := unix.Recvfrom(r.far[i], buf, 0)
		if err != nil {
			t.Fatalf("nothing arrives at far end %d: %v", i, err)
		}
		if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype != unix.PACKET_OUTGOING {
			return buf[:n]
		}
	}
}

func TestRealFramesCrossARelay(t *testing.T) {
	r := newRig(t)
	for i := range 200 {
		in, out := i%2, 1-i%2
		want := frameTo(byte(i), 60+i*7)
		if _, err := unix.Write(r.far[in], want); err != nil {
			t.Fatal(err)
		}
		if got := r.receive(t, out); string(got) != string(want) {
			t.Fatalf(
				"frame %d of %d bytes came out as %d bytes, tag %d",
				i,
				len(want),
				len(got),
				got[len(got)-1],
			)
		}
	}
	st, err := r.d.Loop.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range st.Ports {
		if p.Received != 100 || p.Sent != 100 || p.Lost() != 0 {
			t.Errorf("port %d: %+v", i, p)
		}
	}
	l := r.relay.Ledger()
	if err := l.Check(); err != nil {
		t.Error(err)
	}
}

func TestADeletedDeviceTakesOnePortDownUntilItIsBack(t *testing.T) {
	r := newRig(t)
	r.do(t, func() error {
		dev, err := netlink.LinkByName("b")
		if err != nil {
			return err
		}
		return netlink.LinkDel(dev)
	})
	waitFor(t, "port b is down", func() bool { return r.portUp(t, 1) == false })
	if _, err := unix.Write(r.far[0], frameTo(1, 100)); err != nil {
		t.Fatal(err)
	}
	r.addVeth(t, "b")
	r.openFar(t, 1, "fb")
	waitFor(t, "port b is up", func() bool { return r.portUp(t, 1) })
	waitFor(t, "frames cross again", func() bool {
		if _, err := unix.Write(r.far[0], frameTo(2, 100)); err != nil {
			t.Fatal(err)
		}
		got := r.receive(t, 1)
		return got[len(got)-1] == 2
	})
	st, err := r.d.Loop.Stats()
	if err != nil || st.PortsDown != 1 {
		t.Errorf("%d ports went down, %v", st.PortsDown, err)
	}
}

func (r *rig) portUp(t *testing.T, i int) (up bool) {
	t.Helper()
	if err := r.d.Loop.Do(func(unit.Time) { up = r.d.Loop.Up(frame.PortID(i)) }); err != nil {
		t.Fatal(err)
	}
	return up
}

// waitFor asks until ok, for ten seconds at most.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within 10 s", what)
		case <-tick.C:
		}
	}
}

func TestMissingDeviceIsNamed(t *testing.T) {
	require.Root(t)
	_, err := New(Spec{Kind: "switchd", Device: &conform.Relay{}, Pool: frame.NewPool(8, 2048),
		Log: slog.New(slog.DiscardHandler), Common: Common{Name: "x"},
		Ports: []PortConfig{{Name: "nosuchdev0", Rate: 1e9}}})
	if err == nil || !strings.Contains(err.Error(), "port nosuchdev0: no such device") {
		t.Errorf("error %v", err)
	}
}

func TestTakenMetricsPortIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d, err := New(Spec{
		Kind:   "switchd",
		Device: &conform.Relay{},
		Pool:   frame.NewPool(8, 2048),
		Log: slog.New(
			slog.DiscardHandler,
		),
		Common: Common{Name: "x", Metrics: taken.Addr().String(),
			Control: filepath.Join(t.TempDir(), "c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "metrics endpoint") ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
}

func TestControlSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control")
	d, err := New(Spec{Kind: "nicd", Device: &conform.Relay{}, Pool: frame.NewPool(8, 2048),
		Log: slog.New(slog.DiscardHandler), Common: Common{Name: "x", Control: path}})
	if err != nil {
		t.Fatal(err)
	}
	type in struct{ A, B int }
	Handle(d.Control, "POST /v1/add", func(v in) (int, error) { return v.A + v.B, nil })
	Handle(d.Control, "GET /v1/fail", func(struct{}) (int, error) { return 0, os.ErrInvalid })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	c := NewClient(path)
	defer c.Close()
	sum := 0
	waitFor(t, "the socket answers", func() bool {
		return c.Call(ctx, http.MethodPost, "/v1/add", in{2, 3}, &sum) == nil
	})
	if sum != 5 {
		t.Errorf("2 + 3 = %d", sum)
	}
	if err := c.Call(ctx, http.MethodGet, "/v1/fail", nil, &sum); err == nil ||
		!strings.HasSuffix(err.Error(), "GET /v1/fail: invalid argument") {
		t.Errorf("error %v", err)
	}
	if err := c.Call(ctx, http.MethodPost, "/v1/add", map[string]int{"C": 1}, &sum); err == nil ||
		!strings.Contains(err.Error(), `unknown field "C"`) {
		t.Errorf("error %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
