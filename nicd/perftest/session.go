package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// session is one run of a test against one peer.
type session struct {
	c      *Config
	nic    adapter
	attr   rdma.Attributes
	ip     netip.Addr // which of the NIC's addresses is used
	gid    int        // its index
	report reporter

	x        exchange
	control  *control // the same, if it is over the connection manager
	listener listener
	g        greeting
	res      *resources
	traffic  *traffic
	own      []Keys // of our QPs
	peer     []Keys // of the peer's, in the same order
	conns    []connection

	warn io.Writer // for what must be known of a result beside it

	listening func(addr net.Addr) // for tests: told where the server listens
}

// start finds out what the NIC is and decides which address to use.
func (s *session) start() (err error) {
	if s.attr, err = s.nic.Query(); err != nil {
		return fmt.Errorf("ask the NIC: %w", err)
	}
	addrs := s.attr.Addresses
	switch {
	case s.c.GIDIndex >= len(addrs):
		return fmt.Errorf("gid-index is %d: NIC %s has %d addresses, %v", s.c.GIDIndex,
			s.attr.Name, len(addrs), addrs)
	case s.c.GIDIndex >= 0:
		s.gid = s.c.GIDIndex
	default:
		s.gid = slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Is6() == s.c.IPv6 })
		if s.gid < 0 {
			return fmt.Errorf("NIC %s has no address of that family, only %v", s.attr.Name, addrs)
		}
	}
	s.ip = addrs[s.gid]
	if s.c.MTU == 0 {
		s.c.MTU = s.attr.MTU
	}
	if s.c.MTU > s.attr.MTU {
		return fmt.Errorf("mtu is %d: the port of NIC %s carries %d at most", s.c.MTU, s.attr.Name,
			s.attr.MTU)
	}
	return nil
}

// run does all of it. What was measured until an error is in the report.
func (s *session) run(ctx context.Context) (err error) {
	if err := s.start(); err != nil {
		return err
	}
	defer s.close()
	if s.x == nil {
		if err := s.meet(ctx); err != nil {
			return err
		}
	}
	s.x.bound(s.c.Patience)
	if s.g, err = greet(s.x, s.c.MTU); err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	for i := range s.own {
		s.report.end("local", &s.own[i])
	}
	for i := range s.peer {
		s.report.end("remote", &s.peer[i])
	}
	s.report.header()
	if err := s.measure(ctx); err != nil {
		return err
	}
	s.report.done()
	return s.disconnect()
}

// meet finds the peer.
func (s *session) meet(ctx context.Context) error {
	if s.c.CM || s.c.CMData {
		return s.meetCM(ctx)
	}
	port := strconv.Itoa(int(s.c.Port))
	if s.c.client() {
		at := net.JoinHostPort(s.c.Server, port)
		var d net.Dialer
		dial, cancel := context.WithTimeout(ctx, s.c.Patience)
		defer cancel()
		conn, err := d.DialContext(dial, "tcp", at)
		if err != nil {
			return fmt.Errorf("connect to the server at %s (start it first, and give both the "+
				"same --port): %w", at, err)
		}
		s.x = newTCP(ctx, conn, true)
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", ":"+port)
	if err != nil {
		return fmt.Errorf("wait for a client: %w", err)
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	s.report.waiting()
	if s.listening != nil {
		s.listening(l.Addr())
	}
	conn, err := l.Accept()
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("wait for a client: %w", err)
	}
	s.x = newTCP(ctx, conn, false)
	return nil
}

// barrier waits for the peer to be as far as we are.
func (s *session) barrier() error {
	var k Keys
	if len(s.own) > 0 {
		k = s.own[0]
	} else {
		k.GID = netip.IPv6Unspecified()
	}
	if _, err := s.x.keys(k); err != nil {
		return fmt.Errorf("wait for the peer: %w", err)
	}
	return nil
}

// barriers waits n times.
func (s *session) barriers(n int) error {
	for range n {
		if err := s.barrier(); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the QPs, tells the peer of them, and connects them. The order of the exchanges is
// that of perftest's programs, which differ.
func (s *session) connect(ctx context.Context) error {
	send := s.c.Test.Verb == Send
	if err := s.open(); err != nil {
		return err
	}
	if s.c.CM {
		if err := s.connectCM(ctx); err != nil {
			return err
		}
	}
	s.describe()
	s.report.info(s)
	before, between, after := 0, 0, 1
	if send {
		between, after = 1, 0
	} else if s.c.Test.Kind == Latency {
		before = 1
	}
	if err := s.barriers(before); err != nil {
		return err
	}
	if err := s.swapKeys(); err != nil {
		return err
	}
	if !s.c.CM {
		for i := range s.own {
			if err := s.res.connect(ctx, i, s.own[i], s.peer[i], s.g.mtu); err != nil {
				return fmt.Errorf("connect QP %v with %v of %v: %w", s.own[i].QPN, s.peer[i].QPN,
					s.peer[i].GID, err)
			}
		}
	}
	if err := s.barriers(between); err != nil {
		return err
	}
	if err := s.swapKeys(); err != nil {
		return err
	}
	for i := range s.peer {
		s.traffic.remote[i] = rdma.Target{VA: s.peer[i].VA, RKey: s.peer[i].RKey}
	}
	return s.barriers(after)
}

// open makes memory and QPs.
func (s *session) open() (err error) {
	lay := newLayout(s.c, s.g)
	d := depths{send: s.c.TxDepth}
	if s.c.Test.Verb == Send {
		d.receive = s.c.RxDepth
	}
	if s.res, err = s.nic.open(s.c, &lay, d); err != nil {
		return err
	}
	s.traffic = &traffic{c: s.c, now: s.nic.Now, lost: s.nic.Lost, cq: s.res.cq, qps: s.res.qps,
		mem: s.res.mem, lay: lay, remote: make([]rdma.Target, s.c.QPs), inline: s.c.Inline,
		rate: s.attr.Rate, mtu: s.g.mtu}
	if s.c.CM {
		s.traffic.mtu = s.attr.MTU // the connection manager agrees on it
	}
	s.peer = make([]Keys, s.c.QPs)
	s.traffic.prepareCheck(s.c.Size)
	return nil
}

// describe writes the keys of our QPs.
func (s *session) describe() {
	reads := s.c.outReads(s.attr.MaxReadDepth)
	for i, q := range s.res.qps {
		s.own = append(s.own, Keys{OutReads: reads, QPN: q.QPN(), PSN: ib.PSN(rand.N(1 << 24)),
			RKey: s.res.mem.Key, GID: s.ip, GIDIndex: int32(s.gid),
			VA: s.res.mem.VA + uint64(s.traffic.lay.receiveArea(i))})
	}
}

func (s *session) swapKeys() (err error) {
	for i := range s.own {
		if s.peer[i], err = s.x.keys(s.own[i]); err != nil {
			return fmt.Errorf("exchange keys: %w", err)
		}
	}
	if !s.c.CM && s.peer[0].GID.IsUnspecified() {
		return errors.New("the peer tells no address of its QPs: the peer uses -R, or it was " +
			"started without -x; give both ends the same")
	}
	if !s.c.CM && s.peer[0].GID.Is4() != s.own[0].GID.Is4() {
		return fmt.Errorf("our address is %v, the peer's is %v: use --gid-index or --ipv6 to have "+
			"both of one family", s.own[0].GID, s.peer[0].GID)
	}
	return nil
}

// outlast waits for a client to be through with a test in which we have no part: it says nothing
// meanwhile, so that all we can know is whether it is there.
func (s *session) outlast() error {
	s.x.bound(0)
	defer s.x.bound(s.c.Patience)
	if err := s.barrier(); err != nil {
		return fmt.Errorf("while the client measured: %w", err)
	}
	return nil
}

// disconnect says goodbye. The peer may be faster.
func (s *session) disconnect() error {
	if s.c.Test == (Test{Write, Latency}) {
		return nil // perftest's program leaves without a word
	}
	if s.c.Test.Kind == Latency && s.c.Test.oneSided() && !s.c.client() {
		if err := s.outlast(); err != nil {
			return err
		}
	} else if err := s.barrier(); err != nil {
		return err
	}
	return s.x.finish()
}

// close gives everything back.
func (s *session) close() {
	s.closeCM()
	if s.x != nil {
		s.x.close()
	}
	if s.res != nil {
		s.res.close()
	}
	if s.listener != nil {
		s.listener.Close()
	}
}

// ErrLimit says that a result is below what was demanded.
var ErrLimit = errors.New("result is below the limit")
