package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rocelab/rocelab/tests/interop/guest/line"
)

// Options are what guests of one image differ in.
type Options struct {
	Dir    string // for files of this guest, the console among them; must be empty
	TAP    *os.File
	MAC    string
	Line   line.Config
	Memory int               // in MiB; 0: 256
	Files  map[string]string // programs: path in the guest to path here
}

// Guest is a virtual machine at work.
type Guest struct {
	dir  string
	cmd  *exec.Cmd
	gone chan struct{} // closed when qemu has ended
	conn net.Conn

	mu        sync.Mutex
	out       *json.Encoder
	last      uint32
	processes map[uint32]*Process // nil when the guest is down
}

// Boot starts the image and returns when the guest is ready for commands.
func (m *Image) Boot(ctx context.Context, opts Options) (*Guest, error) {
	g := &Guest{dir: opts.Dir, gone: make(chan struct{}), processes: map[uint32]*Process{}}
	if err := m.writeInitrd(ctx, &opts); err != nil {
		return nil, fmt.Errorf("the guest's files: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: g.path("line"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	if err := g.launch(m, &opts); err != nil {
		return nil, err
	}
	if err := g.meet(ctx, listener); err != nil {
		g.kill()
		console, _ := os.ReadFile(g.path("console"))
		return nil, fmt.Errorf("boot the guest: %w; its console:\n%s", err, console)
	}
	return g, nil
}

func (g *Guest) path(name string) string { return filepath.Join(g.dir, name) }

// meet waits for the agent's first words. Either qemu, or ctx, may end before.
func (g *Guest) meet(ctx context.Context, l *net.UnixListener) (err error) {
	stop := make(chan struct{})
	defer close(stop)
	up := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
			l.Close()
		case <-g.gone:
			l.Close()
		case <-stop:
		}
	}()
	if g.conn, err = l.Accept(); err != nil {
		return errors.Join(errors.New("qemu did not open the serial port"), ctx.Err())
	}
	g.out = json.NewEncoder(g.conn)
	go g.listen(up)
	select {
	case err = <-up:
	case <-g.gone:
		err = ErrDown
	case <-ctx.Done():
		err = ctx.Err()
	}
	return err
}

// listen takes the agent's replies until the guest is down.
func (g *Guest) listen(up chan<- error) {
	replies := json.NewDecoder(g.conn)
	for {
		var r line.Reply
		if err := replies.Decode(&r); err != nil {
			up <- fmt.Errorf("%w: %w", ErrDown, err)
			g.down()
			return
		}
		g.mu.Lock()
		p := g.processes[r.ID]
		if r.Is == line.Exit {
			delete(g.processes, r.ID)
		}
		g.mu.Unlock()
		switch {
		case r.Is == line.Up:
			up <- nil
			up = make(chan error, 1)
		case p == nil:
		case r.Is == line.Output:
			p.write(r.Output)
		case r.Is == line.Exit:
			p.end(r.Status, nil)
		}
	}
}

// down ends every process that the guest's end has ended.
func (g *Guest) down() {
	g.mu.Lock()
	orphans := g.processes
	g.processes = nil
	g.mu.Unlock()
	for _, p := range orphans {
		p.end(-1, ErrDown)
	}
}

// launch starts qemu. It dies with the thread that started it, and so with the test.
func (g *Guest) launch(m *Image, opts *Options) error {
	log, err := os.Create(g.path("qemu"))
	if err != nil {
		return err
	}
	defer log.Close()
	g.cmd = exec.Command(qemu, g.arguments(m, opts)...)
	g.cmd.Stdout, g.cmd.Stderr = log, log
	g.cmd.ExtraFiles = []*os.File{opts.TAP} // number 3
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := g.cmd.Start()
		started <- err
		if err == nil {
			_ = g.cmd.Wait()
		}
		close(g.gone)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", qemu, err)
	}
	return nil
}

func (g *Guest) kill() {
	_ = g.cmd.Process.Kill() // it may have ended
	<-g.gone
	if g.conn != nil {
		g.conn.Close()
	}
}

// Console is what the kernel, and the agent when it fails, have printed.
func (g *Guest) Console() string {
	text, _ := os.ReadFile(g.path("console"))
	return string(text)
}

// powerOffTime is generous: the guest takes a quarter of a second.
const powerOffTime = 5 * time.Second

// Close powers the guest off, or kills it when it does not obey.
func (g *Guest) Close() error {
	g.mu.Lock()
	err := g.out.Encode(line.Request{Do: line.PowerOff})
	g.mu.Unlock()
	if err == nil {
		select {
		case <-g.gone:
		case <-time.After(powerOffTime):
			err = errors.New("the guest did not power off and was killed")
		}
	}
	g.kill()
	return err
}
