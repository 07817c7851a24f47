package scenarios

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// Two algorithms on one fabric: DCQCN for two senders and another for the two others, either each
// in a traffic class and a queue of its own, or both in the same queue. In queues of their own the
// scheduler shares the link and neither feels the other; in one queue they compete, and what each
// gets is what the table is for.
func TestAlgorithmsSideBySide(t *testing.T) {
	at := span{10 * time.Millisecond, 30 * time.Millisecond, 10 * time.Millisecond}
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s%10s%10s%14s%14s\n", "two flows of each, 40 Gb/s", "A, Gb/s", "B, Gb/s",
		"queue A, KB", "queue B, KB")
	for _, other := range []string{"dcqcn_plus", "dctcp", "ldcp", "swift", "none"} {
		for _, classes := range []bool{true, false} {
			s := newStar(t, beside(other, classes))
			v := newVirtual(t, s)
			var sw pipeline.Snapshot
			v.at(unit.Time(at.end), s.switchNode(), func(now unit.Time) {
				s.sw.Snapshot(now, &sw)
			})
			o := measure(t, s, v, at)
			queues := sw.Ports[s.receiver()].Queues
			name, second := "A dcqcn, B "+other+", one queue", queues[dataClass]
			if classes {
				name, second = "A dcqcn, B "+other+", by class", queues[dataClass+1]
			}
			first, rest := (o.goodput[0]+o.goodput[1])/1e9, (o.goodput[2]+o.goodput[3])/1e9
			fmt.Fprintf(&b, "%-34s%10.2f%10.2f%14.1f%14.1f\n", name, first, rest,
				queues[dataClass].Length.Mean/1e3, second.Length.Mean/1e3)
			if o.dropped != 0 || o.retransmits != 0 || first+rest < 0.85*40 {
				t.Errorf("%s: dropped %d, sent again %d, %.2f Gb/s", name, o.dropped, o.retransmits,
					first+rest)
			}
			if classes && (first < 0.8*rest || rest < 0.8*first) {
				t.Errorf("%s: %.2f and %.2f Gb/s", name, first, rest)
			}
		}
	}
	golden(t, "testdata/beside.txt", b.String())
}

// beside is an incast with DCQCN at the first two senders and another algorithm at the other two.
func beside(other string, classes bool) setup {
	s := incast("dcqcn", 256<<10, 1)
	if !classes {
		s.own = map[int]string{2: other, 3: other}
		return s
	}
	s.classes = map[uint8]nicd.CCConfig{4: {Algorithm: other}}
	s.dscp = []uint8{3, 3, 4, 4}
	return s
}

// Congestion control changes while the flows send: at half a millisecond to LDCP for all queue
// pairs of the class, at one to none, by the NIC's own. Each takes effect at once, and on real
// loops what happens is what happens in virtual time, to the last counter.
func TestCongestionControlChangesUnderWay(t *testing.T) {
	type seen struct {
		value  string // the first that the algorithm shows
		rate   unit.Rate
		window unit.Bytes
	}
	run := func(on func(testing.TB, *star) bed) (o outcome, after [3]seen) {
		t.Helper()
		cfg, at := shortIncast("dcqcn")
		s := newStar(t, cfg)
		b := on(t, s)
		look := func(i int, now unit.Time) {
			v, _ := s.hosts[0].NIC().View(s.flows[0].QPN)
			after[i] = seen{v.CC[0].Name, v.Rate, v.Window}
		}
		change := func(at unit.Time, what func(host int, now unit.Time) error) {
			for h := range s.hosts {
				b.at(at, h, func(now unit.Time) {
					if err := what(h, now); err != nil {
						t.Error(err)
					}
				})
			}
		}
		b.at(499*us, 0, func(now unit.Time) { look(0, now) })
		change(500*us, func(h int, now unit.Time) error {
			err := s.hosts[h].NIC().SetClassCC(now, dataClass, params(t, "ldcp"))
			if h == 0 {
				look(1, now)
			}
			return err
		})
		change(1000*us, func(h int, now unit.Time) error {
			n := s.hosts[h].NIC()
			if err := n.SetCC(now, params(t, "none")); err != nil {
				return err
			}
			err := n.SetClassCC(now, dataClass, nil)
			if h == 0 {
				look(2, now)
			}
			return err
		})
		return measure(t, s, b, at), after
	}
	want, after := run(newVirtual)
	if after[0].value != "alpha" || after[0].rate >= 40*unit.GbPerSecond || after[0].window != 0 {
		t.Errorf("DCQCN: %+v", after[0])
	}
	if after[1] != (seen{"congestion_window_packets", 40 * unit.GbPerSecond, 50_000}) {
		t.Errorf("LDCP: %+v", after[1])
	}
	if after[2] != (seen{"", 40 * unit.GbPerSecond, 0}) {
		t.Errorf("none: %+v", after[2])
	}
	if got, also := run(func(t testing.TB, s *star) bed { return newLoops(t, s, 100) }); also !=
		after || !reflect.DeepEqual(got, want) {
		t.Errorf("on real loops %+v and %+v\nin virtual time %+v and %+v", also, got, after, want)
	}
}

func params(t *testing.T, algorithm string) cc.Params {
	t.Helper()
	p, err := cc.NewParams(algorithm, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}
