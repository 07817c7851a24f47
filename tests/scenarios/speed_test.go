package scenarios

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
)

// BenchmarkSpeed is how many data packets virtual time delivers in a second of CPU time, in an
// incast of 16 long flows under DCQCN through one switch, 40 Gb/s, 100 ms. A packet is 1,024 bytes
// of payload, the path MTU that is nearest to the 1,000 bytes of ns-3's models of RoCE.
func BenchmarkSpeed(b *testing.B) {
	for _, c := range []struct {
		name string
		void bool
	}{{"virtual payload", true}, {"real payload", false}} {
		b.Run(c.name, func(b *testing.B) {
			var u usage
			for b.Loop() {
				s, v := longIncast(b, c.void)
				u.begin(b)
				v.run(100_000 * us)
				u.end(b, s.delivered())
				runtime.KeepAlive(v)
			}
			u.report(b)
		})
	}
}

// longIncast is an incast of 16 flows without end.
func longIncast(b *testing.B, void bool) (*star, bed) {
	b.Helper()
	cfg := incast("dcqcn", 1<<20, 1)
	cfg.senders, cfg.void = 16, void
	s := newStar(b, cfg)
	v := newVirtual(b, s)
	s.start(b, v, func(int, *app.Flow) {})
	return s, v
}

// delivered is how many packets the receiver has placed.
func (s *star) delivered() (packets uint64) {
	n := s.hosts[s.receiver()].NIC()
	for i := range s.flows {
		q := n.QP(nic.FirstQPN + ib.QPN(i))
		packets += q.Stats.BytesReceived / uint64(n.Config().QP.MTU)
	}
	return packets
}

// usage is what runs have cost, without what it took to build them.
type usage struct {
	packets, mallocs uint64
	cpu              time.Duration
	live             uint64 // bytes of the heap at the end of the last run

	before runtime.MemStats
	start  time.Duration
}

func (u *usage) begin(b *testing.B) {
	b.Helper()
	runtime.GC()
	runtime.ReadMemStats(&u.before)
	u.start = cpuTime(b)
}

// end is told how many packets the run has delivered.
func (u *usage) end(b *testing.B, packets uint64) {
	b.Helper()
	u.cpu += cpuTime(b) - u.start
	u.packets += packets
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	u.mallocs += after.Mallocs - u.before.Mallocs
	runtime.GC()
	runtime.ReadMemStats(&after)
	u.live = after.HeapAlloc
}

func (u *usage) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(u.packets)/u.cpu.Seconds(), "packets/cpu-s")
	b.ReportMetric(float64(u.mallocs)/float64(u.packets), "allocs/packet")
	b.ReportMetric(float64(u.live)/1e6, "MB-heap")
	b.ReportMetric(0, "ns/op") // of building and running
}

// cpuTime is what the process has used, on all cores.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
