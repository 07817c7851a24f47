package suite

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Progress tells a person how far a suite is, and how long it will still take: on a terminal a line
// that is drawn anew every second, else a line for each cell that has ended. It is a writer for
// what else goes to the same place, as a log: lines that stay, for which the drawn one makes room.
// A nil Progress tells nobody.
type Progress struct {
	Out     io.Writer
	Columns int // of the terminal; 0: it is none

	open   sync.Once
	screen screen // by on

	mu       sync.Mutex
	total    int
	jobs     int
	ended    int
	began    time.Time
	running  []*running
	measured map[string]*mean // times of cells, by experiment
	all      mean
	unknown  map[string]int // waiting cells that no earlier run tells the time of
	expected time.Duration  // of those waiting of which one does

	over chan struct{}
	line sync.WaitGroup
}

// running is a cell under way.
type running struct {
	job   *job
	began time.Time
	share atomic.Uint64 // of its virtual time that has passed, in millionths
}

// mean is that of some times.
type mean struct {
	sum time.Duration
	n   int
}

func (m *mean) add(d time.Duration) { m.sum, m.n = m.sum+d, m.n+1 }

func (m *mean) get() time.Duration { return m.sum / time.Duration(max(1, m.n)) }

const millionths = 1e6

// on is where everything goes.
func (p *Progress) on() *screen {
	p.open.Do(func() { p.screen.out = p.Out })
	return &p.screen
}

// Write shows lines that stay, at any time.
func (p *Progress) Write(lines []byte) (int, error) { return p.on().Write(lines) }

// expect tells of a cell that waits.
func (p *Progress) expect(j *job) {
	if p == nil {
		return
	}
	if p.unknown == nil {
		p.unknown = map[string]int{}
	}
	if j.before != nil {
		p.expected += j.before.took()
	} else {
		p.unknown[j.key.Experiment]++
	}
}

// start begins to tell.
func (p *Progress) start(total, jobs int) {
	if p == nil {
		return
	}
	p.total, p.jobs, p.began = total, jobs, time.Now()
	p.measured, p.over = map[string]*mean{}, make(chan struct{})
	if p.Columns == 0 {
		return
	}
	p.line.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-p.over:
				return
			case now := <-tick.C:
				p.on().draw(p.text(now))
			}
		}
	})
}

// stop ends the line.
func (p *Progress) stop() {
	if p != nil {
		close(p.over)
		p.line.Wait()
		p.on().close()
	}
}

// begin tells that a cell runs, and returns what it may tell itself.
func (p *Progress) begin(j *job) (tell func(passed, of time.Duration)) {
	if p == nil {
		return nil
	}
	r := &running{job: j, began: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, r)
	if j.before != nil {
		p.expected -= j.before.took()
	} else {
		p.unknown[j.key.Experiment]--
	}
	return func(passed, of time.Duration) {
		if of > 0 {
			r.share.Store(uint64(millionths * min(1, max(0, passed.Seconds()/of.Seconds()))))
		}
	}
}

// end tells that a cell has ended: finished, failed, or, with neither, interrupted.
func (p *Progress) end(j *job, f *finished, err error) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = slices.DeleteFunc(p.running, func(r *running) bool { return r.job == j })
	p.ended++
	how := "interrupted"
	switch {
	case err != nil:
		first, _, _ := strings.Cut(err.Error(), "\n")
		how = "failed: " + first
	case f != nil:
		how = fmt.Sprintf("%.1f s", f.RealSeconds)
		m := p.measured[j.key.Experiment]
		if m == nil {
			m = new(mean)
			p.measured[j.key.Experiment] = m
		}
		m.add(f.took())
		p.all.add(f.took())
	}
	if p.Columns == 0 {
		if left, ok := p.left(time.Now()); ok && f != nil && p.ended < p.total {
			how += ", about " + clock(left) + " left"
		}
		fmt.Fprintf(p, "[%d/%d] %v: %s\n", p.ended, p.total, j, how)
	}
}
