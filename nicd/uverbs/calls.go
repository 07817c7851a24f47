package uverbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/shm"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/qp"
)

// Families of errors that programs can tell apart.
var (
	errLimit   = errors.New("limit of a program")
	errInvalid = errors.New("invalid")
	errPath    = errors.New("no path")
)

// call carries out one call: its answer, descriptors to send along, or an error.
type call func(p *program, body []byte) (answer any, fds []int, err error)

// calls are what a program may call once it has said hello.
var calls = map[string]call{
	abi.CallQuery:        plain((*program).query),
	abi.CallAllocPD:      plain((*program).allocPD),
	abi.CallFreePD:       plain((*program).freePD),
	abi.CallRegister:     decoded((*program).register),
	abi.CallDeregister:   plain((*program).deregister),
	abi.CallCreateCQ:     decoded((*program).createCQ),
	abi.CallDestroyCQ:    plain((*program).destroyCQ),
	abi.CallCreateSRQ:    plain((*program).createSRQ),
	abi.CallArmSRQ:       plain((*program).armSRQ),
	abi.CallDestroySRQ:   plain((*program).destroySRQ),
	abi.CallCreateAH:     plain((*program).createAH),
	abi.CallDestroyAH:    plain((*program).destroyAH),
	abi.CallCreateQP:     plain((*program).createQP),
	abi.CallReadyReceive: plain((*program).readyReceive),
	abi.CallReadySend:    plain((*program).readySend),
	abi.CallFailQP:       plain((*program).failQP),
	abi.CallQueryQP:      plain((*program).queryQP),
	abi.CallDestroyQP:    plain((*program).destroyQP),

	abi.CallListen:     plain((*program).listen),
	abi.CallUnlisten:   plain((*program).unlisten),
	abi.CallDial:       plain((*program).dial),
	abi.CallAccept:     plain((*program).acceptCM),
	abi.CallReject:     plain(connected((*program).reject)),
	abi.CallDisconnect: plain(connected((*program).disconnect)),
	abi.CallHangUp:     plain((*program).hangUp),
	abi.CallResolve:    plain((*program).resolve),
	abi.CallServeSIDR:  plain((*program).serveSIDR),
}

// waits are the calls that find the way to a host first, for which the kernel may have to ask a
// neighbour. They do not hold up others.
var waits = map[string]bool{abi.CallCreateAH: true, abi.CallReadyReceive: true,
	abi.CallDial: true, abi.CallResolve: true}

// atOnce bounds the calls of a program that wait.
const atOnce = 16

// decoded makes a call of a function of its decoded body.
func decoded[Req any](fn func(*program, Req) (any, []int, error)) call {
	return func(p *program, body []byte) (any, []int, error) {
		var req Req
		if len(body) > 0 {
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&req); err != nil {
				return nil, nil, fmt.Errorf("%w: %w", errInvalid, err)
			}
		}
		return fn(p, req)
	}
}

// plain is decoded for functions without descriptors.
func plain[Req, Resp any](fn func(*program, Req) (Resp, error)) call {
	return decoded(func(p *program, req Req) (any, []int, error) {
		resp, err := fn(p, req)
		return resp, nil, err
	})
}

// none is the body of a call or an answer that says nothing.
type none struct{}

// handle carries out the call in a message. An error ends the connection: the program does not
// speak our language, or there is no loop any more to carry anything out. Such a call is not
// answered: the program sees the connection end, as it does when it comes a moment later.
func (p *program) handle(b []byte) error {
	var req abi.Request
	if err := json.Unmarshal(b, &req); err != nil || req.ID == 0 {
		return fmt.Errorf("not a call: %.40q", b)
	}
	fn := calls[req.Call]
	switch {
	case p.ring == nil && req.Call == abi.CallHello:
		fn = decoded((*program).hello)
	case p.ring == nil:
		return fmt.Errorf("%.40q before hello", req.Call)
	}
	if fn == nil {
		return p.answer(req.ID, nil, nil, fmt.Errorf("%w: no call %.40q", errInvalid, req.Call))
	}
	if !waits[req.Call] {
		return p.carryOut(&req, fn)
	}
	select {
	case p.waiting <- struct{}{}:
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	p.waiters.Go(func() {
		if p.carryOut(&req, fn) != nil {
			p.conn.Close() // read ends with that
		}
		<-p.waiting
	})
	return nil
}

// carryOut executes a call and answers it.
func (p *program) carryOut(req *abi.Request, fn call) error {
	answer, fds, err := fn(p, req.Body)
	if errors.Is(err, errLost) {
		closeAll(fds)
		return err
	}
	return p.answer(req.ID, answer, fds, err)
}

func (p *program) answer(id uint64, answer any, fds []int, failed error) error {
	r := abi.Response{ID: id}
	if failed != nil {
		r.Error = &abi.Error{Code: code(failed), Text: failed.Error()}
		return p.send(r, nil)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		closeAll(fds)
		return err
	}
	r.Body = body
	return p.send(r, fds)
}

// code tells a program which family an error is of.
func code(err error) string {
	for _, c := range []struct {
		err  error
		code string
	}{{errLimit, abi.CodeLimit}, {nic.ErrTooFew, abi.CodeLimit}, {nic.ErrInUse, abi.CodeInUse},
		{qp.ErrState, abi.CodeState}, {errPath, abi.CodePath}, {nic.ErrFamily, abi.CodePath},
		{qp.ErrMemory, abi.CodeLimit}, {errInvalid, abi.CodeInvalid},
		{qp.ErrAttribute, abi.CodeInvalid}, {nic.ErrScope, abi.CodeInvalid},
		{cm.ErrInUse, abi.CodeInUse}, {cm.ErrState, abi.CodeState}, {cm.ErrTooMany, abi.CodeLimit},
		{cm.ErrPath, abi.CodePath}, {cm.ErrTooLong, abi.CodeInvalid}} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return abi.CodeOther
}

// hello makes the submission ring and the doorbell.
func (p *program) hello(h abi.Hello) (any, []int, error) {
	if h.Version != abi.Version {
		return nil, nil, fmt.Errorf("%w: version %d, this daemon speaks %d", errInvalid, h.Version,
			abi.Version)
	}
	size := abi.RingBytes(abi.Submissions, abi.SubmissionSize)
	if err := p.charge(int64(shm.SegmentSize(size))); err != nil {
		return nil, nil, err
	}
	seg, fd, err := shm.NewSegment("verbs submissions", size)
	if err != nil {
		return nil, nil, err
	}
	var bell [2]int
	if err := unix.Pipe2(bell[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		unix.Close(fd)
		seg.Close()
		return nil, nil, fmt.Errorf("doorbell: %w", err)
	}
	p.bell = bell[0]
	p.ring = abi.NewRing(seg, abi.Submissions, abi.SubmissionSize)
	fds := []int{fd, bell[1]}
	err = p.do(func(unit.Time) error {
		p.server.programs = append(p.server.programs, p)
		return nil
	})
	if err == nil {
		if err = p.server.cfg.Driver.Attach(p.bell, p.rung); errors.Is(err, loop.ErrStopped) {
			err = fmt.Errorf("%w: %w", errLost, err)
		}
	}
	if err != nil {
		closeAll(fds)
		return nil, nil, err
	}
	d, err := p.query(none{})
	return d, fds, err
}

func (p *program) query(none) (abi.Device, error) {
	s := p.server
	d := abi.Device{Name: s.cfg.Name, Limits: s.cfg.Limits, Algorithms: s.cfg.Algorithms.Names()}
	return d, s.do(func(unit.Time) error {
		n := s.cfg.Host.NIC()
		c := n.Config()
		d.MAC, d.Rate, d.QP = c.MAC, int64(c.Rate), n.QPConfig()
		d.Addresses = n.IPs()
		return nil
	})
}
