package uverbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/qp"
)

// program is one connection with all that it owns.
type program struct {
	server *Server
	conn   *net.UnixConn
	out    chan message // to the writer
	ctx    context.Context
	cancel context.CancelFunc
	memory atomic.Int64 // bytes charged

	courier courier
	waiting chan struct{} // a place for each call that waits
	waiters sync.WaitGroup

	// Set by hello, then for the loop's thread.
	ring    *abi.Ring
	bell    int // read end of the doorbell
	ended   bool
	last    uint32 // handle given out
	pds     map[uint32]qp.PD
	regions map[uint32]*region // by key
	cqs     map[uint32]*completionQueue
	srqs    map[uint32]*sharedQueue
	ahs     map[uint32]handle
	queues  map[uint32]*queuePair

	connections connections

	entry  [abi.SubmissionSize]byte
	inline [abi.MaxInline]byte
}

// handle is an address handle of the NIC.
type handle struct {
	ah nic.AH
	pd uint32
}

// region is memory shared with a program.
type region struct {
	mr     *qp.Region
	seg    *shm.Segment
	charge int64
}

// message is a control message with descriptors, which are closed when it has been sent.
type message struct {
	body []byte
	fds  []int
}

// outgoing bounds the messages that wait for a program to read them.
const outgoing = 128

func newProgram(s *Server, conn *net.UnixConn) *program {
	p := &program{server: s, conn: conn, out: make(chan message, outgoing), bell: -1,
		pds: map[uint32]qp.PD{}, regions: map[uint32]*region{},
		cqs: map[uint32]*completionQueue{}, srqs: map[uint32]*sharedQueue{},
		ahs: map[uint32]handle{}, queues: map[uint32]*queuePair{}}
	p.connections = newConnections(p)
	p.courier.wake, p.waiting = make(chan struct{}, 1), make(chan struct{}, atOnce)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// run serves the program until its connection ends, and frees everything.
func (p *program) run() {
	var writer sync.WaitGroup
	writer.Add(2)
	go func() {
		defer writer.Done()
		p.write()
	}()
	go func() {
		defer writer.Done()
		p.carry()
	}()
	err := p.read()
	p.conn.Close()
	p.cancel()
	p.waiters.Wait()
	writer.Wait()
	p.free()
	p.server.cfg.Log.Debug("program ended", "cause", err)
}

// read carries out calls. Descriptors that a program sends along are closed by the kernel, because
// nobody takes them: recvmsg(2), MSG_CTRUNC.
func (p *program) read() error {
	buf := make([]byte, abi.MaxMessage)
	for {
		n, err := p.conn.Read(buf)
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("closed")
		}
		if err := p.handle(buf[:n]); err != nil {
			return err
		}
	}
}

// patience is how long a program may not read its messages.
const patience = 10 * time.Second

// write sends messages until the connection ends.
func (p *program) write() {
	for {
		select {
		case m := <-p.out:
			slow := time.AfterFunc(patience, func() { p.conn.Close() })
			_, _, err := p.conn.WriteMsgUnix(m.body, unix.UnixRights(m.fds...), nil)
			slow.Stop()
			closeAll(m.fds)
			if err != nil {
				p.conn.Close() // read ends with that
			}
		case <-p.ctx.Done():
			for {
				select {
				case m := <-p.out:
					closeAll(m.fds)
				default:
					return
				}
			}
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// send hands a message to the writer. It waits, but not for a program that does not read: the
// writer ends the connection of such a one.
func (p *program) send(r abi.Response, fds []int) error {
	body, err := json.Marshal(r)
	if err != nil {
		closeAll(fds)
		return err
	}
	select {
	case p.out <- message{body, fds}:
		return nil
	case <-p.ctx.Done():
	case <-time.After(patience):
	}
	closeAll(fds)
	return errors.New("the program does not read")
}

// tell sends an event from the loop's thread, which does not wait: if the program does not read,
// the event is lost. See report for those that must not be.
func (p *program) tell(event string, body any) {
	b, err := json.Marshal(body)
	if err == nil {
		b, err = json.Marshal(abi.Response{Event: event, Body: b})
	}
	if err != nil {
		return
	}
	select {
	case p.out <- message{body: b}:
	default:
	}
}

func (p *program) async(kind uint8, handle uint32, now unit.Time, text string) {
	p.tell(abi.EventAsync, abi.Async{Kind: kind, Handle: handle, At: now, Text: text})
}

// kill ends the connection of a program whose shared memory makes no sense.
func (p *program) kill(why string) {
	if p.ended {
		return
	}
	p.ended = true
	p.server.stats.Killed++
	p.server.cfg.Log.Warn("program ended: " + why)
	p.conn.Close()
}

// do carries out a call on the loop's thread, after everything that was posted before it.
func (p *program) do(fn func(now unit.Time) error) error {
	return p.server.do(func(now unit.Time) error {
		if p.ring != nil {
			for taken := burst; taken >= burst; {
				taken = p.submit(now)
			}
			p.server.cfg.Host.Serve(now)
		}
		return fn(now)
	})
}

// charge counts n bytes towards the program's limit.
func (p *program) charge(n int64) error {
	if most := p.server.cfg.Limits.Memory; p.memory.Add(n) > most {
		p.memory.Add(-n)
		return fmt.Errorf("%w: %d bytes of memory", errLimit, most)
	}
	return nil
}

// next is a handle that the program has not had.
func (p *program) next() uint32 {
	p.last++
	return p.last
}

// free ends everything that the program owns. If the loop has ended nobody uses any of it.
func (p *program) free() {
	s := p.server
	if p.ring != nil {
		_ = s.cfg.Driver.Detach(p.bell)
		_ = s.do(func(now unit.Time) error {
			p.release(now)
			return nil
		})
		unix.Close(p.bell)
		p.ring.Segment().Close()
	}
	for _, r := range p.regions {
		r.seg.Close()
	}
	for _, c := range p.cqs {
		c.close()
	}
}

// release takes what the program owns from the NIC, users before what they use.
func (p *program) release(now unit.Time) {
	s := p.server
	p.ended = true
	n := s.cfg.Host.NIC()
	p.connections.end(now)
	for _, q := range p.queues {
		p.destroy(now, q)
	}
	for _, q := range p.srqs {
		delete(s.shared, q.srq)
		_ = n.DestroySRQ(q.srq)
	}
	for _, h := range p.ahs {
		_ = n.DestroyAH(h.ah)
	}
	for _, r := range p.regions {
		n.DeregisterMR(r.mr)
	}
	for _, pd := range p.pds {
		_ = n.FreePD(pd)
	}
	for i := range s.programs {
		if s.programs[i] == p {
			s.programs = append(s.programs[:i], s.programs[i+1:]...)
			break
		}
	}
	s.cfg.Host.Serve(now)
}
