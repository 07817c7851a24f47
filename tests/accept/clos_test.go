package accept

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// patience bounds a step of a test on a busy machine.
const patience = 60 * time.Second

// upClos brings up the shipped Clos under a name of the test's own.
func upClos(t *testing.T) (lab string, c *command) {
	t.Helper()
	lab = labName(t)
	text, err := os.ReadFile("../../deploy/topologies/clos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	topology := strings.Replace(string(text), "name: clos", "name: "+lab, 1)
	file := filepath.Join(t.TempDir(), "clos.yaml")
	if err := os.WriteFile(file, []byte(topology), 0o644); err != nil {
		t.Fatal(err)
	}
	c = start(t, "rocelab", "up", file)
	c.until(t, "is up")
	return lab, c
}

// TestKernelsAcrossTheClos: the hosts' own kernels, which know nothing but their gateway, ping it
// and a spine behind it, and talk TCP with a host of the other pod across five routers.
func TestKernelsAcrossTheClos(t *testing.T) {
	lab, c := upClos(t)
	err := netspace.Do(lab+"-h11", func() error {
		for _, to := range []string{"10.0.1.1", "10.2.1.1", "10.0.2.1"} {
			if err := ping(to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	const size = 50_000
	if n, err := transfer(lab+"-h11", lab+"-h21", "10.0.2.11:5001", size); err != nil || n != size {
		t.Errorf("%d bytes arrived (%v), want %d", n, err, size)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	nothingLeft(t, lab)
}

// ping sends an echo request and waits for its reply.
func ping(to string) error {
	conn, err := net.Dial("ip4:icmp", to)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	echo := append([]byte{wire.ICMPEcho, 0, 0, 0, 'r', 'l', 0, 1}, "is anybody there?"...)
	(*wire.ICMP)(echo).SetChecksum(wire.ICMPChecksum(echo))
	if _, err := conn.Write(echo); err != nil {
		return err
	}
	answer := make([]byte, 1500)
	for {
		n, err := conn.Read(answer)
		if err != nil {
			return err
		}
		message := answer[:n]
		if head, ok := wire.AsIPv4(message); ok && head.Version() == 4 {
			message = message[head.HeaderLen():]
		}
		if message[0] == wire.ICMPEchoReply && string(message[4:]) == string(echo[4:]) {
			return nil
		}
		if message[0] != wire.ICMPEcho {
			return errors.New("ping " + to + ": another answer came")
		}
	}
}

// transfer sends bytes by TCP from one namespace to a listener in another, and returns how many
// arrived.
func transfer(from, to, address string, size int) (n int64, err error) {
	var l net.Listener
	if err := netspace.Do(to, func() (err error) {
		l, err = net.Listen("tcp4", address)
		return err
	}); err != nil {
		return 0, err
	}
	defer l.Close()
	type result struct {
		n   int64
		err error
	}
	got := make(chan result, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- result{0, err}
			return
		}
		defer conn.Close()
		n, err := io.Copy(io.Discard, conn)
		got <- result{n, err}
	}()
	if err := netspace.Do(from, func() error {
		conn, err := net.DialTimeout("tcp4", address, patience)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write(make([]byte, size))
		return err
	}); err != nil {
		return 0, err
	}
	r := <-got
	return r.n, r.err
}
