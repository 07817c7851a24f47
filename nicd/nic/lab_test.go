package nic

import (
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

const us unit.Time = 1000

type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// peer is a NIC with one region and one QP connected to the other's.
type peer struct {
	*NIC
	region *qp.Region
	local  Local
}

func testConfig(i int) Config {
	c := DefaultConfig()
	c.MAC, c.Rate, c.Seed = wire.MAC{2, 0, 0, 0, 0, byte(i)}, 40*unit.GbPerSecond, uint64(i)
	c.IPv4 = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
	c.IPv6 = netip.MustParseAddr("fd00::").Next()
	for range i {
		c.IPv6 = c.IPv6.Next()
	}
	c.MaxQPs, c.MaxRegions = 8, 8
	return c
}

func newPeer(t tester, i int, pool *frame.Pool, change func(*Config)) *peer {
	t.Helper()
	c := testConfig(i)
	if change != nil {
		change(&c)
	}
	n, err := New(c, pool)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{NIC: n}
	access := qp.Access{LocalWrite: true, RemoteWrite: true}
	if p.region, err = n.RegisterMR(1<<20, access); err != nil {
		t.Fatal(err)
	}
	if p.local, err = n.CreateQP(n.QPConfig()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) connect(t tester, o *peer, v6 bool) {
	t.Helper()
	r := Remote{QPN: o.local.QPN, PSN: o.local.PSN, IP: o.cfg.IPv4, MAC: o.cfg.MAC}
	if v6 {
		r.IP = o.cfg.IPv6
	}
	if err := p.Connect(p.local.QPN, r); err != nil {
		t.Fatal(err)
	}
}

func newPeers(t tester, change func(*Config)) (a, b *peer, pool *frame.Pool) {
	t.Helper()
	pool = frame.NewPool(64, 1400)
	a, b = newPeer(t, 1, pool, change), newPeer(t, 2, pool, change)
	a.connect(t, b, false)
	b.connect(t, a, false)
	return a, b, pool
}

func (p *peer) write(t tester, now unit.Time, to *peer, n int) {
	t.Helper()
	if err := p.Post(now, p.local.QPN, p.request(to, n)); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) request(to *peer, n int) qp.WR {
	return qp.WR{Op: qp.Write,
		Local:  qp.Local{Key: p.region.Key, VA: p.region.VA, Length: n},
		Remote: qp.Remote{VA: to.region.VA, RKey: to.region.Key}}
}

// send asks for a frame as a driver would: only if the port is ready.
func (p *peer) send(now unit.Time) *frame.Frame {
	if !p.Ready().Has(Port) {
		return nil
	}
	f := p.Transmit(now, Port)
	if f == nil {
		p.Ready().Remove(Port)
	}
	return f
}

// give hands a frame from one NIC to the other.
func (p *peer) give(now unit.Time, f *frame.Frame) {
	f.Meta = frame.Meta{}
	p.Receive(now, Port, f)
}

func (p *peer) balanced(t tester) {
	t.Helper()
	l := p.Ledger()
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) snapshot(now unit.Time) *Snapshot {
	s := &Snapshot{}
	p.Snapshot(now, s)
	return s
}

// pfcFrame pauses the priorities of the set for quanta, or resumes them with zero.
func pfcFrame(pool *frame.Pool, set pfc.Set, quanta uint16) *frame.Frame {
	var b wire.ControlFrame
	b.Init(wire.MAC{2, 0, 0, 0, 0, 99}, wire.OpPFC)
	b.PFC().SetEnabled(uint8(set))
	for i := range uint8(8) {
		if set.Has(pfc.Priority(i)) {
			b.PFC().SetQuanta(i, quanta)
		}
	}
	f := pool.Get()
	f.Set(b[:])
	return f
}

// markCE sets the congestion experienced codepoint, as a switch does; the ICRC leaves it out.
func markCE(f *frame.Frame) {
	b := f.Bytes()
	old := b[15]
	b[15] |= 3
	sum := uint32(b[24])<<8 | uint32(b[25])
	sum = ^sum&0xffff + uint32(b[15]-old)
	sum = sum>>16 + sum&0xffff
	b[24], b[25] = byte(^sum>>8), byte(^sum)
}

func open(t testing.TB, f *frame.Frame) ib.Packet {
	t.Helper()
	p, ok := ib.Open(f.Bytes(), 14, 34)
	if !ok || !p.CheckICRC() {
		t.Fatalf("not a good packet: % x", f.Bytes())
	}
	return p
}
