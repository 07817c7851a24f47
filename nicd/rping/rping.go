package rping

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// Sizes of the text of a ping, in bytes.
const (
	DefaultSize = 64
	MaxSize     = 64<<10 - 1
	// MinSize is room for the words of the text with the largest number, a letter and a zero.
	MinSize = 26
)

// DefaultPort is rping's port of the connection manager.
const DefaultPort = 7174

// notice is a SEND: where to read the text, or where to write it.
type notice struct {
	va     uint64
	key    uint32
	length uint32
}

const noticeLen = 16

func (n notice) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, n.va)
	b = binary.BigEndian.AppendUint32(b, n.key)
	return binary.BigEndian.AppendUint32(b, n.length)
}

// errNotice says that a message is not of the protocol.
var errNotice = errors.New("not a message of rping")

func parseNotice(b []byte) (n notice, err error) {
	if len(b) != noticeLen {
		return n, fmt.Errorf("%d bytes: %w", len(b), errNotice)
	}
	return notice{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]),
		binary.BigEndian.Uint32(b[12:])}, nil
}

// textOf is the text of a ping: its number, letters that begin one further each time, and a zero.
func textOf(ping, size int) []byte {
	const first, last = 'A', 'z'
	b := fmt.Appendf(make([]byte, 0, size+MinSize), "rdma-ping-%d: ", ping)
	for c := first + ping%(last-first+1); len(b) < size; c++ {
		if c > last {
			c = first
		}
		b = append(b, byte(c))
	}
	b = b[:size]
	b[size-1] = 0
	return b
}

// queuePair and completionQueue are what the protocol needs of *rdma.QP and *rdma.CQ.
type queuePair interface {
	Post(wr ...rdma.WR) (posted int, err error)
	PostReceive(wr ...rdma.ReceiveWR) (posted int, err error)
}

type completionQueue interface {
	Wait(ctx context.Context, dst []rdma.Completion) (int, error)
}

// channel is a connected QP with its memory:
//
//	| notices received (receives of them) | notice sent | text sent | text received |
type channel struct {
	qp       queuePair
	cq       completionQueue
	mem      *rdma.Memory
	size     int // of one text, at most
	patience time.Duration

	posted   int // requests
	done     int
	next     int // notice to take
	arrived  []int
	ended    error           // why the QP carries nothing any more
	sent     rdma.Completion // of the last request
	received rdma.Completion // of the last notice
}

// receives is the number of receives posted. A peer sends one message before it waits for ours.
const receives = 4

func memoryNeeded(size int) int { return (receives+1)*noticeLen + 2*size }

func (c *channel) textAt(second int) int { return (receives+1)*noticeLen + second*c.size }

func (c *channel) text(second, n int) []byte {
	at := c.textAt(second)
	return c.mem.Bytes[at : at+n]
}

// prepare posts the receives. It must be called before the QP is connected.
func (c *channel) prepare() error {
	for n := range receives {
		if err := c.postReceive(n); err != nil {
			return err
		}
	}
	return nil
}

func (c *channel) postReceive(n int) error {
	_, err := c.qp.PostReceive(rdma.ReceiveWR{ID: uint64(n),
		Local: c.mem.Segment(n%receives*noticeLen, noticeLen)})
	return err
}

// do posts a request and waits until it is complete.
func (c *channel) do(ctx context.Context, wr rdma.WR) error {
	c.posted++
	if _, err := c.qp.Post(wr); err != nil {
		return err
	}
	return c.wait(ctx, func() bool { return c.done == c.posted })
}

// send sends a notice.
func (c *channel) send(ctx context.Context, n notice) error {
	const at = receives * noticeLen
	n.append(c.mem.Bytes[:at])
	return c.do(ctx, rdma.WR{Op: rdma.Send, Local: c.mem.Segment(at, noticeLen)})
}

// receive takes the next notice.
func (c *channel) receive(ctx context.Context) (notice, error) {
	if err := c.wait(ctx, func() bool { return len(c.arrived) > 0 }); err != nil {
		return notice{}, err
	}
	at := c.next % receives * noticeLen
	n, err := parseNotice(c.mem.Bytes[at : at+min(c.arrived[0], noticeLen)])
	c.arrived = c.arrived[1:]
	c.next++
	if err != nil {
		return n, err
	}
	if err := c.postReceive(c.next - 1 + receives); err != nil && c.ended == nil {
		c.ended = err // the other end may have left after its last message
	}
	return n, nil
}

// ErrSilent says that the other end did not answer in time.
var ErrSilent = errors.New("the other end does not answer")

// wait takes completions until something has happened, even if the other end has left in the same
// moment.
func (c *channel) wait(ctx context.Context, happened func() bool) error {
	bounded, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	var cs [8]rdma.Completion
	for !happened() {
		if c.ended != nil {
			return c.ended
		}
		n, err := c.cq.Wait(bounded, cs[:])
		for i := range cs[:n] {
			c.complete(&cs[i])
		}
		switch {
		case n > 0:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case bounded.Err() != nil:
			return fmt.Errorf("%w for %v", ErrSilent, c.patience)
		case err != nil:
			return err
		}
	}
	return nil
}

// complete takes note of one completion.
func (c *channel) complete(done *rdma.Completion) {
	switch {
	case done.Status == rdma.Success && done.Op == rdma.Receive:
		c.arrived = append(c.arrived, done.Bytes)
		c.received = *done
	case done.Status == rdma.Success:
		c.done++
		c.sent = *done
	case c.ended != nil:
	case done.Status == rdma.Flushed:
		c.ended = ErrLeft
	default:
		c.ended = fmt.Errorf("%v: %v", done.Op, done.Status)
	}
}

// ErrLeft says that the other end has closed the connection.
var ErrLeft = errors.New("the other end has closed the connection")

// ErrMismatch says that the text came back changed.
var ErrMismatch = errors.New("data mismatch")

// Trip is one ping, there and back: from when the NIC took the first notice until it had the last.
type Trip struct {
	Ping int           // its number
	Took time.Duration // in the NIC's virtual time
	Lost time.Duration // by the NIC's clock meanwhile, which Took is without
}

// trip tells how long it is from one completion's request to another's end.
func trip(number int, from, to *rdma.Completion) Trip {
	return Trip{number, to.At.Sub(from.Posted), to.Lost - from.Lost}
}

// ping is one round as the client. It returns what came back, and how long it took.
func (c *channel) ping(ctx context.Context, number int) (back []byte, t Trip, err error) {
	var first rdma.Completion
	copy(c.text(0, c.size), textOf(number, c.size))
	clear(c.text(1, c.size))
	for second := range 2 {
		if err := c.send(ctx, notice{c.mem.VA + uint64(c.textAt(second)), c.mem.Key,
			uint32(c.size)}); err != nil {
			return nil, t, err
		}
		if second == 0 {
			first = c.sent
		}
		if _, err := c.receive(ctx); err != nil {
			return nil, t, err
		}
	}
	back, t = c.text(1, c.size), trip(number, &first, &c.received)
	if !bytes.Equal(back, c.text(0, c.size)) {
		return back, t, fmt.Errorf("ping %d: %w", number, ErrMismatch)
	}
	return back, t, nil
}

// serve is one round as the server. It returns the text.
func (c *channel) serve(ctx context.Context) (text []byte, err error) {
	from, err := c.receive(ctx)
	if err != nil {
		return nil, err
	}
	if int64(from.length) > int64(c.size) {
		return nil, fmt.Errorf("the client announces %d bytes: %d are possible", from.length,
			c.size)
	}
	n := int(from.length)
	err = c.do(ctx, rdma.WR{Op: rdma.Read, Local: c.mem.Segment(c.textAt(0), n),
		Remote: rdma.Target{VA: from.va, RKey: from.key}})
	if err != nil {
		return nil, fmt.Errorf("read the client's text: %w", err)
	}
	text = c.text(0, n)
	if err := c.send(ctx, notice{}); err != nil {
		return text, err
	}
	to, err := c.receive(ctx)
	if err != nil {
		return text, err
	}
	// rping writes back up to the zero that ends the text.
	back := n
	if zero := bytes.IndexByte(text, 0); zero >= 0 {
		back = zero + 1
	}
	err = c.do(ctx, rdma.WR{Op: rdma.Write, Local: c.mem.Segment(c.textAt(0), back),
		Remote: rdma.Target{VA: to.va, RKey: to.key}})
	if err != nil {
		return text, fmt.Errorf("write the text back: %w", err)
	}
	return text, c.send(ctx, notice{})
}
