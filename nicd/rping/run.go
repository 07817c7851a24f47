package rping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// Config is what to do.
type Config struct {
	Server     bool
	Address    netip.Addr // of the server; a server may leave it out
	Port       uint16
	Count      int // pings; 0: until interrupted
	Size       int // bytes of the text
	Verbose    bool
	Validate   bool
	Debug      bool
	Persistent bool          // a server that goes on after a client has left
	Patience   time.Duration // real time to wait for an answer

	// Round, if not nil, is told of every ping of a client.
	Round func(t Trip)
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case c.Size < MinSize || c.Size > MaxSize:
		return fmt.Errorf("size is %d: it must be between %d and %d", c.Size, MinSize, MaxSize)
	case c.Count < 0:
		return fmt.Errorf("count is %d: it must not be negative", c.Count)
	case !c.Server && !c.Address.IsValid():
		return errors.New("a client needs the address of the server, -a")
	}
	return nil
}

// station is a NIC with what one connection needs.
type station struct {
	*channel
	qp    *rdma.QP
	close func()
}

func newStation(d *rdma.Device, size int, patience time.Duration) (s *station, err error) {
	pd, err := d.AllocPD()
	if err != nil {
		return nil, err
	}
	cq, err := d.CreateCQ(2 * (receives + 1))
	if err != nil {
		return nil, errors.Join(err, pd.Free())
	}
	mem, err := pd.Allocate(memoryNeeded(size), rdma.Access{LocalWrite: true, RemoteRead: true,
		RemoteWrite: true})
	if err != nil {
		return nil, errors.Join(err, cq.Close(), pd.Free())
	}
	q, err := pd.CreateQP(rdma.QPConfig{SendCQ: cq, SendDepth: 2, ReceiveDepth: receives})
	if err != nil {
		return nil, errors.Join(err, mem.Free(), cq.Close(), pd.Free())
	}
	s = &station{qp: q, channel: &channel{qp: q, cq: cq, mem: mem, size: size, patience: patience},
		close: func() { q.Close(); _ = mem.Free(); cq.Close(); _ = pd.Free() }}
	if err := s.prepare(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// params are rping's: one READ at a time.
var params = rdma.Params{ReadDepth: 1, Resources: 1, RetryCount: 7, RNRRetry: 7}

// Run pings or serves, and prints what rping prints.
func Run(ctx context.Context, d *rdma.Device, c Config, w io.Writer) error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.Server {
		return serve(ctx, d, &c, w)
	}
	s, err := newStation(d, c.Size, c.Patience)
	if err != nil {
		return err
	}
	defer s.close()
	to := netip.AddrPortFrom(c.Address, c.Port)
	dial, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	conn, err := d.Dial(dial, to, s.qp, params)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, rdma.ErrRejected):
		return fmt.Errorf("%v: %w: is rping -s, or rocelab ping -s, running there?", to, err)
	case dial.Err() != nil:
		return fmt.Errorf("%v does not answer the connection manager (waited %v)", to, c.Patience)
	default:
		return fmt.Errorf("connect to %v: %w", to, err)
	}
	defer leave(conn)
	c.debug(w, "connected to %v", to)
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		back, trip, err := s.ping(ctx, n)
		if err != nil && (c.Validate || !errors.Is(err, ErrMismatch)) {
			return err
		}
		if c.Round != nil {
			c.Round(trip)
		}
		if c.Verbose {
			fmt.Fprintf(w, "ping data: %s\n", untilZero(back))
		}
	}
	return nil
}

// serve answers one client, or one after the other until it is interrupted.
func serve(ctx context.Context, d *rdma.Device, c *Config, w io.Writer) error {
	l, err := d.Listen(c.Port)
	if err != nil {
		return fmt.Errorf("listen on port %d of the connection manager: %w", c.Port, err)
	}
	defer l.Close()
	c.debug(w, "listening on port %d", c.Port)
	for {
		err := serveOne(ctx, d, l, c, w)
		if ctx.Err() != nil && c.Persistent {
			return nil // nothing else ends it
		}
		if err != nil || !c.Persistent {
			return err
		}
	}
}

func serveOne(ctx context.Context, d *rdma.Device, l *rdma.Listener, c *Config,
	w io.Writer) error {
	s, err := newStation(d, MaxSize, c.Patience)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	conn, err := r.Accept(ctx, s.qp, params)
	if err != nil {
		return fmt.Errorf("accept the connection of %v: %w", r.From, err)
	}
	defer leave(conn)
	c.debug(w, "connection of %v", r.From)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-conn.Disconnected():
			cancel(ErrLeft)
		case <-ctx.Done():
		}
	}()
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		text, err := s.serve(ctx)
		if errors.Is(err, ErrLeft) {
			return nil // the client is through
		}
		if err != nil {
			return err
		}
		if c.Verbose {
			fmt.Fprintf(w, "server ping data: %s\n", untilZero(text))
		}
	}
	// The client leaves first, when it has seen its last answer. rping's takes completions and
	// disconnections on two threads, and fails if it hears of the latter first. One that asks for
	// more than was agreed, or neither leaves nor asks, is left.
	_, _ = s.receive(ctx)
	return nil
}

// farewell bounds the wait for the answer to a disconnection.
const farewell = 2 * time.Second

func leave(c *rdma.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = c.Disconnect(ctx)
}

func (c *Config) debug(w io.Writer, format string, args ...any) {
	if c.Debug {
		fmt.Fprintf(w, format+"\n", args...)
	}
}

func untilZero(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return text
}
