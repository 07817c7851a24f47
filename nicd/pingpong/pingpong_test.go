package pingpong

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/rdma/rdmatest"
)

// captured is what two ibv_rc_pingpong of rdma-core 44 said over TCP.
func captured(t testing.TB) (all [][]byte) {
	t.Helper()
	f, err := os.Open("testdata/ibv_rc_pingpong.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		_, text, _ := strings.Cut(s.Text(), " ")
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

func TestRealPrograms(t *testing.T) {
	said := captured(t)
	for i, want := range []string{"10.9.0.2", "10.9.0.1"} {
		e, err := parseEnd(said[i])
		if err != nil || e.gid != netip.MustParseAddr(want) || e.qpn != 0x11 {
			t.Errorf("%+v, %v", e, err)
		}
		if got := e.append(nil); !bytes.Equal(got, said[i]) || len(got) != endLen {
			t.Errorf("%q is written %q", said[i], got)
		}
	}
	if !bytes.Equal(said[2], done) {
		t.Errorf("the last words are %q", said[2])
	}
}

func FuzzParseEnd(f *testing.F) {
	for _, b := range captured(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEnd(b)
		if err != nil {
			return
		}
		again, err := parseEnd(e.append(nil))
		if err != nil || again != e {
			t.Fatalf("%q is %+v, written and read again %+v, %v", b, e, again, err)
		}
	})
}

// Each program against itself, on two NICs. Everything that comes back is what went.
func TestBothEnds(t *testing.T) {
	paths := rdmatest.NewPair(t)
	for _, kind := range []Kind{RC, UD, SRQ} {
		for _, size := range []int{1, 1000, 4096} {
			if kind == UD && size > 1024 {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", kind, size), func(t *testing.T) {
				c := Defaults(kind)
				c.Size, c.Iterations, c.RxDepth, c.Check = size, 50, 32, true
				c.Patience = 20 * time.Second
				text, err := both(t, paths, c)
				want := fmt.Sprintf("%d bytes in ", 2*50*size)
				if err != nil || !strings.Contains(text, want) ||
					!strings.Contains(text, "50 iters in ") {
					t.Errorf("%v\n%s", err, text)
				}
			})
		}
	}
}

// both plays both ends and returns what the client printed.
func both(t *testing.T, paths [2]string, c Config) (string, error) {
	t.Helper()
	open := func(i int) *rdma.Device {
		d, err := rdma.Open(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	client, server := open(0), open(1)
	c.Port = 0
	heard, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		var w bytes.Buffer
		ended <- run(t.Context(), server, c, &w, io.Discard, func(a net.Addr) { heard <- a })
	}()
	select {
	case err := <-ended:
		return "", err
	case at := <-heard:
		c.Port, c.Server = uint16(at.(*net.TCPAddr).Port), "127.0.0.1"
	}
	var w bytes.Buffer
	var warned bytes.Buffer
	if err := run(t.Context(), client, c, &w, &warned, nil); err != nil {
		return w.String(), err
	}
	if warned.Len() > 0 {
		t.Errorf("in a lab, which loses no time: %s", warned.String())
	}
	return w.String(), <-ended
}

// By hand: of 10 ms for 1000 messages 5 are lost.
func TestLostTimeIsTold(t *testing.T) {
	var b bytes.Buffer
	tellLoss(&b, &Config{Iterations: 1000}, 10*time.Millisecond, 5*time.Millisecond)
	want := "WARNING: the NIC's clock lost 5ms in these 10ms; by the wall clock it is " +
		"15.00 usec/iter\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// Both ends must agree on the size, and a peer must be a ping-pong program.
func TestRefused(t *testing.T) {
	for _, c := range []Config{{Kind: "uc", Size: 1, QPs: 1, RxDepth: 1, Iterations: 1},
		{Kind: RC, Size: 0, QPs: 1, RxDepth: 1, Iterations: 1},
		{Kind: UD, Size: 2000, MTU: 1024, QPs: 1, RxDepth: 1, Iterations: 1},
		{Kind: SRQ, Size: 1, QPs: 4, RxDepth: 3, Iterations: 1},
		{Kind: RC, Size: 1, QPs: 2, RxDepth: 3, Iterations: 1},
		{Kind: RC, Size: 1, QPs: 1, RxDepth: 3}} {
		if c.Validate() == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	for _, text := range []string{"", "done", "0000:000011:2b4912", "0000:0g0011:012b49:" +
		strings.Repeat("0", 32), strings.Repeat(":", 51)} {
		if e, err := parseEnd([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, e)
		}
	}
}
