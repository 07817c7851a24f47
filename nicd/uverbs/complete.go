package uverbs

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/qp"
)

// completionQueue is a completion queue of a program: a ring that it reads.
type completionQueue struct {
	program *program
	handle  uint32
	ring    *abi.Ring
	event   int // write end of the pipe
	users   int // QPs, counted twice if for both queues
	broken  bool
	failed  bool // its QPs have been taken to ERR
	charge  int64
}

func (c *completionQueue) close() {
	unix.Close(c.event)
	c.ring.Segment().Close()
}

func (p *program) createCQ(r abi.CreateCQ) (any, []int, error) {
	if most := p.server.cfg.Limits.CQDepth; r.Depth < 1 || r.Depth > most {
		return nil, nil, fmt.Errorf("%w: depth %d is not in 1..%d", errInvalid, r.Depth, most)
	}
	entries := abi.RingEntries(r.Depth)
	size := abi.RingBytes(entries, abi.CompletionSize)
	c := &completionQueue{program: p, charge: int64(shm.SegmentSize(size))}
	if err := p.charge(c.charge); err != nil {
		return nil, nil, err
	}
	seg, fd, err := shm.NewSegment("verbs completions", size)
	if err != nil {
		p.memory.Add(-c.charge)
		return nil, nil, err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		p.memory.Add(-c.charge)
		unix.Close(fd)
		seg.Close()
		return nil, nil, fmt.Errorf("completion event: %w", err)
	}
	c.ring, c.event = abi.NewRing(seg, entries, abi.CompletionSize), pipe[1]
	fds := []int{fd, pipe[0]}
	err = p.do(func(unit.Time) error {
		if err := p.more(len(p.cqs), "completion queues"); err != nil {
			return err
		}
		c.handle = p.next()
		p.cqs[c.handle] = c
		return nil
	})
	if err != nil {
		p.memory.Add(-c.charge)
		closeAll(fds)
		c.close()
		return nil, nil, err
	}
	return abi.CreatedCQ{Handle: c.handle, Entries: entries}, fds, nil
}

func (p *program) destroyCQ(h abi.Handle) (none, error) {
	var c *completionQueue
	err := p.do(func(unit.Time) error {
		if c = p.cqs[h.Handle]; c == nil {
			return missing("completion queue", h.Handle)
		}
		if c.users > 0 {
			return fmt.Errorf("completion queue %w", nic.ErrInUse)
		}
		delete(p.cqs, h.Handle)
		return nil
	})
	if err == nil {
		p.memory.Add(-c.charge)
		c.close()
	}
	return none{}, err
}

// Completed puts a completion of the QP into the ring of its queue. It is the host's.
func (q *queuePair) Completed(_ unit.Time, c *qp.Completion) {
	e := abi.Completion{ID: c.ID, Op: uint8(c.Op), Status: uint8(c.Status), Handle: q.handle,
		QPN: uint32(q.qpn), SourceQP: uint32(c.SourceQP), Bytes: uint32(c.Bytes), Imm: c.Imm,
		At: int64(c.At), Lost: q.program.server.cfg.Driver.TimeLost().Nanoseconds()}
	if c.HasImm {
		e.Flags |= abi.FlagHasImm
	}
	if c.Solicited {
		e.Flags |= abi.FlagWasSolicited
	}
	wakes := c.Solicited || c.Status != qp.Success
	if c.Op == qp.Receive {
		q.receivesDone++
		if e.Done = q.receivesDone; q.srq != nil {
			e.Done = q.srq.posted - uint32(q.srq.srq.Left())
		}
		q.receive.push(&e, wakes)
		return
	}
	at := q.ended % uint32(len(q.quiet))
	quiet := q.quiet[at]
	e.Posted = int64(q.taken[at])
	q.ended++
	if e.Done = q.ended; quiet && c.Status == qp.Success {
		return
	}
	q.send.push(&e, wakes)
}

// push hands a completion to the program. solicited says that it wakes also who waits for such
// ones only.
func (c *completionQueue) push(e *abi.Completion, solicited bool) {
	if c.broken {
		return
	}
	if room, ok := c.ring.Room(); !ok || room == 0 {
		c.overflow()
		return
	}
	var b [abi.CompletionSize]byte
	e.Encode(b[:])
	c.ring.Put(0, b[:])
	c.ring.Publish(1)
	armed := c.ring.Flag().Load()
	if (armed == abi.ArmNext || armed == abi.ArmSolicited && solicited) &&
		c.ring.Flag().CompareAndSwap(armed, abi.ArmNone) {
		c.wake()
	}
}

// wake lets the program's end of the pipe become readable. It fails only if it is already, or if
// nobody has the other end any more.
func (c *completionQueue) wake() { _, _ = unix.Write(c.event, []byte{1}) }

// overflow is IBTA 10.2.6: a completion is lost, and with it the queue and its QPs.
func (c *completionQueue) overflow() {
	c.broken, c.program.server.trouble = true, true
	c.ring.State().Store(1)
	c.wake()
}

// failBroken takes the QPs of queues that have overflowed to ERR.
func (p *program) failBroken(now unit.Time) {
	for _, c := range p.cqs {
		if !c.broken || c.failed {
			continue
		}
		c.failed = true
		p.async(asyncCQError, c.handle, now, "")
		for _, q := range p.queues {
			if q.send == c || q.receive == c {
				_ = p.server.cfg.Host.NIC().Fail(now, q.qpn)
			}
		}
	}
	p.server.cfg.Host.Serve(now)
}
