package link

import (
	"bytes"
	"math"
	"math/bits"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

const gig40 = 40 * unit.GbPerSecond

// packet is a RoCEv2 packet as a NIC sends it.
type packet struct {
	id   uint16
	dscp uint8
	ecn  wire.ECN
	op   ib.Opcode
	qp   ib.QPN
	psn  ib.PSN
}

func (p packet) bytes() []byte {
	const payload = 64
	b := make([]byte, wire.EthernetLen+wire.IPv4Len+wire.UDPLen+ib.BTHLen+payload)
	eth, _ := wire.AsEthernet(b)
	eth.SetType(wire.TypeIPv4)
	ip, _ := wire.AsIPv4(b[wire.EthernetLen:])
	ip.Init()
	ip.SetTotalLen(len(b) - wire.EthernetLen)
	ip.SetProtocol(wire.ProtoUDP)
	ip.SetID(p.id)
	ip.SetDSCP(p.dscp)
	ip.SetECN(p.ecn)
	ip.UpdateChecksum()
	udp, _ := wire.AsUDP(b[wire.EthernetLen+wire.IPv4Len:])
	udp.SetDstPort(wire.PortRoCE)
	udp.SetLen(len(b) - wire.EthernetLen - wire.IPv4Len)
	bth := (*ib.BTH)(b[wire.EthernetLen+wire.IPv4Len+wire.UDPLen:])
	bth.SetOpcode(p.op)
	bth.SetDestQP(p.qp)
	bth.SetPSN(p.psn)
	return b
}

// judge sends frames back to back and returns the numbers of those that were hit.
func judge(t *testing.T, s *Sender, frames ...[]byte) (hit []int) {
	t.Helper()
	pool := frame.NewPool(1, 2048)
	now := unit.Time(0)
	for i, b := range frames {
		f := pool.Get()
		f.Set(b)
		now, _ = s.Start(now, f.Len())
		s.Judge(now, f)
		if f.Meta.Faults != 0 {
			hit = append(hit, i)
		}
		f.Release()
	}
	return hit
}

const ours = frame.Faults(1 << 5)

func lose(m Match) Rule { return Rule{Effect: Lose, Match: m, Faults: ours} }

func TestMatches(t *testing.T) {
	frames := [][]byte{
		packet{id: 0x12ff, dscp: 26, op: ib.WriteFirst, qp: 0x11, psn: 99}.bytes(),
		packet{id: 0x1300, dscp: 26, op: ib.WriteMiddle, qp: 0x11, psn: 100}.bytes(),
		packet{id: 0x13ff, dscp: 26, op: ib.WriteLast, qp: 0x12, psn: 0xffffff}.bytes(),
		packet{id: 0x1401, dscp: 48, op: ib.CongestionNotify, qp: 0x11}.bytes(),
		packet{id: 0x1402, dscp: 26, op: ib.Acknowledge, qp: 0x11, psn: 0}.bytes(),
		append([]byte{12: 0x88, 13: 0x08, 14: 1, 15: 1}, make([]byte, 46)...), // PFC
		append([]byte{12: 0x08, 13: 0x06}, make([]byte, 46)...),               // ARP
		{1, 2, 3},
	}
	for _, c := range []struct {
		what string
		m    Match
		want []int
	}{
		{"everything", Match{}, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		// [RDMA at scale] 4.1: the least significant byte of the IP ID equals 0xff.
		{"IP ID 0xff", Match{IPID: Masked{0xff, 0xff}}, []int{0, 2}},
		{"IP ID 0x13..", Match{IPID: Masked{0x1300, 0xff00}}, []int{1, 2}},
		{"IP ID 0 of any bits", Match{IPID: Masked{0, 0xffff}}, nil},
		{"QP", Match{QP: 0x11}, []int{0, 1, 3, 4}},
		{"PSN", Match{QP: 0x11, PSN: PSNs{100, 1}}, []int{1}},
		{"PSN 0, not what has none", Match{PSN: PSNs{0, 1}}, []int{3, 4}},
		{"PSNs across the wrap", Match{PSN: PSNs{0xfffffe, 3}}, []int{2, 3, 4}},
		{"all PSNs", Match{PSN: PSNs{7, 1 << 24}}, []int{0, 1, 2, 3, 4}},
		{"DSCP", Match{DSCP: 1 << 48}, []int{3}},
		{"DSCP 0, not what has none", Match{DSCP: 1}, nil},
		{"writes", Match{Verbs: 1 << ib.Write}, []int{0, 1, 2}},
		{"ACKs and CNPs", Match{Verbs: 1<<ib.Ack | 1<<ib.Notify}, []int{3, 4}},
		{"PFC", Match{Kinds: 1 << frame.PFC}, []int{5}},
		{"all at once", Match{IPID: Masked{0xff, 0xff}, QP: 0x12, DSCP: 1 << 26}, []int{2}},
	} {
		s := NewSender(Config{Rate: gig40})
		s.Add(lose(c.m))
		if got := judge(t, s, frames...); !equal(got, c.want) {
			t.Errorf("%s: hits %v, want %v", c.what, got, c.want)
		}
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestWhichOfThoseThatMatch(t *testing.T) {
	frames := make([][]byte, 20)
	for i := range frames {
		frames[i] = packet{qp: ib.QPN(1 + i%2)}.bytes()
	}
	second := Match{QP: 2} // 1, 3, 5, ..
	for _, c := range []struct {
		what string
		r    Rule
		want []int
	}{
		{"third", Rule{Match: second, Nth: 3}, []int{5}},
		{"every third", Rule{Match: second, Every: 3}, []int{5, 11, 17}},
		{"every third, twice", Rule{Match: second, Every: 3, Limit: 2}, []int{5, 11}},
		{"the first four", Rule{Match: second, Limit: 4}, []int{1, 3, 5, 7}},
	} {
		c.r.Effect, c.r.Faults = Lose, ours
		s := NewSender(Config{Rate: gig40})
		s.Add(c.r)
		if got := judge(t, s, frames...); !equal(got, c.want) {
			t.Errorf("%s: hits %v, want %v", c.what, got, c.want)
		}
	}
}

// With probability p of n frames, n p are hit, within five standard deviations of the binomial
// distribution: once in a million runs it is not.
func TestChance(t *testing.T) {
	const n = 50_000
	b := packet{}.bytes()
	for _, p := range []float64{1e-3, 0.02, 0.5, 0.999, 1} {
		s := NewSender(Config{Rate: gig40, Seed: 11})
		s.Add(Rule{Effect: Lose, Chance: p})
		judge(t, s, repeat(b, n)...)
		got := float64(s.Stats.Lost)
		if slack := 5 * math.Sqrt(n*p*(1-p)); math.Abs(got-n*p) > slack {
			t.Errorf("p=%v: lost %.0f of %d, want %.0f +- %.0f", p, got, n, n*p, slack)
		}
	}
}

func repeat(b []byte, n int) (list [][]byte) {
	for range n {
		list = append(list, b)
	}
	return list
}

// Adding a fault moves no other's dice, on this link or another.
func TestDiceOfTheirOwn(t *testing.T) {
	run := func(seed uint64, more ...Rule) []int {
		s := NewSender(Config{Rate: gig40, Seed: seed})
		s.Add(Rule{Effect: Mark, Chance: 0.3, Faults: ours})
		for _, r := range more {
			s.Add(r)
		}
		return judge(t, s, repeat(packet{ecn: wire.ECT0}.bytes(), 500)...)
	}
	alone := run(1)
	others := []Rule{{Effect: Corrupt, Chance: 0.9}, {Effect: Delay, By: 5, Jitter: 500},
		{Effect: Duplicate, Chance: 0.5}}
	if got := run(1, others...); !equal(got, alone) {
		t.Error("the hits are others beside other faults")
	}
	if got := run(2); equal(got, alone) {
		t.Error("another seed gives the same hits")
	}
	own := func(seed uint64) []int {
		s := NewSender(Config{Rate: gig40, Seed: seed})
		s.Add(Rule{Effect: Lose, Chance: 0.3, Seed: 9, Faults: ours})
		return judge(t, s, repeat(packet{}.bytes(), 500)...)
	}
	if !equal(own(1), own(2)) {
		t.Error("a rule's own seed depends on the link's")
	}
	if SeedOf("sw0:swp1") == SeedOf("sw0:swp2") {
		t.Error("two ports throw the same dice")
	}
}

// What is corrupted differs in so many bits, where it was asked for.
func TestCorruption(t *testing.T) {
	was := packet{psn: 5}.bytes()
	pool := frame.NewPool(1, 2048)
	now := func(flip Flip) []byte {
		s := NewSender(Config{Rate: gig40, Seed: 3})
		s.Add(Rule{Effect: Corrupt, Flip: flip})
		f := pool.Get()
		defer f.Release()
		f.Set(was)
		s.Judge(0, f)
		return bytes.Clone(f.Bytes())
	}
	distance := func(b []byte) (n, at int) {
		for i := range b {
			if d := bits.OnesCount8(b[i] ^ was[i]); d > 0 {
				n, at = n+d, i
			}
		}
		return n, at
	}
	if n, _ := distance(now(Flip{})); n != 1 {
		t.Errorf("%d bits flipped anywhere, want one", n)
	}
	if n, at := distance(now(Flip{Fixed: true, Byte: 53})); n != 1 || at != 53 {
		t.Errorf("%d bits flipped, the last in byte %d, want one in byte 53", n, at)
	}
	if n, at := distance(now(Flip{Fixed: true, Byte: 0, Mask: 0x81})); n != 2 || at != 0 {
		t.Errorf("%d bits flipped, the last in byte %d, want two in byte 0", n, at)
	}
	if n, _ := distance(now(Flip{Fixed: true, Byte: 1400})); n != 0 {
		t.Errorf("%d bits flipped beyond the end", n)
	}
}

// A frame is what its bytes say: one whose EtherType is damaged is none of RoCE's any more, and
// both ends of a link must agree on that.
func TestCorruptionChangesTheKind(t *testing.T) {
	s := NewSender(Config{Rate: gig40})
	s.Add(Rule{Effect: Corrupt, Flip: Flip{Fixed: true, Byte: 12, Mask: 0x40}})
	f := frame.NewPool(1, 2048).Get()
	f.Set(packet{}.bytes())
	f.Meta.Class.Kind = frame.RoCE4
	s.Judge(0, f)
	if f.Meta.Class.Kind != frame.Other {
		t.Errorf("kind %v, want %v", f.Meta.Class.Kind, frame.Other)
	}
}

// RFC 3168 section 5: only ECN-capable packets are marked, and the header stays right.
func TestMarking(t *testing.T) {
	pool := frame.NewPool(1, 2048)
	for _, c := range []struct{ was, want wire.ECN }{
		{wire.NotECT, wire.NotECT}, {wire.ECT0, wire.CE}, {wire.ECT1, wire.CE}, {wire.CE, wire.CE},
	} {
		s := NewSender(Config{Rate: gig40})
		s.Add(Rule{Effect: Mark, Faults: ours})
		f := pool.Get()
		f.Set(packet{ecn: c.was, dscp: 26}.bytes())
		s.Judge(0, f)
		ip, _ := wire.AsIPv4(f.Bytes()[wire.EthernetLen:])
		if ip.ECN() != c.want || ip.DSCP() != 26 || wire.HeaderChecksum(ip[:]) != 0 ||
			(f.Meta.Faults == ours) != (c.was != c.want) {
			t.Errorf("%v became %v, DSCP %d, faults %b", c.was, ip.ECN(), ip.DSCP(), f.Meta.Faults)
		}
		f.Release()
	}
}

// Jitter never reorders, also not when the delay ends.
func TestDelayKeepsTheOrder(t *testing.T) {
	const by, jitter = 10 * time.Microsecond, 3 * time.Microsecond
	s := NewSender(Config{Rate: gig40, Seed: 5, Delay: time.Microsecond})
	s.Add(Rule{Effect: Delay, By: by, Jitter: jitter, Faults: ours})
	f := frame.NewPool(1, 2048).Get()
	f.Set(packet{}.bytes())
	var left, last unit.Time
	least, most := time.Hour, time.Duration(0)
	for i := range 2000 {
		if i == 1900 {
			s.Remove(ours)
		}
		if i%5 == 0 {
			left = left.Add(2 * by) // five frames back to back, then a gap
		}
		left, _ = s.Start(left, f.Len())
		hold := s.Judge(left, f).Hold
		if through := left.Add(hold); through < last {
			t.Fatalf("frame %d is through at %v, the one before at %v", i, through, last)
		}
		last = left.Add(hold)
		if i < 1900 {
			least, most = min(least, hold), max(most, hold)
		}
	}
	if least < by || least > by+jitter/10 || most > by+jitter || most < by+jitter*9/10 {
		t.Errorf("held back for %v to %v", least, most)
	}
	if s.Faulty() {
		t.Error("long after the delay has ended the wire is still not perfect")
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for _, r := range []Rule{{}, {Effect: Mark + 1}, {Effect: Lose, Chance: -1},
		{Effect: Lose, Chance: math.NaN()}, {Effect: Lose, Nth: 1, Every: 1},
		{Effect: Lose, Flip: Flip{Fixed: true}}, {Effect: Corrupt, Flip: Flip{Mask: 1}},
		{Effect: Delay, By: -1}, {Effect: Delay}, {Effect: Delay, By: 2 * time.Hour},
		{Effect: Lose, By: 1}, {Effect: Reorder}, {Effect: Reorder, By: 1, Behind: 1, Within: 1},
		{Effect: Reorder, Behind: 1}, {Effect: Reorder, By: 1, Within: 1},
		{Effect: Reorder, By: 1, Jitter: 1}, {Effect: Mark, Behind: 1},
		{Effect: Lose, Match: Match{QP: 1 << 24}},
		{Effect: Lose, Match: Match{IPID: Masked{Value: 0x100, Mask: 0xff}}},
		{Effect: Lose, Match: Match{PSN: PSNs{First: 1 << 24, Count: 1}}},
	} {
		if r.Validate() == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}

func TestJudgeDoesNotAllocate(t *testing.T) {
	s := NewSender(Config{Rate: gig40})
	for _, r := range []Rule{{Effect: Lose, Match: Match{QP: 7}}, {Effect: Corrupt, Chance: 0.1},
		{Effect: Delay, By: 5, Jitter: 5}, {Effect: Mark}, {Effect: Reorder, By: 7, Chance: 0.1}} {
		s.Add(r)
	}
	f := frame.NewPool(1, 2048).Get()
	f.Set(packet{ecn: wire.ECT0}.bytes())
	var now unit.Time
	if n := testing.AllocsPerRun(1000, func() {
		now, _ = s.Start(now, f.Len())
		s.Judge(now, f)
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// BenchmarkJudge is what a frame costs on a bad wire.
func BenchmarkJudge(b *testing.B) {
	for _, c := range []struct {
		name  string
		rules []Rule
	}{
		{"loss", []Rule{{Effect: Lose, Chance: 1e-3}}},
		{"ipid", []Rule{lose(Match{IPID: Masked{0xff, 0xff}})}},
		{"eight", []Rule{lose(Match{QP: 1}), lose(Match{QP: 2}), lose(Match{QP: 3}),
			lose(Match{QP: 4}), {Effect: Corrupt, Chance: 1e-3}, {Effect: Duplicate, Chance: 1e-3},
			{Effect: Reorder, Chance: 1e-3, By: 5}, {Effect: Delay, By: 5, Jitter: 5}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := NewSender(Config{Rate: gig40})
			for _, r := range c.rules {
				s.Add(r)
			}
			f := frame.NewPool(1, 2048).Get()
			f.Set(packet{id: 1}.bytes())
			b.ReportAllocs()
			now := unit.Time(0)
			for b.Loop() {
				now += 100
				s.Judge(now, f)
			}
		})
	}
}
