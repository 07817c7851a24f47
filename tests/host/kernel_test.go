package host

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// loaded is a pair with RoCE at the link's full rate in both directions.
func loaded(t *testing.T) (a, b *station, flows []*flow) {
	t.Helper()
	a, b = pair(t, nil)
	flows = []*flow{connect(a, b, "10.1.0.1", "10.1.0.2"), connect(b, a, "fd01::2", "fd01::1")}
	for _, f := range flows {
		f.start()
		f.goesOn(20)
	}
	return a, b, flows
}

// counters reads one of the kernel's tables of counters, as Udp.NoPorts or Udp6NoPorts.
func (s *station) counters() map[string]uint64 {
	s.Helper()
	out := make(map[string]uint64)
	err := netspace.Do(s.ns, func() error {
		// A thread's own view: /proc/net is that of the process.
		v4, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		v6, err := os.ReadFile("/proc/thread-self/net/snmp6")
		if err != nil {
			return err
		}
		var names []string
		for line := range strings.Lines(string(v4)) {
			f := strings.Fields(line)
			if len(names) > 0 && names[0] == f[0] {
				for i, v := range f[1:] {
					out[f[0][:len(f[0])-1]+"."+names[i+1]], _ = strconv.ParseUint(v, 10, 64)
				}
			}
			names = f
		}
		for line := range strings.Lines(string(v6)) {
			f := strings.Fields(line)
			out[f[0]], _ = strconv.ParseUint(f[1], 10, 64)
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// RoCE at full load goes past the kernel, and what is the kernel's goes past the NIC: no packet to
// UDP port 4791 arrives at the host, which would answer that nobody listens there.
func TestRoCENeverReachesTheKernel(t *testing.T) {
	a, b, flows := loaded(t)
	for _, f := range flows {
		f.goesOn(200)
	}
	for _, s := range []*station{a, b} {
		c := s.counters()
		for _, name := range []string{"Udp.NoPorts", "Udp.InDatagrams", "Icmp.OutDestUnreachs",
			"Udp6NoPorts", "Udp6InDatagrams", "Icmp6OutDestUnreachs"} {
			if n, ok := c[name]; !ok || n != 0 {
				t.Errorf("h%d: %s is %d (there: %v)", s.n, name, n, ok)
			}
		}
	}
}

// A TCP connection next to RoCE at full load carries every byte, over IPv4 and IPv6, to a neighbour
// that is found anew (ARP, ND), and all checksums are right.
func TestTCPNextToRoCE(t *testing.T) {
	a, b, flows := loaded(t)
	for _, at := range []string{"10.1.0.2", "fd01::2"} {
		a.ip("neigh del " + at + " dev eth0")
		const size = 4 << 20
		var l net.Listener
		err := netspace.Do(b.ns, func() (err error) {
			l, err = net.Listen("tcp", net.JoinHostPort(at, "5001"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		got := make(chan error, 1)
		sums := make(chan [sha256.Size]byte, 2)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				err = conn.SetDeadline(time.Now().Add(patience))
			}
			var all []byte
			if err == nil {
				all, err = io.ReadAll(conn)
				conn.Close()
			}
			sums <- sha256.Sum256(all)
			got <- err
		}()
		data := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
		err = netspace.Do(a.ns, func() error {
			conn, err := net.DialTimeout("tcp", l.Addr().String(), patience)
			if err != nil {
				return err
			}
			defer conn.Close()
			_, err = conn.Write(data)
			return err
		})
		if err = errors.Join(err, <-got); err != nil {
			t.Fatal(err)
		}
		if <-sums != sha256.Sum256(data) {
			t.Errorf("%s: other bytes arrived than were sent", at)
		}
	}
	for _, s := range []*station{a, b} {
		if c := s.counters(); c["Tcp.InErrs"]+c["Tcp.InCsumErrors"] != 0 {
			t.Errorf("h%d: %d bad segments, %d of them by checksum", s.n, c["Tcp.InErrs"],
				c["Tcp.InCsumErrors"])
		}
	}
	for _, f := range flows {
		f.goesOn(10)
	}
}

// Every echo request is answered once, next to RoCE at full load: nothing that is the kernel's is
// lost or doubled.
func TestPingNextToRoCE(t *testing.T) {
	a, b, flows := loaded(t)
	a.ping("ip4:icmp", "10.1.0.1", "10.1.0.2", 8, 0)
	a.ping("ip6:ipv6-icmp", "fd01::1", "fd01::2", 128, 129)
	for _, f := range flows {
		f.goesOn(10)
	}
	c := b.counters()
	if c["Icmp.InEchos"] != pings || c["Icmp6InEchos"] != pings {
		t.Errorf("h2 got %d and %d requests, want %d of each", c["Icmp.InEchos"],
			c["Icmp6InEchos"], pings)
	}
	c = a.counters()
	if c["Icmp.InEchoReps"] != pings || c["Icmp6InEchoReplies"] != pings {
		t.Errorf("h1 got %d and %d replies, want %d of each", c["Icmp.InEchoReps"],
			c["Icmp6InEchoReplies"], pings)
	}
}

const pings = 200

// ping sends echo requests one after the other, each when the one before is answered: RFC 792,
// RFC 4443 4.1.
func (s *station) ping(network, from, to string, request, reply uint8) {
	s.Helper()
	err := netspace.Do(s.ns, func() error {
		conn, err := net.ListenPacket(network, from)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		dst, err := net.ResolveIPAddr("ip", to)
		if err != nil {
			return err
		}
		for i := range pings {
			m := make([]byte, 1000)
			m[0] = request
			binary.BigEndian.PutUint16(m[4:], 0x4791)
			binary.BigEndian.PutUint16(m[6:], uint16(i))
			if request == 8 { // of ICMPv6 the kernel computes it
				binary.BigEndian.PutUint16(m[2:], wire.ICMPChecksum(m))
			}
			if _, err := conn.WriteTo(m, dst); err != nil {
				return err
			}
			for {
				n, _, err := conn.ReadFrom(m)
				if err != nil {
					return fmt.Errorf("reply %d: %w", i, err)
				}
				if n >= 8 && m[0] == reply && binary.BigEndian.Uint16(m[6:]) == uint16(i) {
					break
				}
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// What a plain UDP socket of the host sends to port 4791 is RoCE to the other end: it goes to the
// NIC there, which looks at it, and not to the host.
func TestPlainSocketReachesTheNIC(t *testing.T) {
	a, b := pair(t, nil)
	for _, to := range []string{"10.1.0.2", "fd01::2"} {
		err := netspace.Do(a.ns, func() error {
			conn, err := net.Dial("udp", net.JoinHostPort(to, strconv.Itoa(wire.PortRoCE)))
			if err != nil {
				return err
			}
			defer conn.Close()
			w := bufio.NewWriter(conn)
			_, _ = w.Write([]byte{100, 0x40, 0xff, 0xff}) // UD SEND ONLY, no room for its DETH
			_, _ = w.Write(make([]byte, 12))
			return w.Flush()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.await("the NIC has both", func() error {
		if l := b.status().Ledger; l.Dropped["malformed"].Frames != 2 {
			return fmt.Errorf("%+v", l.Dropped)
		}
		return nil
	})
	if c := b.counters(); c["Udp.NoPorts"]+c["Udp6NoPorts"] != 0 {
		t.Errorf("the host has %d and %d", c["Udp.NoPorts"], c["Udp6NoPorts"])
	}
}
