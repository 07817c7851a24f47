package rdma

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/ib"
)

// CQ is a completion queue, of one QP or of several. Whoever does not poll in time loses
// completions: then the queue and its QPs are in error. IBTA 10.2.6.
type CQ struct {
	dev    *Device
	handle uint32
	depth  int
	pipe   *os.File // readable when what was armed for has come
	closed atomic.Bool

	mu   sync.Mutex // of who polls
	ring *abi.Ring
	last *QP // of the latest completion
	buf  [abi.CompletionSize]byte
	junk [16]byte
}

// CreateCQ makes a completion queue for depth completions at a time. It may get a greater one.
func (d *Device) CreateCQ(depth int) (*CQ, error) {
	var made abi.CreatedCQ
	fds, err := d.call(context.Background(), abi.CallCreateCQ, abi.CreateCQ{Depth: depth}, &made, 2)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fds[0])
	seg, err := shm.MapSegment(fds[0], abi.RingBytes(made.Entries, abi.CompletionSize))
	if err != nil {
		unix.Close(fds[1])
		_ = d.do(abi.CallDestroyCQ, abi.Handle{Handle: made.Handle}, nil)
		return nil, err
	}
	c := &CQ{dev: d, handle: made.Handle, depth: made.Entries,
		pipe: os.NewFile(uintptr(fds[1]), "completion event"),
		ring: abi.NewRing(seg, made.Entries, abi.CompletionSize)}
	d.mu.Lock()
	d.cqs[c.handle] = c
	d.mu.Unlock()
	return c, nil
}

// Depth is how many completions it holds.
func (c *CQ) Depth() int { return c.depth }

// Poll moves up to len(dst) completions to dst and returns how many, without waiting. The error is
// ErrDaemonGone, ErrClosed or ErrCQ, and comes when the completions before it have been taken.
func (c *CQ) Poll(dst []Completion) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.poll(dst)
}

func (c *CQ) poll(dst []Completion) (int, error) {
	if c.closed.Load() {
		return 0, ErrClosed
	}
	ready, _ := c.ring.Ready()
	n := min(ready, len(dst))
	for i := range n {
		c.ring.Take(i, c.buf[:])
		c.take(&dst[i])
	}
	if n > 0 {
		c.ring.Release(n)
		return n, nil
	}
	if c.ring.State().Load() != 0 {
		return 0, ErrCQ
	}
	return 0, c.dev.Err()
}

// take decodes one completion and gives its place in the work queue back.
func (c *CQ) take(dst *Completion) {
	var e abi.Completion
	e.Decode(c.buf[:])
	*dst = Completion{ID: e.ID, QPN: ib.QPN(e.QPN), Op: Op(e.Op), Status: Status(e.Status),
		Bytes: int(e.Bytes), Imm: e.Imm, HasImm: e.Flags&abi.FlagHasImm != 0,
		Solicited: e.Flags&abi.FlagWasSolicited != 0, SourceQP: ib.QPN(e.SourceQP),
		At: unit.Time(e.At), Posted: unit.Time(e.Posted), Lost: time.Duration(e.Lost)}
	q := c.last
	if q == nil || q.handle != e.Handle {
		if q = c.dev.queue(e.Handle); q == nil {
			return // closed meanwhile
		}
		c.last = q
	}
	q.completed(dst, e.Done)
}

// Wait polls, and sleeps until there is a completion or ctx ends. It returns at least one
// completion or an error.
func (c *CQ) Wait(ctx context.Context, dst []Completion) (int, error) {
	return c.wait(ctx, dst, abi.ArmNext)
}

// WaitSolicited sleeps until there is a completion that the peer asked for an event with, or an
// error; then it returns all that there are, like Poll. Other completions do not wake it, but if
// there are some already it does not sleep.
func (c *CQ) WaitSolicited(ctx context.Context, dst []Completion) (int, error) {
	return c.wait(ctx, dst, abi.ArmSolicited)
}

func (c *CQ) wait(ctx context.Context, dst []Completion, arm uint64) (int, error) {
	if len(dst) == 0 {
		return 0, fmt.Errorf("%w: no room for completions", ErrInvalid)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, err := c.poll(dst); n > 0 || err != nil {
		return n, err
	}
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, c.interrupt)
		defer stop()
	}
	for {
		if c.closed.Load() {
			return 0, ErrClosed
		}
		c.ring.Flag().Store(arm)
		if n, err := c.poll(dst); n > 0 || err != nil { // came before it was armed
			c.ring.Flag().Store(abi.ArmNone)
			return n, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		_, err := c.pipe.Read(c.junk[:])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // interrupt; maybe of an earlier ctx
			_ = c.pipe.SetReadDeadline(time.Time{})
		case err != nil && !c.closed.Load():
			c.dev.fail(ErrDaemonGone)
		}
	}
}

// interrupt ends a sleep, or the next one.
func (c *CQ) interrupt() { _ = c.pipe.SetReadDeadline(time.Unix(1, 0)) }

// Close ends the queue. It fails while QPs use it.
func (c *CQ) Close() error {
	if c.closed.Swap(true) {
		return ErrClosed
	}
	err := c.dev.do(abi.CallDestroyCQ, abi.Handle{Handle: c.handle}, nil)
	if err != nil && c.dev.Err() == nil {
		c.closed.Store(false)
		return err
	}
	c.dev.mu.Lock()
	delete(c.dev.cqs, c.handle)
	c.dev.mu.Unlock()
	c.interrupt()
	c.mu.Lock() // nobody polls any more, nor will
	defer c.mu.Unlock()
	c.pipe.Close()
	c.ring.Segment().Close()
	return err
}
