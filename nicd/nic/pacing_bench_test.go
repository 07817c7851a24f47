package nic

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/qp"
)

// fixed is congestion control that has come to rest at a rate.
type fixed struct {
	cc.NoneParams
	rate unit.Rate
}

type rest struct {
	cc.Algorithm
	rate unit.Rate
}

func (f *fixed) New(s cc.Setup) cc.Algorithm { return rest{f.NoneParams.New(s), f.rate} }
func (r rest) Limit() cc.Limit               { return cc.Limit{Rate: r.rate} }

// newPaced is a NIC with so many QPs, which share nine tenths of the line and never run dry: their
// messages are long, and nobody acknowledges.
func newPaced(b *testing.B, qps int) *NIC {
	c := testConfig(1)
	c.CC = &fixed{rate: c.Rate * 9 / 10 / unit.Rate(qps)}
	c.MaxQPs, c.QP.SendQueue, c.QP.ReceiveQueue = qps, 2, 1
	c.QP.MaxOutstanding = 1<<23 - 1
	n, err := New(c, frame.NewPool(4, 1400))
	if err != nil {
		b.Fatal(err)
	}
	// One page of zeros of the kernel's stands for all of it.
	mr, err := n.RegisterMR(1<<30, qp.Access{})
	if err != nil {
		b.Fatal(err)
	}
	for range qps {
		l, err := n.CreateQP(n.QPConfig())
		if err != nil {
			b.Fatal(err)
		}
		if err := n.Connect(l.QPN, Remote{QPN: l.QPN, IP: c.IPv4.Next(), MAC: c.MAC}); err != nil {
			b.Fatal(err)
		}
		for range 2 {
			if err := n.Post(0, l.QPN, qp.WR{Op: qp.Write,
				Local: qp.Local{Key: mr.Key, VA: mr.VA, Length: 1 << 30}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	return n
}

// BenchmarkPacing sends through a NIC whose QPs are all paced, and reports how far from its rate
// each gap between two packets of a QP is: what the QP waits for the wire, or makes up for.
func BenchmarkPacing(b *testing.B) {
	for _, qps := range []int{1, 10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("qps=%d", qps), func(b *testing.B) {
			n := newPaced(b, qps)
			last := make([]unit.Time, qps)
			errs := make([]time.Duration, 0, 1<<20)
			var line, gap unit.Serial
			rate := n.cfg.Rate * 9 / 10 / unit.Rate(qps)
			ideal := gap.Time(wire.OnLine(packet), rate)
			now := unit.Time(0)
			b.ReportAllocs()
			for b.Loop() {
				if n.NextWake() <= now {
					n.Wake(now)
				}
				f := n.Transmit(now, Port)
				for f == nil {
					now = n.NextWake()
					n.Wake(now)
					f = n.Transmit(now, Port)
				}
				slot := f.Meta.Flow - uint32(FirstQPN)
				if was := last[slot]; was > 0 && len(errs) < cap(errs) {
					errs = append(errs, (now.Sub(was) - ideal).Abs())
				}
				last[slot] = now
				now = now.Add(line.Time(wire.OnLine(f.Len()), n.cfg.Rate))
				f.Release()
			}
			if slices.Sort(errs); len(errs) > 0 {
				b.ReportMetric(float64(errs[len(errs)/2]), "err-p50-ns")
				b.ReportMetric(float64(errs[len(errs)*99/100]), "err-p99-ns")
				b.ReportMetric(float64(errs[len(errs)-1]), "err-max-ns")
			}
		})
	}
}
