package switchd

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// place is where a queue is.
type place struct {
	port  dataplane.PortID
	queue mmu.Queue
}

func (s *observer) place(r QueueRef) (place, error) {
	port, ok := s.names[r.Port]
	if !ok || r.Queue < 0 || r.Queue >= mmu.Queues {
		return place{}, fmt.Errorf("no queue %d on port %q", r.Queue, r.Port)
	}
	return place{port, mmu.Queue(r.Queue)}, nil
}

// sample records queues. With the last sample everything that the switch counted is kept.
func (s *observer) sample(r SampleRequest) (struct{}, error) {
	var columns []daemon.Column
	alone := r.Port != ""
	var one place
	if alone {
		var err error
		if one, err = s.place(QueueRef{r.Port, r.Queue}); err != nil {
			return struct{}{}, err
		}
		columns = s.queueColumns(one, func(of string) string { return of })[:3]
	}
	columns = append(columns, s.switchColumns()...)
	places := make([]place, len(r.Queues))
	for i, ref := range r.Queues {
		at, err := s.place(ref)
		if err != nil {
			return struct{}{}, err
		}
		places[i] = at
		columns = append(columns, s.queueColumns(at, ref.Column)...)
	}
	if err := s.run.Do(func(now unit.Time) {
		s.sw.ClearWatermarks(now)
		s.sampled = nil
	}); err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time) {
			out := &Sampled{Queues: make([]QueueLength, len(places))}
			if alone {
				out.Queue = s.distribution(now, one)
			}
			for i, at := range places {
				out.Queues[i] = s.distribution(now, at)
			}
			s.sw.Snapshot(now, &s.snap)
			out.Ports = portStatuses(&s.snap)
			s.sampled = out
		})
}

// switchColumns are those of the whole switch.
func (s *observer) switchColumns() []daemon.Column {
	return []daemon.Column{
		count(ColumnPFCSent, s.sw.PFCSent),
		count(ColumnPFCReceived, s.sw.PFCReceived),
		count(ColumnDropped, s.sw.Dropped),
	}
}

// queueColumns are those of a queue. Its drops come last: without the queue's name that column is
// the switch's.
func (s *observer) queueColumns(at place, name func(of string) string) []daemon.Column {
	return []daemon.Column{
		count(name(ColumnQueueBytes), func() uint64 {
			return uint64(s.sw.QueueDepth(at.port, at.queue))
		}),
		count(name(ColumnECNMarked), func() uint64 {
			_, marked := s.sw.QueueCounts(at.port, at.queue)
			return marked.Frames
		}),
		count(name(ColumnSentLineBytes), func() uint64 {
			sent, _ := s.sw.QueueCounts(at.port, at.queue)
			return sent.Bytes + sent.Frames*uint64(wire.Overhead)
		}),
		count(name(ColumnDropped), func() uint64 {
			return s.sw.QueueDropped(at.port, at.queue)
		}),
	}
}

// count is a column of a whole number.
func count(name string, read func() uint64) daemon.Column {
	return daemon.Column{Name: name, Read: func(unit.Time) float64 { return float64(read()) }}
}

// distribution is all that is known of a queue's length over the time of the samples.
func (s *observer) distribution(now unit.Time, at place) QueueLength {
	l := length(s.sw.QueueLength(now, at.port, at.queue))
	q := s.sw.QueueQuantiles(now, at.port, at.queue)
	l.P50Bytes, l.P90Bytes, l.P95Bytes = float64(q.At(50)), float64(q.At(90)), float64(q.At(95))
	for _, n := range q {
		l.Quantiles = append(l.Quantiles, float64(n))
	}
	return l
}
