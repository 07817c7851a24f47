package perftest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// script is an exchange whose peer says what was written down, and notes what it was told.
type script struct {
	in  []byte
	out [][]byte
}

func (s *script) swap(out, in []byte) error {
	s.out = append(s.out, bytes.Clone(out))
	if len(in) > len(s.in) {
		return io.ErrUnexpectedEOF
	}
	s.in = s.in[copy(in, s.in):]
	return nil
}

func (s *script) keys(own Keys) (Keys, error) {
	in := make([]byte, keysTextLen)
	if err := s.swap(own.AppendText(nil), in); err != nil {
		return Keys{}, err
	}
	return ParseKeys(in)
}

func (s *script) bound(time.Duration) {}

func (s *script) finish() error { return nil }

func (s *script) close() {}

// What we say first is what a real client said, and we understand its server's answers.
func TestGreetAsRealPrograms(t *testing.T) {
	for _, name := range append([]string{"ib_send_bw_R.txt"}, overTCP...) {
		var client [][]byte
		var server []byte
		for _, m := range transcript(t, name)[:8] {
			if m.client {
				client = append(client, m.bytes)
			} else {
				server = append(server, m.bytes...)
			}
		}
		s := script{in: server}
		g, err := greet(&s, 1024)
		if err != nil || g != (greeting{Version, 4096, 64, 1024}) {
			t.Fatalf("%s: %+v, %v", name, g, err)
		}
		for i := range client {
			if !bytes.Equal(s.out[i], client[i]) {
				t.Errorf("%s: message %d is %x, the real one %x", name, i, s.out[i], client[i])
			}
		}
	}
}

// Both ends over a real connection.
func TestExchangeOverTCP(t *testing.T) {
	a, b := pair(t)
	client, server := newTCP(t.Context(), a, true), newTCP(t.Context(), b, false)
	defer client.close()
	defer server.close()
	type outcome struct {
		g    greeting
		keys Keys
		sum  summary
		err  error
	}
	talk := func(x exchange, mtu int, k Keys, s summary) (o outcome) {
		if o.g, o.err = greet(x, mtu); o.err != nil {
			return o
		}
		if o.keys, o.err = x.keys(k); o.err != nil {
			return o
		}
		if o.sum, o.err = swapSummaries(x, s); o.err != nil {
			return o
		}
		o.err = x.finish()
		return o
	}
	k := Keys{QPN: 17, PSN: 0xffffff, RKey: 1 << 31, VA: 1 << 63, OutReads: 128}
	done := make(chan outcome, 1)
	go func() { done <- talk(server, 4096, k, summary{}) }()
	told := summary{size: 1, iterations: 2, peak: 3, average: 4, rate: 5}
	mine := talk(client, 2048, Keys{QPN: 18}, told)
	theirs := <-done
	if mine.err != nil || theirs.err != nil {
		t.Fatal(mine.err, theirs.err)
	}
	k.GID = mine.keys.GID // was not set: the unspecified address
	if mine.keys != k || theirs.keys.QPN != 18 || theirs.sum != told ||
		mine.g.mtu != 2048 || theirs.g.mtu != 2048 {
		t.Fatalf("client %+v\nserver %+v", mine, theirs)
	}
}

// What can be wrong with a peer is said so that one knows what to do.
func TestExchangeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		peer func(net.Conn)
		want string
	}{
		"gone":        {func(c net.Conn) { c.Close() }, "closed the connection: its own output"},
		"half":        {func(c net.Conn) { c.Write([]byte("6.06")); c.Close() }, "(4 bytes of 16)"},
		"old":         {func(c net.Conn) { c.Write(appendVersion(nil, "5.50")) }, "version 5.50"},
		"other":       {func(c net.Conn) { c.Write([]byte("SSH-2.0-OpenSSH_9")) }, "not perftest"},
		"interrupted": {func(net.Conn) {}, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			x := newTCP(ctx, a, true)
			defer x.close()
			go func() {
				io.ReadFull(b, make([]byte, versionLen))
				c.peer(b)
				if name == "interrupted" {
					cancel(errors.New("interrupted"))
				}
			}()
			_, err := greet(x, 1024)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			cancel(nil)
		})
	}
}

// pair is a TCP connection over loopback.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}
