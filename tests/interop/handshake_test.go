package interop

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/tests/interop/guest"
)

// keys are what one end of a perftest tells the other of itself.
type keys struct {
	qpn  ib.QPN
	psn  ib.PSN // it sends from here on
	rkey uint32
	va   uint64
	ip   netip.Addr
}

// handshake is perftest 4.5's over TCP, of its bandwidth tests: an implementation of its own, from
// what real ones were seen to say, so that nicd/perftest is not judged by itself. The client speaks
// first; the other side answers with as many bytes.
type handshake struct {
	conn   net.Conn
	client bool
	mtu    int  // path MTU
	send   bool // of ib_send_bw: the server has posted receives after one exchange more
}

// mtuCode is how verbs number path MTUs.
var mtuCode = map[int]string{1024: "3", 4096: "5"}

// swap sends ours and returns the peer's of the same size.
func (h *handshake) swap(ours []byte) ([]byte, error) {
	theirs := make([]byte, len(ours))
	var err error
	if h.client {
		_, err = h.conn.Write(ours)
	}
	if err == nil {
		_, err = io.ReadFull(h.conn, theirs)
	}
	if err == nil && !h.client {
		_, err = h.conn.Write(ours)
	}
	return theirs, err
}

// begin exchanges versions and parameters, then keys until both are ready. The first keys tell who
// the peer is; join is called before the last, after which it may send.
func (h *handshake) begin(ours keys, join func(peer keys) error) error {
	for _, m := range []string{"6.06" + strings.Repeat("\x00", 12), "\x00\x00\x10\x00",
		"\x00\x00\x00\x40", mtuCode[h.mtu] + "\x00"} {
		if _, err := h.swap([]byte(m)); err != nil {
			return err
		}
	}
	rounds := 3
	if h.send {
		rounds = 4
	}
	for i := range rounds {
		theirs, err := h.swap(ours.text())
		if err == nil && i == 0 {
			var peer keys
			if peer, err = parseKeys(theirs); err == nil {
				err = join(peer)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end exchanges what follows the test: keys, results, keys. Then each end writes "done" and closes,
// and neither waits for the other's, which the end of the connection may overtake.
func (h *handshake) end(ours keys) error {
	k := ours.text()
	messages := [][]byte{k, make([]byte, 8), make([]byte, 8), make([]byte, 8), make([]byte, 8),
		make([]byte, 8), k}
	if h.send {
		messages = [][]byte{k}
	}
	for _, m := range messages {
		if _, err := h.swap(m); err != nil {
			return err
		}
	}
	_, _ = h.conn.Write([]byte("done\x00"))
	return nil
}

// outstanding READs and atomics that we say we take.
const outstanding = 16

func (k keys) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%04x:%04x:%06x:%06x:%08x:%016x:", 0, outstanding, uint32(k.qpn),
		uint32(k.psn), k.rkey, k.va)
	for _, x := range k.ip.As16() {
		fmt.Fprintf(&b, "%02x:", x)
	}
	fmt.Fprintf(&b, "%08x:\x00", 0)
	return b.Bytes()
}

func parseKeys(b []byte) (k keys, err error) {
	f := strings.Split(strings.TrimRight(string(b), "\x00"), ":")
	if len(f) != 24 {
		return k, fmt.Errorf("keys %q have %d fields", b, len(f))
	}
	var n [4]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(f[2+i], 16, 64); err != nil {
			return k, err
		}
	}
	gid, err := hex.DecodeString(strings.Join(f[6:22], ""))
	if err != nil {
		return k, err
	}
	ip, _ := netip.AddrFromSlice(gid)
	return keys{ib.QPN(n[0]), ib.PSN(n[1]), uint32(n[2]), n[3], ip.Unmap()}, nil
}

// perftestPort is where perftest and the ibv_*_pingpong programs listen.
const perftestPort = 18515

// meet starts the guest's program and opens the TCP connection with it, as client or server; it
// lasts as long as ctx. Whoever is the server listens before the client begins.
func (s *station) meet(t *testing.T, ctx context.Context, client bool,
	command string) (*guest.Process, net.Conn) {
	t.Helper()
	var l *net.TCPListener
	if !client {
		l = s.listen(t, ctx)
		defer l.Close()
	}
	p, err := s.guest.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	var conn net.Conn
	if client {
		conn, err = s.dial(ctx)
	} else {
		conn, err = l.Accept()
	}
	if err == nil {
		deadline, _ := ctx.Deadline()
		err = conn.SetDeadline(deadline)
	}
	if err != nil {
		t.Fatalf("meet %s: %v\n%s", command, err, p.Output())
	}
	return p, conn
}

// listen waits for clients as long as ctx lasts.
func (s *station) listen(t *testing.T, ctx context.Context) (l *net.TCPListener) {
	t.Helper()
	err := netspace.Do(s.space, func() (err error) {
		l, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(ours4), Port: perftestPort})
		return err
	})
	if err == nil {
		deadline, _ := ctx.Deadline()
		err = l.SetDeadline(deadline)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// dial connects to the guest's program when it listens.
func (s *station) dial(ctx context.Context) (conn net.Conn, err error) {
	if err := s.guest.Listens(ctx, perftestPort); err != nil {
		return nil, err
	}
	err = netspace.Do(s.space, func() error {
		to := fmt.Sprintf("%s:%d", guest4, perftestPort)
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", to)
		return err
	})
	return conn, err
}
