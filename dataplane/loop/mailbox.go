package loop

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/engine"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// mailbox brings functions of other goroutines to the loop's thread. An eventfd wakes its ppoll.
type mailbox struct {
	fd int

	mu      sync.Mutex
	letters []letter
	closed  bool
}

type letter struct {
	fn   func(unit.Time)
	done chan struct{}
}

func (m *mailbox) open() (err error) {
	if m.fd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	return nil
}

// do posts fn and waits until it has run, or until the loop has ended.
func (m *mailbox) do(fn func(unit.Time)) error {
	l := letter{fn, make(chan struct{})}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrStopped
	}
	ran := false
	l.fn = func(now unit.Time) { ran = true; fn(now) }
	m.letters = append(m.letters, l)
	m.signal()
	m.mu.Unlock()
	<-l.done
	if !ran {
		return ErrStopped
	}
	return nil
}

func (m *mailbox) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.signal()
	}
}

// signal makes the eventfd readable. It fails only if it is readable already.
func (m *mailbox) signal() { _, _ = unix.Write(m.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// run opens the letters on the loop's thread.
func (m *mailbox) run(now unit.Time, node *engine.Node) {
	if !m.mu.TryLock() {
		return // somebody is posting and signals afterwards
	}
	letters := m.letters
	m.letters = nil
	if len(letters) > 0 {
		var buf [8]byte
		_, _ = unix.Read(m.fd, buf[:]) // non-blocking; empty is fine
	}
	m.mu.Unlock()
	for _, l := range letters {
		l.fn(now)
		close(l.done)
	}
	if len(letters) > 0 {
		node.Settle()
	}
}

func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, l := range m.letters {
		close(l.done)
	}
	m.letters = nil
	unix.Close(m.fd)
}
