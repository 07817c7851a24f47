package bpf

import (
	"bytes"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// filters is what the machine does with the watchdog's verdict: it drops data, and hears everything
// that controls the link (pipeline, steps control and guard).
func filters(classes uint8, c frame.Class) bool {
	switch c.Kind {
	case frame.Malformed, frame.PFC, frame.Pause, frame.MACControl:
		return false
	}
	return classes&(1<<c.TC) != 0
}

// judge is agree under a verdict. It returns what Go found.
func judge(t testing.TB, p *Program, m *classify.Map, classes uint8, b []byte) frame.Class {
	t.Helper()
	want := m.Classify(b)
	if !filters(classes, want) {
		agree(t, p, m, b)
		return want
	}
	before := p.Filtered(want.TC)
	if r := run(t, p, b); r.verdict != xdpDrop || !bytes.Equal(r.frame, b) {
		t.Fatalf("frame % x of class %d under %08b: verdict %d, left % x", b, want.TC, classes,
			r.verdict, r.frame)
	}
	accounted(t, p, want, before, b)
	return want
}

// accounted checks the account of a frame that was dropped, and takes its record.
func accounted(t testing.TB, p *Program, c frame.Class, before dataplane.Count, b []byte) {
	t.Helper()
	got, ok := p.Dropped()
	told := frame.Kinds(p.cfg.Told).Has(c.Kind)
	if ok != told {
		t.Fatalf("frame % x of kind %v with %#b told: a record is %v", b, c.Kind, p.cfg.Told, ok)
	}
	if !told {
		before.Add(unit.Bytes(len(b)))
	} else {
		want := Drop{Class: c.TC, Check: clock.CheckOf(b), Bytes: unit.Bytes(len(b))}
		if got != want {
			t.Fatalf("frame % x: recorded %+v, want %+v", b, got, want)
		}
		p.NextDrop()
	}
	if now := p.Filtered(c.TC); now != before {
		t.Fatalf("frame % x: filtered %+v, want %+v", b, now, before)
	}
}

// TestSwitchWatchdog: data frames of the class go, control frames and other classes stay.
func TestSwitchWatchdog(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	m.DSCP[26], m.DSCP[0] = 3, 0
	p := loaded(t, LoadSwitch, m)
	data, other := packet{DSCP: 26}.Bytes(), packet{DSCP: 0}.Bytes()
	pfc := wiretest.PFC(1, map[uint8]uint16{3: 9})
	if err := p.SetWatchdog(1 << 3); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		frame []byte
		want  uint32
	}{{"data", data, xdpDrop}, {"other class", other, xdpRedirect}, {"PFC", pfc, xdpRedirect}} {
		if got := run(t, p, c.frame).verdict; got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
	if err := p.SetWatchdog(0); err != nil {
		t.Fatal(err)
	}
	agree(t, p, &m, data)
	if got := counters(t, p).Watchdog; got != [8]uint64{3: 1} {
		t.Errorf("dropped by the watchdog: %v", got)
	}
	want := dataplane.Count{Frames: 1, Bytes: uint64(len(data))}
	if got := p.Filtered(3); got != want {
		t.Errorf("filtered %+v, want %+v", got, want)
	}
	if p.Filtered(2) != (dataplane.Count{}) || p.Filtered(8) != (dataplane.Count{}) {
		t.Error("other classes were filtered")
	}
}

// TestSwitchWatchdogOnKinds: the verdict for every class, and every kind of frame.
func TestSwitchWatchdogOnKinds(t *testing.T) {
	m := testMap(classify.TrustPCP)
	p := loaded(t, LoadSwitch, m)
	if err := p.SetWatchdog(0xff); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		judge(t, p, &m, 0xff, k.frame)
	}
}

// TestSwitchWatchdogRecordsTold: of the frames that it drops the program records those of the kinds
// that the sender tells of, and sums up the others; of a sender that tells of all, none.
func TestSwitchWatchdogRecordsTold(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	for _, told := range []frame.Kinds{0, frame.AllKinds, frame.AllKinds.Without(frame.Other)} {
		p := loadedAs(t, LoadSwitch, PortConfig{Map: m, Told: told})
		if err := p.SetWatchdog(0xff); err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			judge(t, p, &m, 0xff, k.frame)
		}
	}
}

// TestSwitchWatchdogKeepsRecords: as many as there can be frames on their way, in the order in
// which they came, again and again; what comes when there is no room is summed up.
func TestSwitchWatchdogKeepsRecords(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	m.DSCP[26], m.DSCP[27] = 3, 4
	p := loadedAs(t, LoadSwitch, PortConfig{Map: m, Told: frame.AllKinds})
	if err := p.SetWatchdog(1<<3 | 1<<4); err != nil {
		t.Fatal(err)
	}
	const over = 3 // too many
	// Five bits tell the turns of the ring.
	for round := range 33 {
		var want []Drop
		for i := range maxDrops + over {
			b := packet{DSCP: uint8(26 + i%2), Payload: i}.Bytes()
			run(t, p, b)
			want = append(want, Drop{Class: uint8(3 + i%2), Check: clock.CheckOf(b),
				Bytes: unit.Bytes(len(b))})
		}
		for i := range maxDrops {
			if got, ok := p.Dropped(); !ok || got != want[i] {
				t.Fatalf("round %d: record %d is %+v, %v; want %+v", round, i, got, ok, want[i])
			}
			p.NextDrop()
		}
		if got, ok := p.Dropped(); ok {
			t.Fatalf("round %d: one record too many: %+v", round, got)
		}
		n := p.Filtered(3).Frames + p.Filtered(4).Frames
		if n != uint64(round+1)*over {
			t.Errorf("round %d: %d summed up, want %d a round", round, n, over)
		}
	}
}

// TestSwitchWatchdogRecordsLongFrames: those that lie in several parts of memory, too.
func TestSwitchWatchdogRecordsLongFrames(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loadedAs(t, LoadSwitch, PortConfig{Map: m, Told: frame.AllKinds, Frags: true})
	if err := p.SetWatchdog(0xff); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1024, 4096, 9000, 20000} {
		b := packet{V6: true, Tags: oneTag, DSCP: 26, Payload: n}.Bytes()
		run(t, p, b)
		accounted(t, p, m.Classify(b), dataplane.Count{}, b)
	}
}

// TestNICFiltersNothing: there is no verdict for a NIC, and nothing to unmap.
func TestNICFiltersNothing(t *testing.T) {
	p := loaded(t, LoadNIC, testMap(classify.TrustDSCP))
	if _, ok := p.Dropped(); ok || p.Filtered(3) != (dataplane.Count{}) {
		t.Error("a NIC filtered")
	}
}

// FuzzSwitchProgram: whole frames of any bytes, any map and any verdict; program and Go agree.
func FuzzSwitchProgram(f *testing.F) {
	for i, k := range kinds {
		f.Add(k.frame, uint8(i), uint8(1<<(i%8)), i%2 == 0)
	}
	programs := map[classify.Trust]*Program{}
	for _, trust := range []classify.Trust{classify.TrustDSCP, classify.TrustPCP} {
		programs[trust] = loadedAs(f, LoadSwitch, PortConfig{Map: testMap(trust),
			Told: frame.AllKinds.Without(frame.Other)})
	}
	f.Fuzz(func(t *testing.T, b []byte, shift, verdict uint8, pcp bool) {
		const longest = 3506 // a veth carries no more to a program without fragments
		if len(b) < minRun || len(b) > longest {
			return // the kernel's test run takes no less
		}
		trust := classify.TrustDSCP
		if pcp {
			trust = classify.TrustPCP
		}
		m := testMap(trust)
		m.Default = shift & 7
		for i := range m.DSCP {
			m.DSCP[i] = (m.DSCP[i] + shift) & 7
		}
		p := programs[trust]
		if err := p.SetMap(m); err != nil {
			t.Fatal(err)
		}
		if err := p.SetWatchdog(verdict); err != nil {
			t.Fatal(err)
		}
		judge(t, p, &m, verdict, b)
	})
}

// BenchmarkSwitchProgram is the program alone, in the kernel, without the driver around it.
func BenchmarkSwitchProgram(b *testing.B) {
	pfc := wiretest.PFC(1, map[uint8]uint16{3: 9})
	for _, c := range []struct {
		name    string
		frame   []byte
		verdict uint8
		told    frame.Kinds
	}{
		{"roce4", packet{DSCP: 26, Payload: 1024}.Bytes(), 0, 0},
		{"roce6", packet{V6: true, DSCP: 26, Payload: 1024}.Bytes(), 0, 0},
		{"tagged", packet{Tags: oneTag, DSCP: 26, Payload: 1024}.Bytes(), 0, 0},
		{"pfc", pfc, 0, 0},
		{"filtered", packet{DSCP: 26, Payload: 1024}.Bytes(), 0xff, 0},
		{"recorded", packet{DSCP: 26, Payload: 1024}.Bytes(), 0xff, frame.AllKinds},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := loadedAs(b, LoadSwitch, PortConfig{Map: testMap(classify.TrustDSCP),
				Told: c.told})
			if err := p.SetWatchdog(c.verdict); err != nil {
				b.Fatal(err)
			}
			// Repeated runs see the frame as the one before left it, and in front of it there is
			// room for metadata six times. So this is all the work but the stamp.
			opts := ebpf.RunOptions{Data: c.frame, Repeat: uint32(b.N)}
			b.ResetTimer()
			if _, err := p.prog.Run(&opts); err != nil {
				b.Fatal(err)
			}
		})
	}
}
