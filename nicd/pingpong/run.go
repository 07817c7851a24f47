package pingpong

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
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/roce/ib"
)

// What the programs set of a QP.
const (
	qkey        = 0x11111111 // UD
	timeout     = 14         // 67 ms
	retries     = 7
	minRNRTimer = 12 // 0.64 ms
)

// player is one end with its resources.
type player struct {
	game
	dev   *rdma.Device
	pd    *rdma.PD
	own   []end
	peer  []end
	undo  []func()
	door  net.Listener   // of a server
	heard func(net.Addr) // for tests: told where the server listens
}

// Run plays one end and prints what the program prints, and to warn if the NIC's clock has lost
// time meanwhile, as it can without a lab.
func Run(ctx context.Context, d *rdma.Device, c Config, w, warn io.Writer) error {
	return run(ctx, d, c, w, warn, nil)
}

func run(ctx context.Context, d *rdma.Device, c Config, w, warn io.Writer, heard func(net.Addr),
) error {
	if err := c.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-d.Done():
			cancel(fmt.Errorf("the NIC's daemon: %w", d.Err()))
		case <-ctx.Done():
		}
	}()
	p := &player{dev: d, heard: heard}
	p.c = &c
	defer p.close()
	if err := p.open(); err != nil {
		return err
	}
	if err := p.listen(ctx); err != nil {
		return err
	}
	tell(w, "local address: ", p.own)
	if err := p.meet(ctx); err != nil {
		return err
	}
	tell(w, "remote address:", p.peer)
	start, before := d.Now(), d.Lost()
	if err := p.play(ctx); err != nil {
		return err
	}
	took, lost := d.Now().Sub(start), d.Lost()-before
	total := float64(c.Size) * float64(c.Iterations) * 2
	us := float64(took) / float64(time.Microsecond)
	fmt.Fprintf(w, "%.0f bytes in %.2f seconds = %.2f Mbit/sec\n", total, us/1e6, total*8/us)
	fmt.Fprintf(w, "%d iters in %.2f seconds = %.2f usec/iter\n", c.Iterations, us/1e6,
		us/float64(c.Iterations))
	tellLoss(warn, &c, took, lost)
	return nil
}

// tellLoss says how long it was by the wall clock, if that differs.
func tellLoss(w io.Writer, c *Config, took, lost time.Duration) {
	if lost > 0 {
		us := float64(took+lost) / float64(time.Microsecond)
		fmt.Fprintf(w, "WARNING: the NIC's clock lost %v in these %v; by the wall clock it is "+
			"%.2f usec/iter\n", lost, took, us/float64(c.Iterations))
	}
}

func tell(w io.Writer, what string, ends []end) {
	for _, e := range ends {
		gid := netip.AddrFrom16(e.gid.As16())
		fmt.Fprintf(w, "  %s LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %v\n", what, e.lid,
			uint32(e.qpn), uint32(e.psn), gid)
	}
}

// open makes QPs and memory and posts the receives.
func (p *player) open() error {
	attr, err := p.dev.Query()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(attr.Addresses, func(a netip.Addr) bool { return a.Is6() == p.c.IPv6 })
	if at < 0 {
		return fmt.Errorf("NIC %s has no address of that family, only %v", attr.Name,
			attr.Addresses)
	}
	if p.pd, err = p.dev.AllocPD(); err != nil {
		return err
	}
	p.undo = append(p.undo, func() { _ = p.pd.Free() })
	if p.cq, err = p.dev.CreateCQ(p.c.RxDepth + 2*p.c.QPs); err != nil {
		return err
	}
	p.undo = append(p.undo, func() { p.cq.Close() })
	cfg := rdma.QPConfig{SendCQ: p.cq, SendDepth: 1, ReceiveDepth: p.c.RxDepth}
	if p.c.Kind == UD {
		p.skip, cfg.Type, cfg.QKey, cfg.MTU = rdma.GRHLen, rdma.UD, qkey, p.c.MTU
	}
	if p.mem, err = p.pd.Allocate(memoryNeeded(p.c, p.skip),
		rdma.Access{LocalWrite: true}); err != nil {
		return err
	}
	p.undo = append(p.undo, func() { _ = p.mem.Free() })
	if p.c.Kind == SRQ {
		if p.srq, err = p.pd.CreateSRQ(p.c.RxDepth); err != nil {
			return err
		}
		p.undo = append(p.undo, func() { _ = p.srq.Free() })
		cfg.SRQ, cfg.ReceiveDepth = p.srq, 0
	}
	for range p.c.QPs {
		q, err := p.pd.CreateQP(cfg)
		if err != nil {
			return err
		}
		p.undo = append(p.undo, func() { q.Close() })
		p.qps = append(p.qps, q)
		p.own = append(p.own, end{qpn: q.QPN(), psn: ib.PSN(rand.N(1 << 24)),
			gid: attr.Addresses[at]})
	}
	return p.fill()
}

func (p *player) close() {
	for i := len(p.undo) - 1; i >= 0; i-- {
		p.undo[i]()
	}
}

// meet exchanges addresses over TCP and connects the QPs: the server before it answers, so that
// the client may send when it has the answer.
func (p *player) meet(ctx context.Context) error {
	conn, err := p.tcp(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	bound := time.AfterFunc(p.c.Patience, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer bound.Stop()
	if err := p.exchange(ctx, conn); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("exchange addresses with %v: %w", conn.RemoteAddr(), err)
	}
	return nil
}

var done = []byte("done\x00")

func (p *player) exchange(ctx context.Context, conn net.Conn) error {
	if p.client() {
		if err := p.write(conn); err != nil {
			return err
		}
		if err := p.read(conn); err != nil {
			return err
		}
		if _, err := conn.Write(done); err != nil {
			return err
		}
		return p.connect(ctx)
	}
	if err := p.read(conn); err != nil {
		return err
	}
	if err := p.connect(ctx); err != nil {
		return err
	}
	if err := p.write(conn); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len(done)))
	return err
}

// told is the number of QPs that are told of.
func (p *player) told() int {
	if p.c.Kind == SRQ {
		return maxSRQPairs
	}
	return 1
}

func (p *player) write(w io.Writer) error {
	var b []byte
	none := end{gid: netip.IPv6Unspecified()}
	for i := range p.told() {
		e := &none
		if i < len(p.own) {
			e = &p.own[i]
		}
		b = e.append(b)
	}
	_, err := w.Write(b)
	return err
}

func (p *player) read(r io.Reader) error {
	b := make([]byte, endLen)
	for i := range p.told() {
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		e, err := parseEnd(b)
		if err != nil {
			return err
		}
		if i < len(p.own) {
			p.peer = append(p.peer, e)
		}
	}
	return nil
}

// connect brings the QPs to RTS, or makes the address of the datagrams.
func (p *player) connect(ctx context.Context) error {
	for i, q := range p.qps {
		own, peer := &p.own[i], &p.peer[i]
		if peer.qpn == 0 {
			return errors.New("the peer has fewer QPs")
		}
		if peer.gid.IsUnspecified() {
			return errors.New("the peer told no GID: start it with -g 1, the index of its address")
		}
		path := rdma.Path{IP: peer.gid, Source: own.gid}
		if p.c.Kind == UD {
			a, err := p.pd.CreateAddress(ctx, path)
			if err != nil {
				return err
			}
			p.undo = append(p.undo, func() { _ = a.Free() })
			p.to = rdma.UDTarget{Address: a, QPN: peer.qpn, QKey: qkey}
			continue
		}
		receive, send := q.ReceiveAttributes(), q.SendAttributes()
		receive.MTU, receive.MinRNRTimer = p.c.MTU, minRNRTimer
		send.PSN, send.Timeout, send.RetryCount, send.RNRRetry = own.psn, timeout, retries, retries
		if err := q.Connect(ctx, rdma.Remote{QPN: peer.qpn, PSN: peer.psn, Path: path,
			Receive: &receive, Send: &send}); err != nil {
			return fmt.Errorf("connect QP %v with %v of %v: %w", own.qpn, peer.qpn, peer.gid, err)
		}
	}
	return nil
}

// listen opens a server's port, before it is told of: who reads that may come at once.
func (p *player) listen(ctx context.Context) (err error) {
	if p.client() {
		return nil
	}
	var lc net.ListenConfig
	p.door, err = lc.Listen(ctx, "tcp", ":"+strconv.Itoa(int(p.c.Port)))
	if err != nil {
		return fmt.Errorf("wait for a client: %w", err)
	}
	p.undo = append(p.undo, func() { p.door.Close() })
	if p.heard != nil {
		p.heard(p.door.Addr())
	}
	return nil
}

// tcp connects to the server, or waits for the client.
func (p *player) tcp(ctx context.Context) (net.Conn, error) {
	if p.client() {
		dial, cancel := context.WithTimeout(ctx, p.c.Patience)
		defer cancel()
		var d net.Dialer
		to := net.JoinHostPort(p.c.Server, strconv.Itoa(int(p.c.Port)))
		conn, err := d.DialContext(dial, "tcp", to)
		if err != nil {
			return nil, fmt.Errorf("connect to the server (start it first): %w", err)
		}
		return conn, nil
	}
	defer p.door.Close() // it has one client
	defer context.AfterFunc(ctx, func() { p.door.Close() })()
	conn, err := p.door.Accept()
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return conn, err
}
