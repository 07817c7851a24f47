package nicd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
)

// sample records every flow and every QP that exists now. With the last sample everything that the
// NIC counted is kept.
func (s *verbs) sample(r SampleRequest) (struct{}, error) {
	var columns []daemon.Column
	err := s.do(func(now unit.Time) error {
		s.sampled = nil
		columns = s.columns(now, r.Flows == nil || *r.Flows)
		return nil
	})
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time) {
			s.host.NIC().Snapshot(now, &s.snap)
			st := s.state()
			s.sampled = &st
		})
}

// columns of the NIC, and with those of flows and QPs if they are wanted.
func (s *verbs) columns(now unit.Time, flows bool) []daemon.Column {
	n := s.host.NIC()
	list := []daemon.Column{
		{Name: ColumnPausedNs, Read: func(now unit.Time) float64 {
			return float64(n.PausedFor(now).Nanoseconds())
		}},
		{Name: ColumnCNPsSent, Read: func(unit.Time) float64 { return float64(n.CNPsSent()) }},
	}
	if !flows {
		return list
	}
	for i := range s.host.Flows() {
		f, _ := s.host.Flow(i)
		list = append(list, flowColumns(n, f.Name, f.QPN)...)
	}
	n.Snapshot(now, &s.snap)
	for i := range s.snap.QPs {
		list = append(list, placedColumn(n, s.snap.QPs[i].QPN))
	}
	return list
}

func flowColumns(n *nic.NIC, name string, qpn ib.QPN) []daemon.Column {
	list := []daemon.Column{
		{Name: ColumnRate + name, Read: func(unit.Time) float64 {
			return float64(n.Limit(qpn).Rate)
		}},
		{Name: ColumnAcked + name, Read: func(unit.Time) float64 {
			if q := n.QP(qpn); q != nil {
				return float64(q.Stats.BytesAcked)
			}
			return 0
		}},
	}
	if n.Limit(qpn).Window > 0 {
		list = append(list, daemon.Column{Name: ColumnWindow + name,
			Read: func(unit.Time) float64 { return float64(n.Limit(qpn).Window) }})
	}
	return list
}

func placedColumn(n *nic.NIC, qpn ib.QPN) daemon.Column {
	return daemon.Column{Name: fmt.Sprint(ColumnPlaced, uint32(qpn)),
		Read: func(unit.Time) float64 {
			if q := n.QP(qpn); q != nil {
				return float64(q.Stats.BytesReceived)
			}
			return 0
		}}
}

// view finds a QP in the latest snapshot, where they stand by number.
func (s *verbs) view(qpn ib.QPN) *nic.QPView {
	i, ok := slices.BinarySearchFunc(s.snap.QPs, qpn,
		func(v nic.QPView, qpn ib.QPN) int { return cmp.Compare(v.QPN, qpn) })
	if !ok {
		return nil
	}
	return &s.snap.QPs[i]
}

// state sums up the latest snapshot.
func (s *verbs) state() (st State) {
	for _, p := range s.snap.Pause {
		st.PausedNs += p.RxPauseDuration.Nanoseconds()
	}
	st.Counters = counters(&s.snap)
	for i := range s.host.Flows() {
		st.Flows = append(st.Flows, s.flowStatus(i))
	}
	return st
}

func (s *verbs) flowStatus(i int) FlowStatus {
	f, stats := s.host.Flow(i)
	out := FlowStatus{Name: f.Name, QPN: f.QPN, Messages: stats.Completed, Failed: stats.Failed,
		Posted: stats.Posted, Missed: stats.Missed, FirstNs: int64(stats.First),
		LastNs: int64(stats.Last), MCT: completionTimes(&stats.MCT), State: map[string]float64{}}
	if v := s.view(f.QPN); v != nil {
		out.AckedBytes, out.Retransmitted = v.Stats.BytesAcked, v.Stats.PacketsRetransmitted
		out.RateBps = int64(v.Rate)
		for _, value := range v.CC[:v.CCValues] {
			out.State[value.Name] = value.Value
		}
	}
	return out
}

func completionTimes(h *app.Histogram) MCT {
	at := func(q float64) int64 { return h.Quantile(q).Nanoseconds() }
	return MCT{Count: h.Count, MeanNs: h.Mean().Nanoseconds(), P50Ns: at(0.5), P90Ns: at(0.9),
		P99Ns: at(0.99), P999Ns: at(0.999), MaxNs: h.Max.Nanoseconds()}
}
