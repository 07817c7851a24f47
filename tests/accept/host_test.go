package accept

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
)

// In a lab the hosts' kernels go on as ever while RoCE has the links at their full rate: a TCP
// connection carries its bytes, and no RoCE packet arrives at a kernel. A QP that is joined without
// a MAC address goes where the kernel says, also here, where the rest is given.
func TestKernelTrafficNextToRoCEInALab(t *testing.T) {
	lab, c := upStar(t)
	s := &star{T: t, lab: lab, ctx: context.Background()}
	var a, b nicd.Endpoint
	const size = 64_000
	s.call("h1", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: size}, &a)
	s.call("h2", http.MethodPost, "/v1/open", nicd.OpenRequest{Bytes: size}, &b)
	a.MAC, b.MAC = wire.MAC{}, wire.MAC{}
	s.call("h1", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
	s.call("h2", http.MethodPost, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
	s.call("h1", http.MethodPost, "/v1/flow", nicd.FlowRequest{Name: "f", QPN: a.QPN,
		Verb: "write", Depth: 4, MessageBytes: size}, nil)

	data := make([]byte, 200_000)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(data) // never fails
	if got := overTCP(t, lab, data); !bytes.Equal(got, data) {
		t.Errorf("%d bytes arrived, or others than the %d sent", len(got), len(data))
	}
	if s.done("h1") == 0 {
		t.Error("RoCE did not move")
	}
	for _, host := range []string{"h1", "h2"} {
		if err := netspace.Do(lab+"-"+host, silent); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for args, want := range map[string]string{
		"rdma link h1": "link h1/1 state ACTIVE physical_state LINK_UP netdev eth0\n",
		"rdma gids h2": "h2\t1\t0\t0000:0000:0000:0000:0000:ffff:0a00:0002\t10.0.0.2 \tv2\teth0\n",
		"rdma qp h1":   "rqpn 17 type RC state RTS\n",
		"rdma peers":   "10.0.0.2 dev eth0 lladdr 02:72:00:00:00:01 from 10.0.0.1 REACHABLE\n",
		"rdma link -j": "\"path_mtu\": 1024",
	} {
		code, out, errs := run(t, "rocelab",
			append([]string{"show", "--lab", lab}, strings.Fields(args)...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("show %s: exit code %d\n%s%s\nwant %q", args, code, out, errs, want)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}

// overTCP sends data from h1 to h2 and returns what arrives.
func overTCP(t *testing.T, lab string, data []byte) []byte {
	t.Helper()
	var l net.Listener
	err := netspace.Do(lab+"-h2", func() (err error) {
		l, err = net.Listen("tcp4", "10.0.0.2:5001")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type result struct {
		got []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer conn.Close()
		got, err := io.ReadAll(conn)
		done <- result{got, err}
	}()
	err = netspace.Do(lab+"-h1", func() error {
		conn, err := net.DialTimeout("tcp4", "10.0.0.2:5001", 30*time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.got
}

// silent returns an error if the kernel of the thread's namespace got UDP packets for which there
// was nobody, or said so to others.
func silent() error {
	text, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		// Udp: InDatagrams NoPorts ...
		if f := strings.Fields(line); f[0] == "Udp:" && f[1] != "InDatagrams" &&
			(f[1] != "0" || f[2] != "0") {
			return errors.New("the kernel got UDP: " + line)
		}
	}
	return nil
}
