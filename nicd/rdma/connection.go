package rdma

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// connection is the socket to the daemon: calls from any goroutine, answers and events by one that
// reads.
type connection struct {
	conn  *net.UnixConn
	done  chan struct{}
	err   atomic.Pointer[error] // why done is closed
	event func(name string, body []byte)
	ended func() // what to do once done is closed

	mu      sync.Mutex
	last    uint64
	pending map[uint64]chan reply
}

type reply struct {
	abi.Response
	fds []int
}

func dial(path string) (*connection, error) {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, done: make(chan struct{}), pending: map[uint64]chan reply{}}, nil
}

// failure is why the connection ended, nil while it lasts.
func (c *connection) failure() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return nil
}

// fail ends the connection for a reason. The goroutine that reads does the rest.
func (c *connection) fail(why error) {
	if c.err.CompareAndSwap(nil, &why) {
		c.conn.Close()
	}
}

// close is fail, and waits until everything has ended.
func (c *connection) close(why error) {
	c.fail(why)
	<-c.done
}

// maxDescriptors is how many come with one answer.
const maxDescriptors = 4

// read gives answers to who waits for them, until the connection ends.
func (c *connection) read() {
	buf := make([]byte, abi.MaxMessage)
	oob := make([]byte, unix.CmsgSpace(4*maxDescriptors))
	for {
		n, oobn, _, _, err := c.conn.ReadMsgUnix(buf, oob)
		if err != nil || n == 0 {
			break
		}
		r := reply{fds: descriptors(oob[:oobn])}
		if json.Unmarshal(buf[:n], &r.Response) != nil {
			closeAll(r.fds)
			break
		}
		if r.ID == 0 {
			c.event(r.Event, r.Body)
			closeAll(r.fds)
			continue
		}
		c.deliver(r)
	}
	c.fail(ErrDaemonGone)
	c.ended()
	close(c.done)
}

func (c *connection) deliver(r reply) {
	c.mu.Lock()
	ch := c.pending[r.ID]
	delete(c.pending, r.ID)
	c.mu.Unlock()
	if ch == nil {
		closeAll(r.fds) // the caller did not wait
		return
	}
	ch <- r
}

// descriptors takes the descriptors out of a control message.
func descriptors(oob []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if got, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// call asks the daemon and waits for the answer, which must come with so many descriptors. They
// are the caller's to close.
func (c *connection) call(ctx context.Context, name string, req, resp any, want int) (fds []int,
	err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrInvalid, err)
	}
	ch := make(chan reply, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.pending[id] = ch
	c.mu.Unlock()
	message, err := json.Marshal(abi.Request{ID: id, Call: name, Body: body})
	if err == nil && len(message) > abi.MaxMessage {
		err = fmt.Errorf("%s: %w: %d bytes", name, ErrInvalid, len(message))
	}
	if err == nil {
		if _, lost := c.conn.Write(message); lost != nil {
			c.fail(ErrDaemonGone)
			err = c.failure()
		}
	}
	if err != nil {
		c.forget(id, ch)
		return nil, err
	}
	select {
	case r := <-ch:
		return r.open(name, resp, want)
	case <-c.done:
		c.forget(id, ch)
		return nil, c.failure()
	case <-ctx.Done():
		c.forget(id, ch)
		return nil, fmt.Errorf("%s: %w", name, ctx.Err())
	}
}

// forget waits for an answer no more.
func (c *connection) forget(id uint64, ch chan reply) {
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
	select {
	case r := <-ch:
		closeAll(r.fds)
	default:
	}
}

// open decodes an answer.
func (r *reply) open(name string, resp any, want int) ([]int, error) {
	if r.Error != nil {
		closeAll(r.fds)
		return nil, refusal(name, r.Error)
	}
	if len(r.fds) != want {
		closeAll(r.fds)
		return nil, fmt.Errorf("%s: nicd sent %d descriptors, not %d", name, len(r.fds), want)
	}
	if resp == nil || len(r.Body) == 0 {
		return r.fds, nil
	}
	if err := json.Unmarshal(r.Body, resp); err != nil {
		closeAll(r.fds)
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r.fds, nil
}

// refused is an error of the daemon's, of one of our families.
type refused struct {
	call, text string
	family     error
}

func (r *refused) Error() string { return r.call + ": " + r.text }
func (r *refused) Unwrap() error { return r.family }

var families = map[string]error{abi.CodeInvalid: ErrInvalid, abi.CodeLimit: ErrLimit,
	abi.CodeState: ErrState, abi.CodeInUse: ErrInUse, abi.CodePath: ErrPath,
	abi.CodeTimeout: ErrTimeout, abi.CodeRejected: ErrRejected}

// errOther is the family of what has none.
var errOther = errors.New("nicd refused")

func refusal(call string, e *abi.Error) error {
	family := families[e.Code]
	if family == nil {
		family = errOther
	}
	return &refused{call, e.Text, family}
}
