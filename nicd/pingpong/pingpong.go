package pingpong

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// Kind is which of the programs.
type Kind string

// The programs.
const (
	RC  Kind = "rc"  // ibv_rc_pingpong: one QP
	UD  Kind = "ud"  // ibv_ud_pingpong: datagrams
	SRQ Kind = "srq" // ibv_srq_pingpong: several QPs with one receive queue
)

// Config is what to do. Both ends are given the same.
type Config struct {
	Kind       Kind
	Server     string // host to connect to; empty: be the server
	Port       uint16 // TCP
	Size       int    // bytes a message
	MTU        int    // path MTU
	RxDepth    int    // receives posted
	Iterations int    // messages, over all QPs
	QPs        int    // SRQ only
	IPv6       bool
	Check      bool          // the client compares what comes back
	Patience   time.Duration // real time without progress after which to give up
}

// Defaults are the program's.
func Defaults(k Kind) Config {
	c := Config{Kind: k, Port: 18515, Size: 4096, MTU: 1024, RxDepth: 500, Iterations: 1000, QPs: 1,
		Patience: 60 * time.Second}
	switch k {
	case SRQ:
		c.QPs = maxSRQPairs / 16
	case UD:
		c.Size = 1024
	}
	return c
}

// maxSRQPairs is the number of QPs that ibv_srq_pingpong tells of, used or not.
const maxSRQPairs = 256

// Validate says what is wrong with a configuration.
func (c *Config) Validate() error {
	switch {
	case c.Kind != RC && c.Kind != UD && c.Kind != SRQ:
		return fmt.Errorf("kind %q: want rc, ud or srq", c.Kind)
	case c.Size < 1 || c.Size > 1<<23:
		return fmt.Errorf("size is %d: it must be between 1 and %d", c.Size, 1<<23)
	case c.Kind == UD && c.Size > c.MTU:
		return fmt.Errorf("size is %d: a datagram is not above the path MTU, %d", c.Size, c.MTU)
	case c.RxDepth < c.QPs || c.QPs < 1 || c.QPs > maxSRQPairs || c.Kind != SRQ && c.QPs != 1:
		return fmt.Errorf("%d QPs with %d receives: only srq has several, %d at most, and each "+
			"needs a receive", c.QPs, c.RxDepth, maxSRQPairs)
	case c.Iterations < 1:
		return fmt.Errorf("iters is %d: it must be positive", c.Iterations)
	}
	return nil
}

// game is the traffic.
type game struct {
	c    *Config
	cq   *rdma.CQ
	mem  *rdma.Memory
	qps  []*rdma.QP
	srq  *rdma.SRQ
	to   rdma.UDTarget // UD
	skip int           // bytes in front of a received message

	sent, received, posted int // messages
	pending                []pending
	cs                     [32]rdma.Completion
}

// pending is what a QP waits for before it sends.
type pending struct{ send, receive bool }

const receiveFlag = 1 << 63

// stride is the room for a received message. Behind those of all receives is what each QP sends.
func (g *game) stride() int { return (g.skip + g.c.Size + 63) / 64 * 64 }

func (g *game) outgoing(qp int) []byte {
	at := (g.c.RxDepth + qp) * g.stride()
	return g.mem.Bytes[at : at+g.c.Size]
}

func memoryNeeded(c *Config, skip int) int {
	g := game{c: c, skip: skip}
	return (c.RxDepth + c.QPs) * g.stride()
}

// fill posts all receives.
func (g *game) fill() error {
	for n := range g.c.RxDepth {
		if err := g.postReceive(uint64(n)); err != nil {
			return fmt.Errorf("post receive %d: %w", n, err)
		}
	}
	return nil
}

func (g *game) postReceive(slot uint64) (err error) {
	wr := rdma.ReceiveWR{ID: receiveFlag | slot,
		Local: g.mem.Segment(int(slot)*g.stride(), g.skip+g.c.Size)}
	if g.srq != nil {
		_, err = g.srq.PostReceive(wr)
	} else {
		_, err = g.qps[0].PostReceive(wr)
	}
	return err
}

func (g *game) client() bool { return g.c.Server != "" }

// play sends and receives until both were done as often as wanted.
func (g *game) play(ctx context.Context) error {
	g.pending = make([]pending, len(g.qps))
	for qp := range g.qps {
		if !g.client() {
			g.pending[qp] = pending{receive: true}
			continue
		}
		if err := g.serve(qp); err != nil {
			return err
		}
	}
	for g.sent < g.c.Iterations || g.received < g.c.Iterations {
		n, err := g.wait(ctx)
		if err != nil {
			return err
		}
		for i := range g.cs[:n] {
			if err := g.complete(&g.cs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *game) wait(ctx context.Context) (int, error) {
	bounded, cancel := context.WithTimeout(ctx, g.c.Patience)
	defer cancel()
	n, err := g.cq.Wait(bounded, g.cs[:])
	switch {
	case n > 0:
		return n, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case bounded.Err() != nil:
		return 0, fmt.Errorf("nothing has happened for %v: sent %d and received %d of %d "+
			"messages; both ends must be given the same size and number", g.c.Patience, g.sent,
			g.received, g.c.Iterations)
	}
	return 0, err
}

// serve sends the next message on a QP.
func (g *game) serve(qp int) error {
	out := g.outgoing(qp)
	if g.client() && g.c.Check {
		stamp(out, g.posted)
	}
	g.posted++
	at := (g.c.RxDepth + qp) * g.stride()
	g.pending[qp] = pending{send: true, receive: true}
	_, err := g.qps[qp].Post(rdma.WR{ID: uint64(qp), Op: rdma.Send,
		Local: g.mem.Segment(at, g.c.Size), To: g.to})
	return err
}

func (g *game) complete(c *rdma.Completion) error {
	qp := g.find(c)
	if c.Status != rdma.Success {
		return fmt.Errorf("%v on QP %v: %v", c.Op, c.QPN, c.Status)
	}
	if c.ID&receiveFlag == 0 {
		g.sent++
		g.pending[qp].send = false
	} else {
		slot := c.ID &^ receiveFlag
		if err := g.took(qp, slot, c.Bytes-g.skip); err != nil {
			return err
		}
		if err := g.postReceive(slot); err != nil {
			return err
		}
		g.received++
		g.pending[qp].receive = false
	}
	if p := g.pending[qp]; !p.send && !p.receive && g.posted < g.c.Iterations {
		return g.serve(qp)
	}
	return nil
}

func (g *game) find(c *rdma.Completion) int {
	for i, q := range g.qps {
		if q.QPN() == c.QPN {
			return i
		}
	}
	return 0
}

// ErrChanged says that a message came back other than it went.
var ErrChanged = errors.New("payload differs")

// took looks at a received message: the client compares it, the server will send it back.
func (g *game) took(qp int, slot uint64, n int) error {
	at := int(slot)*g.stride() + g.skip
	got := g.mem.Bytes[at : at+g.c.Size]
	if n != g.c.Size {
		return fmt.Errorf("received %d bytes: %d were due", n, g.c.Size)
	}
	if !g.client() {
		copy(g.outgoing(qp), got)
		return nil
	}
	if g.c.Check && !bytes.Equal(got, g.outgoing(qp)) {
		return fmt.Errorf("QP %v, message %d: %w", g.qps[qp].QPN(), g.received, ErrChanged)
	}
	return nil
}

// stamp makes message n: no two bytes of neighbours, and no two messages, are alike for long.
func stamp(b []byte, n int) {
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(n)+1)
	for i := range b {
		b[i] = byte((uint32(i)+uint32(n))*2654435761>>24) ^ head[i%8]
	}
}
