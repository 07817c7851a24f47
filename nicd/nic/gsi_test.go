package nic

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

const gsiService = ib.ServiceID(0x0000000001061c06)

// strangers are two NICs with a QP each that are not connected.
func strangers(t tester) (a, b *peer, pool *frame.Pool) {
	t.Helper()
	pool = frame.NewPool(64, 1400)
	return newPeer(t, 1, pool, nil), newPeer(t, 2, pool, nil), pool
}

// dial has a ask b for a connection by a path.
func (p *peer) dial(t tester, now unit.Time, o *peer, change func(*cm.Path)) cm.ID {
	t.Helper()
	way := cm.Path{Source: p.cfg.IPv4, Dest: o.cfg.IPv4, MAC: o.cfg.MAC}
	if change != nil {
		change(&way)
	}
	id, err := p.ConnectCM(now, cm.Request{Path: way, Service: gsiService,
		QP: cm.QP{QPN: p.local.QPN, Resources: 1, Depth: 1, RNRRetry: 7}, Retry: 7})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// carry hands b everything that a sends now, and returns how much.
func (p *peer) carry(now unit.Time, o *peer) (n int) {
	for f := p.send(now); f != nil; f = p.send(now) {
		o.give(now, f)
		n++
	}
	return n
}

// event is the next that a manager tells, which is of the kind.
func (p *peer) event(t tester, want cm.EventKind) cm.Event {
	t.Helper()
	e, ok := p.CM().NextEvent()
	if !ok || e.Kind != want {
		t.Fatalf("told %v (%v), want %v", e.Kind, ok, want)
	}
	return e
}

func (p *peer) listen(t tester) {
	t.Helper()
	p.Communicate(0, func(m *cm.Manager) {
		if err := m.Listen(gsiService, 4); err != nil {
			t.Fatal(err)
		}
	})
}

// greeted brings two NICs to where the RTU is the next frame that a sends.
func greeted(t tester, change func(*cm.Path)) (a, b *peer, bid cm.ID) {
	t.Helper()
	a, b, _ = strangers(t)
	for _, p := range []*peer{a, b} { // on VLAN 100 as well
		p.SetAddresses(0, []Address{{IP: p.cfg.IPv4}, {IP: p.cfg.IPv6},
			{IP: p.cfg.IPv4, VLAN: 100}})
	}
	b.listen(t)
	id := a.dial(t, 1, b, change)
	a.carry(1, b)
	bid = b.event(t, cm.Requested).ID
	reply := cm.Reply{QP: cm.QP{QPN: b.local.QPN, Resources: 1, Depth: 1, RNRRetry: 7}}
	if err := b.AcceptCM(2, bid, reply); err != nil {
		t.Fatal(err)
	}
	b.carry(2, a)
	a.event(t, cm.Replied)
	if err := a.ConfirmCM(3, id, nil); err != nil {
		t.Fatal(err)
	}
	return a, b, bid
}

// The datagrams of QP1 are what a peer of ours expects: P_Key, Q_Key, QP numbers, size, a PSN that
// counts, the codepoint of answers.
func TestGSIFrames(t *testing.T) {
	a, b, _ := strangers(t)
	for i := range 2 {
		local, err := a.CreateQP(a.QPConfig())
		if err != nil {
			t.Fatal(err)
		}
		a.local = local
		a.dial(t, 1, b, nil)
		f := a.send(1)
		p := open(t, f)
		if p.BTH.Opcode() != ib.UDSendOnly || p.BTH.DestQP() != ib.QP1 ||
			p.BTH.PKey() != ib.DefaultPKey || p.BTH.PSN() != ib.PSN(i) ||
			p.DETH.QKey() != ib.GSIQKey || p.DETH.SourceQP() != ib.QP1 ||
			len(p.Payload) != ib.MADLen || p.BTH.PadCount() != 0 {
			t.Errorf("% x", f.Bytes())
		}
		if dscp := f.Bytes()[15] >> 2; dscp != a.cfg.DSCP.Ack || f.Bytes()[15]&3 != 0 {
			t.Errorf("type of service %02x", f.Bytes()[15])
		}
		f.Release()
	}
	a.balanced(t)
}

// The connection manager's datagrams are on the VLAN of our address, also where the way that was
// found names none.
func TestGSIOnVLAN(t *testing.T) {
	a, b, _ := strangers(t)
	for _, p := range []*peer{a, b} {
		p.SetAddresses(0, []Address{{IP: p.cfg.IPv4, VLAN: 100}})
	}
	b.listen(t)
	a.dial(t, 1, b, nil)
	f := a.send(1)
	if f == nil || vlanOf(f.Bytes(), uint8(wire.EthernetLen+wire.TagLen)) != 100 {
		t.Fatalf("the request: %v", f)
	}
	b.give(1, f)
	b.event(t, cm.Requested)
}

// A pause of the answers' priority holds MADs back, and its end lets them go.
func TestGSIObeysPause(t *testing.T) {
	a, b, pool := strangers(t)
	prio := a.priority(a.cfg.DSCP.Ack)
	a.Receive(1, Port, pfcFrame(pool, pfc.SetOf(prio), 100))
	a.dial(t, 2, b, nil)
	if f := a.send(2); f != nil {
		t.Fatal("a MAD was sent during the pause")
	}
	a.Receive(3, Port, pfcFrame(pool, pfc.SetOf(prio), 0))
	if f := a.send(3); f == nil {
		t.Fatal("nothing was sent after the pause")
	} else {
		f.Release()
	}
	a.balanced(t)
}

// What is not for QP1 is dropped, each by its rule and counter.
func TestGSIDrops(t *testing.T) {
	rebuild := func(f *frame.Frame) {
		b := f.Bytes()
		n := len(b) - ib.ICRCLen
		crc := ib.ICRC(b[wire.EthernetLen:n], wire.IPv4Len)
		b[n], b[n+1], b[n+2], b[n+3] = byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24)
	}
	const bth = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	for name, test := range map[string]struct {
		change func(b []byte)
		count  func(s *Snapshot) uint64
		why    frame.Reason
	}{
		"P_Key": {func(b []byte) { (*ib.BTH)(b[bth:]).SetPKey(0x8001) },
			func(s *Snapshot) uint64 { return s.Transport.BadPKey }, frame.DropUnexpected},
		"Q_Key": {func(b []byte) { (*ib.DETH)(b[bth+ib.BTHLen:]).SetQKey(0x11111111) },
			func(s *Snapshot) uint64 { return s.Transport.BadQKey }, frame.DropUnexpected},
		"class": {func(b []byte) { b[bth+ib.BTHLen+ib.DETHLen+1] = 3 },
			func(s *Snapshot) uint64 { return s.CM.Invalid }, frame.DropUnexpected},
		"opcode": {func(b []byte) { (*ib.BTH)(b[bth:]).SetOpcode(ib.UDSendOnlyImm) },
			nil, frame.DropUnexpected},
	} {
		a, b, _ := strangers(t)
		b.listen(t)
		a.dial(t, 1, b, nil)
		f := a.send(1)
		test.change(f.Bytes())
		rebuild(f)
		b.give(1, f)
		s := b.snapshot(1)
		if s.Ledger.Dropped[test.why].Frames != 1 || test.count != nil && test.count(s) != 1 {
			t.Errorf("%s: %+v", name, s.Ledger)
		}
		if b.CM().Len() != 0 || b.CM().Pending() {
			t.Errorf("%s: a connection comes about", name)
		}
		b.balanced(t)
	}
}

// The passive side's QP runs before the peer hears of it: data that overtakes the RTU is received
// and establishes the connection.
func TestDataBeforeRTU(t *testing.T) {
	a, b, bid := greeted(t, nil)
	if b.CM().State(bid) != cm.REPSent {
		t.Fatalf("%v", b.CM().State(bid))
	}
	rtu := a.send(3)
	a.write(t, 4, b, 100)
	a.carry(4, b)
	b.event(t, cm.Established)
	if b.CM().State(bid) != cm.Running {
		t.Errorf("%v", b.CM().State(bid))
	}
	b.give(5, rtu)
	if e, ok := b.CM().NextEvent(); ok {
		t.Errorf("told %v by an RTU that came late", e.Kind)
	}
	b.carry(5, a)
	var c [4]qp.Completion
	if n := a.PollCQ(a.local.QPN, c[:]); n != 1 || c[0].Status != qp.Success {
		t.Errorf("%d completions: %+v", n, c[0])
	}
	a.balanced(t)
	b.balanced(t)
}

// Answers go the way that requests came: by IPv6 and with the VLAN tag of the request.
func TestGSIAnswersOnTheSameWay(t *testing.T) {
	for name, change := range map[string]func(*cm.Path){
		"VLAN": func(p *cm.Path) { p.VLAN = ib.VLAN{ID: 100, Priority: 3, Tagged: true} },
		"IPv6": func(p *cm.Path) {
			p.Source, p.Dest = testConfig(1).IPv6, testConfig(2).IPv6
		},
	} {
		a, b, bid := greeted(t, change)
		want := cm.Path{Source: b.cfg.IPv4, Dest: a.cfg.IPv4, MAC: a.cfg.MAC}
		change(&want)
		if name == "IPv6" {
			want.Source, want.Dest = want.Dest, want.Source
		}
		got, ok := b.CM().Attributes(bid)
		if !ok || got.Path != want {
			t.Errorf("%s: %+v, want %+v", name, got.Path, want)
		}
		a.carry(3, b)
		b.event(t, cm.Established)
		a.write(t, 4, b, 100)
		if a.carry(4, b) != 1 || b.carry(4, a) != 1 {
			t.Errorf("%s: the data is not acknowledged", name)
		}
		a.balanced(t)
		b.balanced(t)
	}
}

// Deadlines of the manager are the NIC's: a REQ that nobody answers is sent again.
func TestGSIRepeats(t *testing.T) {
	a, b, _ := strangers(t)
	a.dial(t, 1, b, nil)
	a.send(1).Release()
	at := a.NextWake()
	if want := unit.Time(1).Add(ib.TimeOf(20) + 2*ib.TimeOf(16)); at != want {
		t.Errorf("wakes at %v, want %v", at, want)
	}
	a.Wake(at)
	if f := a.send(at); f == nil {
		t.Error("nothing was sent again")
	} else {
		f.Release()
	}
	if s := a.snapshot(at); s.CM.Repeated.Of(ib.AttrREQ) != 1 || s.CM.Sent.Total() != 2 {
		t.Errorf("%+v", s.CM)
	}
}

// Only a QP in INIT can be connected.
func TestGSIRefusesQPs(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	way := cm.Path{Source: a.cfg.IPv4, Dest: b.cfg.IPv4, MAC: b.cfg.MAC}
	for _, qpn := range []ib.QPN{a.local.QPN, 0x999} {
		if _, err := a.ConnectCM(1, cm.Request{Path: way, QP: cm.QP{QPN: qpn}}); err == nil {
			t.Errorf("QP %v can be connected", qpn)
		}
		if err := a.AcceptCM(1, 7, cm.Reply{QP: cm.QP{QPN: qpn}}); err == nil {
			t.Errorf("QP %v can be connected", qpn)
		}
	}
	if a.CM().Len() != 0 || a.CM().Pending() {
		t.Error("something was begun")
	}
}

// The GUID of a MAC is the one rxe makes of it.
func TestGUID(t *testing.T) {
	if got := guidOf(wire.MAC{0x52, 0x54, 0, 0, 0, 2}); got != 0x505400fffe000002 {
		t.Errorf("%016x", got)
	}
}
