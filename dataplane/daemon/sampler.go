package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Sampler records numbers of a machine at exact multiples of an interval of virtual time. Its
// memory is set aside at the start; when it is full, sampling ends.
type Sampler struct {
	run     Executor
	started bool
	data    Samples
}

// Samples are columns of equal length.
type Samples struct {
	IntervalNs int64       `json:"interval_ns"`
	TimeNs     []int64     `json:"time_ns"`
	Columns    []string    `json:"columns"`
	Values     [][]float64 `json:"values"` // one slice per column
}

// Column returns the samples of a column by name.
func (s *Samples) Column(name string) ([]float64, bool) {
	for i, c := range s.Columns {
		if c == name {
			return s.Values[i], true
		}
	}
	return nil, false
}

// maxSamples bounds the values of all columns, of 8 bytes each, and with them a sampler's memory to
// 64 MB.
const maxSamples = 8 << 20

// ErrSampling is the answer to who asks for the end of samples too early.
var ErrSampling = errors.New("sampling: the last sample has not been taken")

// NewSampler returns a sampler of the machine that run runs.
func NewSampler(run Executor) *Sampler { return &Sampler{run: run} }

// Column is one of the numbers that a Sampler records. Read runs on the machine's thread and must
// not allocate.
type Column struct {
	Name string
	Read func(now unit.Time) float64
}

// Start records count samples of the given columns. last runs on the machine's thread after the
// last sample.
func (s *Sampler) Start(interval time.Duration, count int, columns []Column,
	last func(now unit.Time)) error {
	if interval <= 0 || count <= 0 || count > maxSamples/max(len(columns), 1) {
		return fmt.Errorf("sampling: want a positive interval and at most %d values in all: "+
			"%d samples of %d columns are asked for", maxSamples, count, len(columns))
	}
	d := Samples{IntervalNs: interval.Nanoseconds(), TimeNs: make([]int64, 0, count)}
	for _, c := range columns {
		d.Columns = append(d.Columns, c.Name)
		d.Values = append(d.Values, make([]float64, 0, count))
	}
	err := s.run.Do(func(unit.Time) {
		if s.started && len(s.data.TimeNs) < cap(s.data.TimeNs) {
			return // still at work; told below
		}
		s.started, s.data = true, d
		d = Samples{}
	})
	if err != nil {
		return err
	}
	if d.Columns != nil {
		return errors.New("sampling: already at work")
	}
	return s.run.Every(interval, func(now unit.Time) bool {
		s.data.TimeNs = append(s.data.TimeNs, int64(now))
		for i := range columns {
			s.data.Values[i] = append(s.data.Values[i], columns[i].Read(now))
		}
		if len(s.data.TimeNs) < cap(s.data.TimeNs) {
			return true
		}
		last(now)
		return false
	})
}

// Samples returns what was recorded so far.
func (s *Sampler) Samples() (out Samples, err error) {
	err = s.run.Do(func(unit.Time) {
		out = s.data
		// The columns only grow, so the part up to here may be read without copying.
		out.TimeNs = out.TimeNs[:len(out.TimeNs):len(out.TimeNs)]
		out.Values = append([][]float64(nil), s.data.Values...)
	})
	return out, err
}
