package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is a daemon of the lab.
type process struct {
	node string
	kind string // switchd or nicd
	cmd  *exec.Cmd
	log  string        // file with its output
	done chan struct{} // closed when it has ended
	err  error         // how; valid after done
}

// launcher starts processes from one thread that lives as long as the lab: the kernel sends a
// child its parent-death signal when the thread that started it ends.
type launcher struct {
	work chan func()
}

func newLauncher() *launcher {
	l := &launcher{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for fn := range l.work {
			fn()
		}
	}()
	return l
}

func (l *launcher) close() { close(l.work) }

// start runs a daemon with its output in a file. It gets a process group of its own, so that an
// interrupt at the terminal reaches only the lab, which ends its daemons in order.
func (l *launcher) start(node, kind, config, logFile string) (*process, error) {
	cmd, err := daemonCommand(kind)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Args = append(cmd.Args, "-config", config)
	p := &process{node: node, kind: kind, cmd: cmd, log: logFile, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	l.work <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s for %s: %w", cmd.Path, node, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the process: by SIGTERM, after the grace period by SIGKILL.
func (p *process) stop(grace time.Duration) {
	// An error means that it has ended already; done tells.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// failure tells how a process that should be running ended, with the end of its log.
func (p *process) failure() error {
	how := "ended"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s of %s: %s; its last words:\n%s", p.kind, p.node, how,
		lastLines(p.log, 6))
}

func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	return "  " + strings.Join(lines, "\n  ")
}

// lock takes the lab's lock. It is held until the file is closed, however the process ends.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

var errLocked = errors.New("a lab of that name is running")
