package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// tcp is the exchange over a TCP connection.
type tcp struct {
	conn   net.Conn
	client bool
	each   time.Duration // that a step may take; 0: as long as the peer is there
	stop   func() bool   // ends what ends the connection when the context does
	ctx    context.Context
}

func newTCP(ctx context.Context, conn net.Conn, client bool) *tcp {
	return &tcp{conn: conn, client: client, ctx: ctx,
		stop: context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })}
}

// bound has the kernel ask whether the peer's machine is there, often enough to know in time.
func (t *tcp) bound(d time.Duration) {
	const probes = 4
	if c, ok := t.conn.(interface {
		SetKeepAliveConfig(net.KeepAliveConfig) error
	}); ok && d > 0 {
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d / 2,
			Interval: d / 2 / probes, Count: probes})
	}
	t.each = d
}

func (t *tcp) swap(out, in []byte) error {
	if err := t.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if t.each > 0 {
		end := time.AfterFunc(t.each, func() { _ = t.conn.SetDeadline(time.Unix(1, 0)) })
		defer end.Stop()
	}
	if t.ctx.Err() != nil { // its deadline may have been overwritten
		return context.Cause(t.ctx)
	}
	if t.client {
		if err := t.write(out); err != nil {
			return err
		}
		return t.read(in)
	}
	if err := t.read(in); err != nil {
		return err
	}
	return t.write(out)
}

func (t *tcp) keys(own Keys) (Keys, error) {
	in := make([]byte, keysTextLen)
	if err := t.swap(own.AppendText(nil), in); err != nil {
		return Keys{}, err
	}
	return ParseKeys(in)
}

// finish writes "done", as perftest does, which does not wait for the peer's. We do, because to
// close a connection on which something arrives makes the kernel throw away what the peer has not
// read yet.
func (t *tcp) finish() error {
	if err := t.write([]byte("done\x00")); err != nil {
		return err
	}
	if c, ok := t.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	bound := time.AfterFunc(farewell, func() { _ = t.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer bound.Stop()
	_, _ = io.Copy(io.Discard, t.conn)
	return nil
}

// farewell bounds the wait for a peer to close its side.
const farewell = 2 * time.Second

func (t *tcp) close() {
	t.stop()
	t.conn.Close()
}

func (t *tcp) write(b []byte) error {
	_, err := t.conn.Write(b)
	return t.explain(err, 0, len(b))
}

func (t *tcp) read(b []byte) error {
	n, err := io.ReadFull(t.conn, b)
	return t.explain(err, n, len(b))
}

// explain says what an error means for the one who runs the test.
func (t *tcp) explain(err error, n, want int) error {
	peer := t.conn.RemoteAddr()
	switch {
	case err == nil:
		return nil
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case n == keysNoGIDLen && want == keysTextLen:
		return fmt.Errorf("%v sent no GID: start it with its option -x", peer)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%v closed the connection within a message (%d bytes of %d): it may be "+
			"of another version, or run another test", peer, n, want)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%v closed the connection: its own output should say why", peer)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%v: %w, now %v", peer, errSilent, t.each)
	case errors.Is(err, syscall.ETIMEDOUT):
		return fmt.Errorf("%v has vanished: its machine, or the way to it", peer)
	}
	return err
}
