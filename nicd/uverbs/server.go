package uverbs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// Driver is what the server needs of the loop that drives the NIC.
type Driver interface {
	Do(fn func(now unit.Time)) error
	Attach(fd int, fn func(now unit.Time) (keep bool)) error
	Detach(fd int) error
	Serve(p loop.Poller) error
	TimeLost() time.Duration // against real time, by a clock of the loop's own; on its thread
}

// Config is what a server serves.
type Config struct {
	Name   string // of the daemon
	Path   string // of the socket
	Group  string // that may use it beside root; "": nobody
	Limits abi.Limits
	Host   *app.Host
	Driver Driver
	Log    *slog.Logger
	// Algorithms are those of congestion control that programs may choose.
	Algorithms cc.Registry
	// Resolve finds the way to a host; nil: programs must give the MAC address.
	Resolve func(ctx context.Context, ip, source netip.Addr) (nic.Path, error)
}

// DefaultLimits are our choice: what a test or a benchmark needs many times over, and no more than
// a machine of this project's has.
func DefaultLimits() abi.Limits {
	return abi.Limits{Queues: 256, Objects: 1024, Memory: 1 << 30, Depth: 16384, CQDepth: 65536,
		Programs: 64}
}

// Server serves the programs of one NIC. Make it with Listen.
type Server struct {
	cfg      Config
	listener *net.UnixListener
	wg       sync.WaitGroup

	mu   sync.Mutex
	live map[*program]struct{}
	done bool

	// For the loop's thread.
	programs []*program
	queues   map[ib.QPN]*queuePair
	shared   map[*nic.SRQ]*sharedQueue
	lastPort uint16
	trouble  bool // a completion queue has overflowed since the last turn
	stats    Stats
}

// Stats are what programs have of the NIC at present.
type Stats struct {
	Programs int
	Queues   int   // QPs of all programs
	Regions  int   // memory regions
	CQs      int   // completion queues
	Memory   int64 // bytes that are shared or kept for programs

	Killed  uint64 // connections ended because what the program wrote made no sense
	Refused uint64 // submissions that were for no queue of the program's
}

// Listen makes the socket. A file left by a daemon that died is replaced, a living one is not.
func Listen(cfg Config) (*Server, error) {
	if err := os.MkdirAll(filepath.Dir(cfg.Path), 0o755); err != nil {
		return nil, fmt.Errorf("verbs socket: %w", err)
	}
	addr := &net.UnixAddr{Name: cfg.Path, Net: "unixpacket"}
	if conn, err := net.DialUnix("unixpacket", nil, addr); err == nil {
		conn.Close()
		return nil, fmt.Errorf("verbs socket %s: another daemon answers there", cfg.Path)
	}
	if err := os.Remove(cfg.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("verbs socket: %w", err)
	}
	l, err := net.ListenUnix("unixpacket", addr)
	if err != nil {
		return nil, fmt.Errorf("verbs socket: %w", err)
	}
	if err := grant(cfg.Path, cfg.Group); err != nil {
		l.Close()
		return nil, fmt.Errorf("verbs socket: %w", err)
	}
	return &Server{cfg: cfg, listener: l, live: map[*program]struct{}{},
		queues: map[ib.QPN]*queuePair{}, shared: map[*nic.SRQ]*sharedQueue{}}, nil
}

// grant gives a socket mode 0660 and the group.
func grant(path, group string) error {
	if group != "" {
		g, err := user.LookupGroup(group)
		if err != nil {
			return err
		}
		gid, err := strconv.Atoi(g.Gid)
		if err != nil {
			return fmt.Errorf("group %s: %w", group, err)
		}
		if err := os.Chown(path, -1, gid); err != nil {
			return err
		}
	}
	return os.Chmod(path, 0o660)
}

// Serve takes programs until Close. The loop must be about to run, or run.
func (s *Server) Serve() error {
	if err := s.cfg.Driver.Serve(s); err != nil {
		return fmt.Errorf("serve programs: %w", err)
	}
	err := s.cfg.Driver.Do(func(unit.Time) { s.cfg.Host.OnEvent(s.event) })
	if err != nil {
		return fmt.Errorf("serve programs: %w", err)
	}
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve programs: %w", err)
		}
		s.admit(conn)
	}
}

// admit starts a program's goroutines, if there is room for it.
func (s *Server) admit(conn *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done || len(s.live) >= s.cfg.Limits.Programs {
		conn.Close()
		return
	}
	p := newProgram(s, conn)
	s.live[p] = struct{}{}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		p.run()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, p)
	}()
}

// Close ends all connections and waits until everything of them is freed. It is called when the
// loop has ended, or by whoever lets it go on.
func (s *Server) Close() error {
	s.mu.Lock()
	s.done = true
	for p := range s.live {
		p.conn.Close()
	}
	s.mu.Unlock()
	err := s.listener.Close()
	s.wg.Wait()
	return err
}

// Stats counts what there is.
func (s *Server) Stats() (st Stats, err error) {
	err = s.cfg.Driver.Do(func(unit.Time) {
		st = s.stats
		for _, p := range s.programs {
			st.Programs++
			st.Queues += len(p.queues)
			st.Regions += len(p.regions)
			st.CQs += len(p.cqs)
			st.Memory += p.memory.Load()
		}
	})
	return st, err
}

// errLost says that the loop has ended, or ends, and the daemon with it.
var errLost = errors.New("the daemon ends")

// do runs fn on the loop's thread and returns its error, or errLost.
func (s *Server) do(fn func(now unit.Time) error) (err error) {
	if lost := s.cfg.Driver.Do(func(now unit.Time) { err = fn(now) }); lost != nil {
		return fmt.Errorf("%w: %w", errLost, lost)
	}
	return err
}
