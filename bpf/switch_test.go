package bpf

import (
	"bytes"
	"testing"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// agree runs one frame through program and classifier and compares everything they say.
func agree(t testing.TB, p *Program, m *classify.Map, b []byte) result {
	t.Helper()
	r := run(t, p, b)
	if want := m.Classify(b); r.class != want || !r.stamped || r.verdict != xdpRedirect {
		t.Fatalf("frame % x\n program %+v (stamped %v, verdict %d)\n     Go %+v",
			b, r.class, r.stamped, r.verdict, want)
	}
	return r
}

// TestSwitchAgreesOnKinds: every frame goes to the socket, whole, with what Go finds in it.
func TestSwitchAgreesOnKinds(t *testing.T) {
	for _, trust := range []classify.Trust{classify.TrustDSCP, classify.TrustPCP} {
		m := testMap(trust)
		p := loaded(t, LoadSwitch, m)
		for _, k := range kinds {
			r := agree(t, p, &m, k.frame)
			if !bytes.Equal(r.frame, k.frame) || r.arrived <= 0 {
				t.Errorf("%s: arrived %d, frame % x", k.name, r.arrived, r.frame)
			}
		}
	}
}

// TestSwitchTruncation cuts every kind at every length that the kernel's test run takes.
func TestSwitchTruncation(t *testing.T) {
	m := testMap(classify.TrustPCP)
	p := loaded(t, LoadSwitch, m)
	for _, k := range kinds {
		for n := minRun; n < len(k.frame); n++ {
			agree(t, p, &m, k.frame[:n])
		}
	}
}

// TestSwitchDSCPAndECN sweeps both fields in both families.
func TestSwitchDSCPAndECN(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loaded(t, LoadSwitch, m)
	for dscp := range uint8(64) {
		for ecn := range wire.ECN(4) {
			for _, v6 := range []bool{false, true} {
				r := agree(t, p, &m, packet{V6: v6, DSCP: dscp, ECN: ecn}.Bytes())
				if r.class.TC != m.DSCP[dscp] || r.class.ECN != ecn || r.class.DSCP != dscp {
					t.Fatalf("DSCP %d ECN %v: %+v", dscp, ecn, r.class)
				}
			}
		}
	}
}

func TestSwitchPCP(t *testing.T) {
	m := testMap(classify.TrustPCP)
	p := loaded(t, LoadSwitch, m)
	for pcp := range uint8(8) {
		tags := []wiretest.Tag{{Type: wire.TypeVLAN, PCP: pcp, VID: 4095}}
		if r := agree(t, p, &m, packet{Tags: tags, DSCP: 26}.Bytes()); r.class.TC != m.PCP[pcp] {
			t.Errorf("PCP %d: class %d", pcp, r.class.TC)
		}
	}
	if r := agree(t, p, &m, packet{DSCP: 26}.Bytes()); r.class.TC != m.Default {
		t.Errorf("untagged: class %d", r.class.TC)
	}
}

// TestSwitchCountsPFC sweeps the class-enable vector, even classes with XOFF, odd ones with XON.
func TestSwitchCountsPFC(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loaded(t, LoadSwitch, m)
	var want Counters
	for vector := range 256 {
		quanta := map[uint8]uint16{}
		for class := range uint8(8) {
			switch {
			case vector&(1<<class) == 0:
			case class%2 == 0:
				quanta[class] = 1 << class
				want.PFCXOFF[class]++
			default:
				quanta[class] = 0
				want.PFCXON[class]++
			}
		}
		agree(t, p, &m, wiretest.PFC(1, quanta))
		want.Received++
		want.ToSocket++
		want.PFCFrames++
	}
	if got := counters(t, p); got != want {
		t.Errorf("counters\n got %+v\nwant %+v", got, want)
	}
}

// TestSwitchWithoutSocket: what nobody receives is dropped and counted.
func TestSwitchWithoutSocket(t *testing.T) {
	p := loaded(t, LoadSwitch, testMap(classify.TrustDSCP))
	if err := p.XSKMap().Delete(uint32(0)); err != nil {
		t.Fatal(err)
	}
	if got := run(t, p, packet{}.Bytes()).verdict; got != xdpDrop {
		t.Errorf("verdict %d", got)
	}
	if got := counters(t, p); got.NoSocket != 1 || got.ToSocket != 0 || got.Received != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestSwitchMalformed: the machine gets it too, so that its ledger has it.
func TestSwitchMalformed(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loaded(t, LoadSwitch, m)
	b := packet{}.Bytes()
	b[14] = 0x55
	if r := agree(t, p, &m, b); r.class.Kind != frame.Malformed {
		t.Errorf("kind %v", r.class.Kind)
	}
	if got := counters(t, p).Malformed; got != 1 {
		t.Errorf("malformed %d", got)
	}
}

// TestSetMap: a new map counts from the next frame on, and a bad one changes nothing.
func TestSetMap(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loaded(t, LoadSwitch, m)
	agree(t, p, &m, packet{DSCP: 26}.Bytes())
	m.DSCP[26] ^= 7
	if err := p.SetMap(m); err != nil {
		t.Fatal(err)
	}
	agree(t, p, &m, packet{DSCP: 26}.Bytes())
	bad := m
	bad.DSCP[26] = 8
	if err := p.SetMap(bad); err == nil {
		t.Error("a map with class 8 was accepted")
	}
	agree(t, p, &m, packet{DSCP: 26}.Bytes())
}
