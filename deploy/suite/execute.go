package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// execute runs a cell and measures what it cost.
func (s *Suite) execute(
	ctx context.Context, j *job, tell func(passed, of time.Duration),
) (*finished, error) {
	// A cell is one thread of work, and the time of a thread is counted only as long as the
	// cell stays on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	env := Env{Mode: s.Options.Mode, Dilation: s.Dilation, Log: s.Log, Progress: tell}
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	began, used := time.Now(), cpuTime(env.Mode)
	o, err := j.safely(ctx, env)
	if err != nil {
		return nil, err
	}
	f := &finished{Key: j.key, CPUSeconds: (cpuTime(env.Mode) - used).Seconds(),
		RealSeconds: time.Since(began).Seconds(), Outcome: o}
	f.Outcome.Cell = j.key.Cell
	if err := f.Outcome.check(); err != nil {
		return nil, err
	}
	if f.Outcome.Hash == "" {
		f.Outcome.Hash, err = f.Outcome.hash()
	}
	return f, err
}

// hash is of what was found, for a cell in which nothing else happened.
func (o *Outcome) hash() (string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("hash the outcome: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// safely runs the cell; a panic is an error like any other, with where it was.
func (j *job) safely(ctx context.Context, env Env) (o Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked("run", p)
		}
	}()
	return j.run(ctx, env)
}

// cpuTime is what this thread has used; of a lab on real frames, which runs alone, what all
// threads have, and the daemons that have ended.
func cpuTime(m Mode) (used time.Duration) {
	if m != Real {
		var ts unix.Timespec
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) == nil {
			used = time.Duration(ts.Nano())
		}
		return used
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return used
}

func (j *job) String() string { return fmt.Sprintf("%s %s", j.key.Experiment, j.key.Cell) }
