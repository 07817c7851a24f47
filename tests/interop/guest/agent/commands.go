package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rocelab/rocelab/tests/interop/guest/line"
)

// agent executes commands.
type agent struct {
	sync.Mutex
	out     *json.Encoder
	running map[uint32]*exec.Cmd
}

func newAgent(port io.Writer) *agent {
	return &agent{out: json.NewEncoder(port), running: map[uint32]*exec.Cmd{}}
}

func (a *agent) say(r line.Reply) error {
	a.Lock()
	defer a.Unlock()
	return a.out.Encode(r)
}

// obey does what is asked for until it is to power off, which is its end.
func (a *agent) obey(port io.Reader) error {
	requests := json.NewDecoder(port)
	for {
		var r line.Request
		if err := requests.Decode(&r); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		switch r.Do {
		case line.Start:
			a.start(r.ID, r.Command)
		case line.Kill:
			a.kill(r.ID)
		case line.Listens:
			go a.listens(r.ID, r.Port)
		case line.PowerOff:
			return nil
		}
	}
}

// prologue makes the shell, which is Busybox's, take iproute2's programs before its own of the same
// name.
const prologue = `ip() { /usr/bin/ip "$@"; }
tc() { /usr/bin/tc "$@"; }
`

// start runs a command in a process group of its own.
func (a *agent) start(id uint32, command string) {
	cmd := exec.Command("/bin/sh", "-c", prologue+command)
	cmd.Dir, cmd.SysProcAttr = "/root", &syscall.SysProcAttr{Setsid: true}
	w := writer{a, id}
	cmd.Stdout, cmd.Stderr = w, w
	// What it started in the background may live longer and keep the pipe open.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintln(w, err)
		_ = a.say(line.Reply{ID: id, Is: line.Exit, Status: 127})
		return
	}
	a.Lock()
	a.running[id] = cmd
	a.Unlock()
	go func() {
		err := cmd.Wait()
		a.Lock()
		delete(a.running, id)
		a.Unlock()
		_ = a.say(line.Reply{ID: id, Is: line.Exit, Status: status(err)})
	}()
}

func status(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0 // ErrWaitDelay: the command itself succeeded
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

func (a *agent) kill(id uint32) {
	a.Lock()
	defer a.Unlock()
	if cmd := a.running[id]; cmd != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// listens replies when a TCP socket listens on a port.
func (a *agent) listens(id uint32, port uint16) {
	found := appear(func() bool {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			if text, err := os.ReadFile(table); err == nil && listening(string(text), port) {
				return true
			}
		}
		return false
	})
	r := line.Reply{ID: id, Is: line.Exit}
	if !found {
		r.Status = 1
	}
	_ = a.say(r)
}

// listening looks for the port in a table of sockets: after its number each line has the local
// address, the remote one and the state, of which 0A is LISTEN.
func listening(table string, port uint16) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for l := range strings.Lines(table) {
		fields := strings.Fields(l)
		if len(fields) > 3 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" {
			return true
		}
	}
	return false
}

// writer sends what a command writes.
type writer struct {
	*agent
	id uint32
}

func (w writer) Write(b []byte) (int, error) {
	return len(b), w.say(line.Reply{ID: w.id, Is: line.Output, Output: b})
}
