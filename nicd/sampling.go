package nicd

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
)

// view finds a QP in the latest snapshot.
func (s *verbs) view(qpn ib.QPN) *nic.QPView {
	for i := range s.snap.QPs {
		if s.snap.QPs[i].QPN == qpn {
			return &s.snap.QPs[i]
		}
	}
	return nil
}

// sample records every flow and every QP that exists now. With the last sample everything that the
// NIC counted is kept.
func (s *verbs) sample(r daemon.SampleRequest) (struct{}, error) {
	columns := []string{ColumnPausedNs, ColumnCNPsSent}
	var flows, qps []ib.QPN
	err := s.do(func(now unit.Time) error {
		s.sampled = nil
		for i := range s.host.Flows() {
			f, _ := s.host.Flow(i)
			flows = append(flows, f.QPN)
			columns = append(columns, ColumnRate+f.Name)
		}
		s.host.NIC().Snapshot(now, &s.snap)
		for i := range s.snap.QPs {
			qps = append(qps, s.snap.QPs[i].QPN)
			columns = append(columns, fmt.Sprint(ColumnPlaced, uint32(s.snap.QPs[i].QPN)))
		}
		return nil
	})
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.sampler.Start(time.Duration(r.IntervalNs), r.Count, columns,
		func(now unit.Time, row []float64) { s.row(now, flows, qps, row) },
		func(unit.Time) {
			st := s.state()
			s.sampled = &st
		})
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
		State: map[string]float64{}}
	if v := s.view(f.QPN); v != nil {
		out.AckedBytes, out.Retransmitted = v.Stats.BytesAcked, v.Stats.PacketsRetransmitted
		out.RateBps = int64(v.Rate)
		for _, value := range v.CC[:v.CCValues] {
			out.State[value.Name] = value.Value
		}
	}
	return out
}

func (s *verbs) row(now unit.Time, flows, qps []ib.QPN, row []float64) {
	s.host.NIC().Snapshot(now, &s.snap)
	row[0], row[1] = 0, float64(s.snap.Counters.NPCNPSent)
	for _, p := range s.snap.Pause {
		row[0] += float64(p.RxPauseDuration.Nanoseconds())
	}
	row = row[2:]
	for i, qpn := range flows {
		if v := s.view(qpn); v != nil {
			row[i] = float64(v.Rate)
		}
	}
	row = row[len(flows):]
	for i, qpn := range qps {
		if v := s.view(qpn); v != nil {
			row[i] = float64(v.Stats.BytesReceived)
		}
	}
}
