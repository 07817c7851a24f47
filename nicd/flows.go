package nicd

import (
	"fmt"
	"net/url"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

var operations = map[string]qp.Op{"write": qp.Write, "write_imm": qp.WriteImm, "send": qp.Send,
	"read": qp.Read, "fetch_add": qp.FetchAdd, "cmp_swap": qp.CmpSwap}

var arrivals = map[string]app.Arrivals{"": app.Periodic, "periodic": app.Periodic,
	"poisson": app.Poisson}

// flow starts a flow.
func (s *verbs) flow(r FlowRequest) (struct{}, error) {
	f, err := r.parse()
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.do(func(now unit.Time) error {
		q := s.qps[r.QPN]
		if q == nil {
			return fmt.Errorf("QP %v was not opened here", r.QPN)
		}
		if largest := r.largest(); largest > q.region.Len() {
			return fmt.Errorf("messages of %d bytes do not fit the region of %d", largest,
				q.region.Len())
		}
		if f.Op.Atomic() && q.region.Bytes == nil {
			return fmt.Errorf("verb %q: needs a region whose payload is real", r.Verb)
		}
		f.Local = qp.Local{Key: q.region.Key, VA: q.region.VA, Length: r.MessageBytes}
		f.Remote = qp.Remote{VA: q.peer.VA, RKey: q.peer.RKey}
		_, err := s.host.Start(now, f)
		return err
	})
}

// parse is the flow of a request, without the memory.
func (r *FlowRequest) parse() (f app.Flow, err error) {
	op, ok := operations[r.Verb]
	if !ok {
		return f, fmt.Errorf("verb %q: want write, write_imm, send, read, fetch_add or cmp_swap",
			r.Verb)
	}
	times, ok := arrivals[r.Arrivals]
	switch {
	case !ok:
		return f, fmt.Errorf("arrivals %q: want poisson or periodic", r.Arrivals)
	case r.Arrivals != "" && r.IntervalNs == 0 && r.IdleNs == 0:
		return f, fmt.Errorf("arrivals %q: neither interval_ns nor idle_ns is given", r.Arrivals)
	case r.Lead < 0:
		return f, fmt.Errorf("lead %d is negative", r.Lead)
	}
	f = app.Flow{Name: r.Name, QPN: r.QPN, Op: op, Span: r.SpanBytes, Depth: r.Depth,
		Messages: r.Messages, Start: unit.Time(r.StartNs), Stop: unit.Time(r.StopNs),
		Seed: r.Seed, Arrivals: times, Interval: time.Duration(r.IntervalNs),
		Idle: time.Duration(r.IdleNs), After: r.After, Lead: uint64(r.Lead), Log: r.Log}
	for _, p := range r.Sizes {
		f.Sizes = append(f.Sizes, app.SizePoint(p))
	}
	return f, nil
}

// largest is the size of the largest message.
func (r *FlowRequest) largest() int {
	if len(r.Sizes) == 0 {
		return r.MessageBytes
	}
	most := 0
	for _, p := range r.Sizes {
		most = max(most, p.Bytes)
	}
	return most
}

// listen posts receives on a QP for what the peer SENDs, and for its immediates. All messages go to
// the same place.
func (s *verbs) listen(now unit.Time, qpn ib.QPN, to *qp.Region) error {
	return s.host.Listen(now, app.Sink{QPN: qpn, Depth: s.host.NIC().QP(qpn).Config().ReceiveQueue,
		Local: qp.Local{Key: to.Key, VA: to.VA, Length: to.Len()}})
}

// messages tells of single messages of a flow, the latest of that name.
func (s *verbs) messages(query url.Values) (list []Message, err error) {
	name := query.Get("flow")
	err = s.do(func(unit.Time) error {
		for i := s.host.Flows() - 1; i >= 0; i-- {
			f, stats := s.host.Flow(i)
			if f.Name != name {
				continue
			}
			list = make([]Message, len(stats.Log))
			for k, r := range stats.Log {
				list[k] = Message{Bytes: r.Bytes, ArrivedNs: int64(r.Arrived),
					PostedNs: int64(r.Posted), CompletedNs: int64(r.Completed)}
			}
			return nil
		}
		return fmt.Errorf("no flow %q", name)
	})
	return list, err
}
