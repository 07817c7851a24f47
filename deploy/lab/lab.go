package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// RunDir holds one folder for each lab.
const RunDir = "/run/rocelab"

// Lab is a running lab.
type Lab struct {
	Topology Topology
	Dir      string
	Governor *clock.Governor
	Page     *clock.Page

	log      *slog.Logger
	lock     *os.File
	net      network
	launcher *launcher
	metrics  *metricsServer // nil without a metrics port
	procs    []*process
	clients  map[string]*daemon.Client
	slots    map[string]int
	failed   chan error // the first daemon that ended by itself
	stop     context.CancelFunc
	governed chan struct{}
}

// Up builds the lab and starts its daemons; its clock stands at zero until Start. If anything
// fails, or ctx ends, what was made is removed again.
func Up(ctx context.Context, t Topology, log *slog.Logger) (*Lab, error) {
	if err := Preflight(); err != nil {
		return nil, err
	}
	l := &Lab{
		Topology: t,
		Dir:      filepath.Join(RunDir, t.Name),
		log:      log,
		failed:   make(chan error, 1),
		clients:  make(map[string]*daemon.Client),
		slots:    make(map[string]int),
	}
	if err := l.claim(); err != nil {
		return nil, err
	}
	l.settle(true)
	if err := l.build(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// build makes everything; what it made is left for Close if it fails.
func (l *Lab) build(ctx context.Context) error {
	t := &l.Topology
	if err := l.net.build(t); err != nil {
		return err
	}
	if err := l.makeClock(); err != nil {
		return err
	}
	l.launcher = newLauncher()
	for i, n := range t.Nodes {
		l.slots[n.Name] = i
	}
	for _, n := range t.Nodes {
		if err := l.startNode(n); err != nil {
			return err
		}
	}
	for _, n := range t.Nodes {
		if err := l.waitReady(ctx, n.Name); err != nil {
			return err
		}
	}
	// Before the first frame: what is wrong from the start is wrong for it as well.
	if err := l.plan(ctx); err != nil {
		return err
	}
	if err := l.announce(); err != nil {
		return err
	}
	if err := l.serveMetrics(); err != nil {
		return err
	}
	return l.writeInfo()
}

// claim takes the lab's folder, clearing what a killed owner left in it.
func (l *Lab) claim() (err error) {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return fmt.Errorf("lab %s: %w", l.Topology.Name, err)
	}
	if l.lock, err = lock(filepath.Join(l.Dir, "lock")); err != nil {
		return fmt.Errorf("lab %s: %w", l.Topology.Name, err)
	}
	defer func() {
		if err != nil {
			l.lock.Close()
		}
	}()
	if left, err := l.readState(); err == nil {
		l.log.Warn(
			"removing what an earlier run of this lab left behind",
			"namespaces",
			left.spaces,
		)
		if err := left.remove(); err != nil {
			return err
		}
	}
	if err := clearDir(l.Dir); err != nil {
		return err
	}
	return l.writeState()
}

// clearDir empties a lab's folder but for its lock.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lock" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// state is what must be removed; it is written before anything is made.
type state struct {
	Namespaces []string `json:"namespaces"`
}

func (l *Lab) writeState() error {
	var s state
	for _, n := range l.Topology.Nodes {
		name := l.Topology.netns(n.Name)
		if _, err := os.Lstat(filepath.Join("/run/netns", name)); err == nil {
			continue // not ours: build will refuse it, and nobody may remove it for us
		}
		s.Namespaces = append(s.Namespaces, name)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "state.json"), text, 0o644)
}

func (l *Lab) readState() (*network, error) {
	text, err := os.ReadFile(filepath.Join(l.Dir, "state.json"))
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return &network{spaces: s.Namespaces}, nil
}

// budget is how late a loop may be before the clock waits. Of the shortest delay, one half is what
// a loop may sleep past an inner deadline, two fifths are this, a tenth is left for the kernel.
func (t *Topology) budget() unit.Time {
	switch {
	case t.Clock.Rigid:
		return unit.Never
	case t.Clock.Budget != 0:
		return unit.Time(t.Clock.Budget)
	}
	return unit.Time(t.shortestDelay() * 2 / 5)
}

func (l *Lab) makeClock() (err error) {
	c := &l.Topology.Clock
	if c.Min == 0 {
		c.Min = 1
	}
	if c.Max == 0 {
		c.Max = 1e6
	}
	if c.Start == 0 {
		c.Start = 200
	}
	l.Page, err = clock.Create(filepath.Join(l.Dir, "clock"), l.Topology.budget())
	if err != nil {
		return err
	}
	l.Governor, err = clock.NewGovernor(l.Page, c.Min, c.Max)
	return err
}

// Start lets the clock run.
func (l *Lab) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.stop, l.governed = cancel, make(chan struct{})
	l.Governor.Start(l.Topology.Clock.Start)
	go func() {
		defer close(l.governed)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				l.Governor.Stop()
				return
			case <-tick.C:
				l.Governor.Adjust()
			}
		}
	}()
}

// Pause stops the clock; nothing moves any more.
func (l *Lab) Pause() {
	if l.stop != nil {
		l.stop()
		<-l.governed
		l.stop = nil
	}
}

// Client is the control socket of a node.
func (l *Lab) Client(node string) *daemon.Client { return l.clients[node] }

// Namespace is the network namespace of a node, where its kernel's traffic can be made.
func (l *Lab) Namespace(node string) string { return l.Topology.netns(node) }

// Failed delivers the end of a daemon that nobody asked for.
func (l *Lab) Failed() <-chan error { return l.failed }

// Logs returns the log file of a node.
func (l *Lab) Logs(node string) string { return filepath.Join(l.Dir, node+".log") }

// Close ends the daemons and removes everything the lab made. It may be called twice.
func (l *Lab) Close() error {
	if l.metrics != nil {
		l.metrics.close()
		l.metrics = nil
	}
	l.Pause()
	for _, p := range l.procs {
		_ = p.cmd.Process.Signal(os.Interrupt) // all at once; stop waits for each
	}
	for _, p := range l.procs {
		p.stop(3 * time.Second)
	}
	if l.launcher != nil {
		l.launcher.close()
		l.launcher = nil
	}
	for _, c := range l.clients {
		c.Close()
	}
	err := l.net.remove()
	l.settle(false)
	l.procs = nil
	if l.Page != nil {
		err = errors.Join(err, l.Page.Close())
		l.Page = nil
	}
	if l.lock != nil {
		err = errors.Join(err, os.RemoveAll(l.Dir), l.lock.Close())
		_ = os.Remove(RunDir) // fails, as it should, while other labs are there
		l.lock = nil
	}
	return err
}

// Down removes a lab whose owner was killed. A running lab is ended by its owner.
func Down(name string, log *slog.Logger) error {
	dir := filepath.Join(RunDir, name)
	if strings.ContainsRune(name, '/') {
		return fmt.Errorf("lab %q: not a name", name)
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("no lab %s", name)
	}
	l := &Lab{Topology: Topology{Name: name}, Dir: dir, log: log}
	if err := l.claim(); err != nil {
		return err
	}
	return l.Close()
}
