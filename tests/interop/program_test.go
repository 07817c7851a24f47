package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rocelab/rocelab/dataplane/netspace"
)

// program is one of ours at work. It dies with the test.
type program struct {
	name  string
	cmd   *exec.Cmd
	out   buffer
	ended chan struct{}
	err   error // once ended
}

// buffer is written by the program and read by the test.
type buffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.String()
}

// run starts a program of ours in a namespace.
func run(space, name string, args ...string) (*program, error) {
	p := &program{name: name, cmd: exec.Command(filepath.Join(bin, name), args...),
		ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		err := netspace.Do(space, func() error {
			runtime.LockOSThread() // Pdeathsig means the thread
			err := p.cmd.Start()
			started <- err
			if err == nil {
				p.err = p.cmd.Wait()
			}
			return nil
		})
		if err != nil {
			started <- err
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// wait returns what the program printed when it has ended; with ctx it is killed.
func (p *program) wait(ctx context.Context) (string, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.ended
		return p.out.String(), fmt.Errorf("%s: %w:\n%s", p.name, ctx.Err(), p.out.String())
	}
	if p.err != nil {
		return p.out.String(), fmt.Errorf("%s: %w:\n%s", p.name, p.err, p.out.String())
	}
	return p.out.String(), nil
}

// says waits for text in the program's output.
func (p *program) says(ctx context.Context, text string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(p.out.String(), text) {
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("%s ended without %q: %w\n%s", p.name, text, p.err, p.out.String())
		case <-ctx.Done():
			return fmt.Errorf("%s: no %q: %w\n%s", p.name, text, ctx.Err(), p.out.String())
		}
	}
	return nil
}

// stopTime is how long a program may take to clean up.
const stopTime = 10 * time.Second

// stop asks the program to end.
func (p *program) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_, err := p.wait(ctx)
	return err
}
