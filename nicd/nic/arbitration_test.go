package nic

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// crowd is a NIC with many QPs, all of whose peers are on one other NIC.
type crowd struct {
	*peer
	to    *peer
	pool  *frame.Pool
	pairs []pair
	at    unit.Time // when the wire is free
	wires unit.Serial
}

// newCrowd makes a NIC with a QP for each DSCP. The line is its only limit.
func newCrowd(t testing.TB, dscps ...uint8) *crowd {
	t.Helper()
	pool := frame.NewPool(256, 1400)
	change := func(c *Config) {
		c.CC, _ = cc.NewParams("none", "")
		c.PFC, c.MaxQPs = pfc.SetOf(3, 4), len(dscps)+8
	}
	c := &crowd{peer: newPeer(t, 1, pool, change), to: newPeer(t, 2, pool, change), pool: pool}
	for _, d := range dscps {
		p := pair{from: c.peer}
		var err error
		if p.near, err = c.CreateRC(c.QPConfig(), Service{DSCP: &d}); err != nil {
			t.Fatal(err)
		}
		if p.far, err = c.to.CreateQP(c.to.QPConfig()); err != nil {
			t.Fatal(err)
		}
		join(t, c.peer, p.near, c.to, p.far)
		join(t, c.to, p.far, c.peer, p.near)
		c.pairs = append(c.pairs, p)
	}
	return c
}

// post gives pair i a message of n bytes to WRITE, or to READ.
func (c *crowd) post(t testing.TB, i int, op qp.Op, n int) {
	t.Helper()
	wr := c.request(c.to, n)
	wr.Op = op
	if err := c.Post(0, c.pairs[i].near.QPN, wr); err != nil {
		t.Fatal(err)
	}
}

// line pulls frames as a wire at the NIC's rate does, and hands each to see until that says stop.
func (c *crowd) line(t testing.TB, see func(now unit.Time, f *frame.Frame) (more bool)) {
	t.Helper()
	for more := true; more; {
		if c.NextWake() <= c.at {
			c.Wake(c.at)
		}
		f := c.send(c.at)
		if f == nil {
			if c.at = max(c.at+1, c.NextWake()); c.at == unit.Never {
				return
			}
			continue
		}
		took := c.wires.Time(wire.OnLine(f.Len()), c.cfg.Rate)
		more = see(c.at, f)
		f.Release()
		c.at = c.at.Add(took)
	}
}

// sender is the pair that a packet belongs to, by its destination QP; -1 if to none.
func (c *crowd) sender(f *frame.Frame) int {
	for i, p := range c.pairs {
		if f.Bytes()[42+7] == byte(p.far.QPN) && f.Bytes()[42+6] == byte(p.far.QPN>>8) {
			return i
		}
	}
	return -1
}

// order is the pairs of the next n packets, as letters.
func (c *crowd) order(t testing.TB, n int) string {
	t.Helper()
	var b strings.Builder
	c.line(t, func(_ unit.Time, f *frame.Frame) bool {
		b.WriteByte('a' + byte(c.sender(f)))
		return b.Len() < n
	})
	return b.String()
}

// Control before data: of everything that a NIC may owe at once, its own PFC frames leave first,
// then CNPs, then ACKs, then data. ([DCQCN] 3.3: CNPs go with high priority; IEEE 802.1Q-2022 36
// counts on PFC for the headroom.)
func TestControlBeforeData(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	b.write(t, 0, a, 2048) // data first, so that it is not just the order of events
	a.write(t, 0, b, 64)
	f := a.send(0)
	markCE(f)
	b.give(0, f)
	b.asking.XOFF(3)
	b.kick()
	var got []string
	for f := b.send(0); f != nil; f = b.send(0) {
		if f.Meta.Class.Kind == frame.PFC {
			got = append(got, "PFC")
		} else {
			p := open(t, f)
			got = append(got, p.BTH.Opcode().String())
		}
		f.Release()
	}
	if s := strings.Join(got, " "); s != "PFC CNP ACKNOWLEDGE RDMA_WRITE_FIRST RDMA_WRITE_LAST" {
		t.Errorf("sent %s", s)
	}
}

// Ready QPs take turns, one packet each, whatever the number of packets that each has.
func TestRoundRobin(t *testing.T) {
	c := newCrowd(t, 26, 26, 26)
	c.post(t, 0, qp.Write, 5*1024)
	c.post(t, 1, qp.Write, 2*1024)
	c.post(t, 2, qp.Write, 3*1024)
	if got, want := c.order(t, 10), "abcabcacaa"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// A pause holds its own priority back and no other. Of six QPs in two priorities, those of the
// paused one send nothing while it lasts, the others get the whole line; then the priorities take
// turns, and in each its QPs.
func TestPausedPriority(t *testing.T) {
	c := newCrowd(t, 26, 26, 26, 4, 4, 4)
	for i := range c.pairs {
		c.post(t, i, qp.Write, 100*1024)
	}
	c.give(0, pfcFrame(c.pool, pfc.SetOf(3), wire.MaxQuanta))
	if got, want := c.order(t, 9), "defdefdef"; got != want {
		t.Errorf("while priority 3 is paused %s, want %s", got, want)
	}
	c.give(c.at, pfcFrame(c.pool, pfc.SetOf(3), 0))
	got := c.order(t, 12)
	if strings.Count(got, "a")+strings.Count(got, "b")+strings.Count(got, "c") != 6 ||
		strings.Contains(strings.NewReplacer("b", "a", "c", "a", "e", "d", "f", "d").Replace(got),
			"aa") {
		t.Errorf("after the pause %s, want the priorities in turn", got)
	}
	for _, one := range "abcdef" {
		if n := strings.Count(got, string(one)); n != 2 {
			t.Errorf("after the pause %c has %d turns of 12, want 2: %s", one, n, got)
		}
	}
}

// Fairness. A turn is a packet, so QPs whose packets are full share bytes equally whatever the size
// of their messages is, and QPs with small messages have as many packets as the others, but fewer
// bytes: the NIC's hardware arbitrates packets.
func TestFairness(t *testing.T) {
	sizes := []int{64 << 10, 16 << 10, 4 << 10, 256}
	c := newCrowd(t, 26, 26, 26, 26)
	for i, n := range sizes {
		for range 100 {
			c.post(t, i, qp.Write, n)
		}
	}
	var packets, payload [4]int
	total := 0
	c.line(t, func(_ unit.Time, f *frame.Frame) bool {
		i := c.sender(f)
		p := open(t, f)
		packets[i]++
		payload[i] += len(p.Payload)
		total++
		return total < 400
	})
	for i := range sizes {
		if packets[i] != 100 {
			t.Errorf("messages of %d bytes: %d packets of 400, want 100", sizes[i], packets[i])
		}
		if want := 100 * min(sizes[i], 1024); payload[i] != want {
			t.Errorf("messages of %d bytes: %d bytes, want %d", sizes[i], payload[i], want)
		}
	}
}

// Answers to READs are data: they take turns with requests of other QPs, and so do datagrams.
func TestReadsAndDatagramsTakeTurns(t *testing.T) {
	c := newCrowd(t, 26, 26)
	// a WRITEs, and is asked by the other side for data on b.
	c.post(t, 0, qp.Write, 100*1024)
	region, err := c.RegisterMR(1<<16, qp.Access{RemoteRead: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.to.Post(0, c.pairs[1].far.QPN, qp.WR{Op: qp.Read,
		Local:  qp.Local{Key: c.to.region.Key, VA: c.to.region.VA, Length: 64 << 10},
		Remote: qp.Remote{VA: region.VA, RKey: region.Key}}); err != nil {
		t.Fatal(err)
	}
	c.give(0, c.to.send(0))
	ud, err := c.CreateUD(qp.UDConfig{PD: DefaultPD, MTU: 1024, SendQueue: 64, ReceiveQueue: 1},
		Service{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := c.CreateAH(DefaultPD, Path{IP: c.to.cfg.IPv4, MAC: c.to.cfg.MAC})
	if err != nil {
		t.Fatal(err)
	}
	for range 64 {
		if err := c.PostUD(0, ud.QPN, qp.UDWR{To: qp.Address{Handle: uint32(to), QPN: 0xfffff},
			Local: qp.Local{Key: c.region.Key, VA: c.region.VA, Length: 1024}}); err != nil {
			t.Fatal(err)
		}
	}
	var kinds [3]int
	total := 0
	c.line(t, func(_ unit.Time, f *frame.Frame) bool {
		p := open(t, f)
		switch {
		case p.Info.Verb == ib.ReadReply:
			kinds[1]++
		case p.Info.Transport == ib.UD:
			kinds[2]++
		default:
			kinds[0]++
		}
		total++
		return total < 150
	})
	if kinds != [3]int{50, 50, 50} {
		t.Errorf("of 150 packets %d are WRITEs, %d answers to a READ, %d datagrams", kinds[0],
			kinds[1], kinds[2])
	}
}

// Every QP has the codepoint that it was made with, in the bytes of its data and of its answers,
// and a source port of its own, which both directions share.
func TestDSCPAndPortOfQPs(t *testing.T) {
	c := newCrowd(t, 26, 10, 4)
	ports := map[string]bool{}
	for i, tos := range []byte{106, 10<<2 | 2, 4<<2 | 2} {
		c.post(t, i, qp.Write, 64)
		data := c.send(0)
		b := data.Bytes()
		if b[15] != tos {
			t.Errorf("QP %d: data with TOS %d, want %d", i, b[15], tos)
		}
		port := string(b[34:36])
		ports[port] = true
		c.to.give(0, data)
		ack := c.to.send(0)
		if got := string(ack.Bytes()[34:36]); got != port {
			t.Errorf("QP %d: data from port % x, ACK from % x", i, port, got)
		}
		ack.Release()
	}
	if len(ports) != 3 {
		t.Errorf("3 QPs have %d source ports", len(ports))
	}
	mine := uint8(10)
	a, b := newPeer(t, 1, c.pool, nil), newPeer(t, 2, c.pool, nil)
	var err error
	if b.local, err = b.CreateRC(b.QPConfig(), Service{DSCP: &mine}); err != nil {
		t.Fatal(err)
	}
	a.connect(t, b, false)
	b.connect(t, a, false)
	a.write(t, 0, b, 64)
	b.give(0, a.send(0))
	if ack := b.send(0); ack.Bytes()[15] != 10<<2|2 {
		t.Errorf("ACK with TOS %d", ack.Bytes()[15])
	}
}

// [DCQCN] 3: "when a flow starts, it sends at full line rate". The first packets of a QP leave back
// to back: not a bit time of the line is unused.
func TestLineRateStart(t *testing.T) {
	for _, algorithm := range []string{"dcqcn", "dcqcn_plus", "qcn", "none"} {
		pool := frame.NewPool(8, 1400)
		change := func(c *Config) {
			var err error
			if c.CC, err = cc.NewParams(algorithm, ""); err != nil {
				t.Fatal(err)
			}
		}
		a, b := newPeer(t, 1, pool, change), newPeer(t, 2, pool, change)
		a.connect(t, b, false)
		c := &crowd{peer: a}
		a.write(t, 0, b, 1<<20)
		var bytes unit.Bytes
		c.line(t, func(now unit.Time, f *frame.Frame) bool {
			var s unit.Serial
			if late := now.Sub(0) - s.Time(bytes, a.cfg.Rate); late > 1 { // rounding up
				t.Fatalf("%s: packet behind %v bytes is %v late", algorithm, bytes, late)
			}
			bytes += wire.OnLine(f.Len())
			return bytes < 1<<20
		})
	}
}
