package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rocelab/rocelab/tests/interop/guest/line"
)

// ErrDown is what commands end with when the guest has ended.
var ErrDown = errors.New("the guest is down")

// Process is a command at work in the guest.
type Process struct {
	Command string
	guest   *Guest
	id      uint32
	ended   chan struct{}

	mu     sync.Mutex
	output bytes.Buffer
	status int
	err    error         // ErrDown
	grown  chan struct{} // closed and replaced when there is more output
}

// Start executes a command with the guest's shell and does not wait for it.
func (g *Guest) Start(command string) (*Process, error) {
	return g.ask(line.Request{Do: line.Start, Command: command})
}

// Run executes a command and returns what it printed. A status other than 0 is an error that has
// the output in it, and so is the end of ctx, which kills the command.
func (g *Guest) Run(ctx context.Context, command string) (string, error) {
	p, err := g.Start(command)
	if err != nil {
		return "", err
	}
	return p.Wait(ctx)
}

// Listens returns when a TCP socket of the guest listens on port.
func (g *Guest) Listens(ctx context.Context, port uint16) error {
	p, err := g.ask(line.Request{Do: line.Listens, Port: port})
	if err != nil {
		return err
	}
	if _, err := p.Wait(ctx); err != nil {
		return fmt.Errorf("nobody listens on the guest's TCP port %d: %w", port, err)
	}
	return nil
}

// ask sends a request that a process answers.
func (g *Guest) ask(r line.Request) (*Process, error) {
	p := &Process{Command: r.Command, guest: g, ended: make(chan struct{}),
		grown: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.processes == nil {
		return nil, ErrDown
	}
	g.last++
	p.id, r.ID = g.last, g.last
	g.processes[p.id] = p
	if err := g.out.Encode(r); err != nil {
		delete(g.processes, p.id)
		return nil, fmt.Errorf("%w: %w", ErrDown, err)
	}
	return p, nil
}

// Output is what the process has written so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Says returns when the output has text in it. That the process ended without having said it is an
// error.
func (p *Process) Says(ctx context.Context, text string) error {
	for {
		p.mu.Lock()
		found, grown := bytes.Contains(p.output.Bytes(), []byte(text)), p.grown
		p.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-grown:
		case <-p.ended:
			if _, err := p.Wait(ctx); err != nil {
				return err
			}
			return fmt.Errorf("%s: ended without %q:\n%s", p.Command, text, p.Output())
		case <-ctx.Done():
			return fmt.Errorf("%s: waiting for %q: %w:\n%s", p.Command, text, ctx.Err(),
				p.Output())
		}
	}
}

// Wait returns when the process has ended, with what it wrote. When ctx ends before, the process is
// killed.
func (p *Process) Wait(ctx context.Context) (string, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.Kill()
		<-p.ended
		return p.Output(), fmt.Errorf("%s: %w:\n%s", p.Command, ctx.Err(), p.Output())
	}
	switch {
	case p.err != nil:
		return p.Output(), fmt.Errorf("%s: %w:\n%s", p.Command, p.err, p.Output())
	case p.status != 0:
		return p.Output(), fmt.Errorf("%s: exit status %d:\n%s", p.Command, p.status, p.Output())
	}
	return p.Output(), nil
}

// Status is what the process ended with, after Wait: 128 + n when signal n ended it.
func (p *Process) Status() int { return p.status }

// Kill ends the process and its children. It may have ended already.
func (p *Process) Kill() {
	p.guest.mu.Lock()
	defer p.guest.mu.Unlock()
	if p.guest.processes[p.id] != nil {
		_ = p.guest.out.Encode(line.Request{ID: p.id, Do: line.Kill}) // else it ends with the guest
	}
}

func (p *Process) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output.Write(b)
	close(p.grown)
	p.grown = make(chan struct{})
}

func (p *Process) end(status int, err error) {
	p.status, p.err = status, err
	close(p.ended)
}
