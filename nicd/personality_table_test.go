package nicd

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

var update = flag.Bool("update", false, "rewrite the golden table")

// seen is a packet at the moment at which its sender begins with it.
type seen struct {
	at     unit.Time
	bytes  unit.Bytes
	opcode ib.Opcode
	dest   ib.QPN
	psn    ib.PSN
}

// arrives is when its last bit is at the other end.
func (s *seen) arrives() unit.Time {
	var line unit.Serial
	return s.at.Add(line.Time(wire.OnLine(s.bytes), tableRate) + tableDelay)
}

const (
	tableRate  = 40 * unit.GbPerSecond
	tableDelay = time.Microsecond
)

// tap is a NIC whose packets are looked at, and may be marked or spoilt.
type tap struct {
	*nic.NIC
	sent  []seen
	mark  bool      // every packet of data
	spoil ib.Opcode // the fifth of these arrives with a wrong ICRC, which is as good as lost
	count int
	local []nic.Local
	mr    *qp.Region
}

func (p *tap) Transmit(now unit.Time, port dataplane.PortID) *frame.Frame {
	f := p.NIC.Transmit(now, port)
	if f == nil {
		return nil
	}
	b := f.Bytes()
	open, ok := ib.Open(b, 14, 34)
	if !ok {
		return f
	}
	p.sent = append(p.sent, seen{now, f.Len(), open.BTH.Opcode(), open.BTH.DestQP(),
		open.BTH.PSN()})
	if p.mark && open.Info.Request() {
		old := b[15]
		b[15] |= 3
		sum := ^(uint32(b[24])<<8|uint32(b[25]))&0xffff + uint32(b[15]-old)
		sum = ^(sum>>16 + sum&0xffff)
		b[24], b[25] = byte(sum>>8), byte(sum)
	}
	if open.BTH.Opcode() == p.spoil {
		if p.count++; p.count == 5 {
			b[60] ^= 1
		}
	}
	return f
}

// pairOf makes two NICs of one kind with so many QPs between them.
func pairOf(t *testing.T, c *Config, qps int) (net *sim.Net, a, b *tap, na *sim.Node) {
	t.Helper()
	pool := frame.NewPool(512, 1400)
	net = sim.New(pool)
	var taps [2]*tap
	for i := range taps {
		own := *c
		own.MAC[5] += byte(i)
		own.IPv4 = own.IPv4.Next()
		if i == 0 {
			own.IPv4 = c.IPv4
		}
		own.Seed = uint64(i) + 1
		machine, err := own.Machine()
		if err != nil {
			t.Fatal(err)
		}
		n, err := nic.New(machine, pool)
		if err != nil {
			t.Fatal(err)
		}
		taps[i] = &tap{NIC: n}
		taps[i].mr, err = n.RegisterMR(1<<20, qp.Access{LocalWrite: true, RemoteWrite: true,
			RemoteRead: true})
		if err != nil {
			t.Fatal(err)
		}
		for range qps {
			l, err := n.CreateQP(n.QPConfig())
			if err != nil {
				t.Fatal(err)
			}
			taps[i].local = append(taps[i].local, l)
		}
	}
	a, b = taps[0], taps[1]
	for i := range qps {
		for _, of := range []struct{ from, to *tap }{{a, b}, {b, a}} {
			cfg := of.to.Config()
			err := of.from.Connect(of.from.local[i].QPN, nic.Remote{QPN: of.to.local[i].QPN,
				PSN: of.to.local[i].PSN, IP: cfg.IPv4, MAC: cfg.MAC})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	na = net.Add("a", a, 1)
	net.Connect(na, 0, net.Add("b", b, 1), 0, link.Config{Rate: tableRate, Delay: tableDelay})
	return net, a, b, na
}

// run has a post one message on each QP and lets it end.
func (p *tap) run(t *testing.T, net *sim.Net, na *sim.Node, to *tap, op qp.Op, size int) {
	t.Helper()
	net.Do(na, func(now unit.Time) {
		for _, l := range p.local {
			if err := p.Post(now, l.QPN, qp.WR{Op: op,
				Local:  qp.Local{Key: p.mr.Key, VA: p.mr.VA, Length: size},
				Remote: qp.Remote{VA: to.mr.VA, RKey: to.mr.Key}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	net.Run(unit.Time(time.Millisecond))
}

// all finds the packets with an opcode.
func (p *tap) all(opcode ib.Opcode) (list []seen) {
	for _, s := range p.sent {
		if s.opcode == opcode {
			list = append(list, s)
		}
	}
	return list
}

// closest is the least time between two of the packets, of the same QP or of any; 0 if there are no
// two.
func closest(list []seen, sameQP bool) (least time.Duration) {
	for i := range list {
		for j := range i {
			d := list[i].at.Sub(list[j].at)
			if (!sameQP || list[i].dest == list[j].dest) && (least == 0 || d < least) {
				least = d
			}
		}
	}
	return least
}

// again is the second time that a packet with a PSN was sent.
func (p *tap) again(psn ib.PSN) (s seen, ok bool) {
	times := 0
	for _, s := range p.sent {
		if s.psn == psn {
			if times++; times == 2 {
				return s, true
			}
		}
	}
	return s, false
}

// row is what one kind of NIC does. The loss is measured as Lumina does (SIGCOMM 2023): from the
// arrival of the packet behind the lost one to the NAK, and from the NAK's arrival to the packet
// that is sent again; for a READ, from the arrival behind the lost answer to the new request.
func row(t *testing.T, c *Config) string {
	t.Helper()
	// Four QPs to one host, every packet marked.
	net, a, b, na := pairOf(t, c, 4)
	a.mark = true
	a.run(t, net, na, b, qp.Write, 64<<10)
	cnps := b.all(ib.CongestionNotify)
	marked := a.sent[0].arrives()

	// One lost packet of a WRITE.
	net, a, b, na = pairOf(t, c, 1)
	a.spoil = ib.WriteMiddle
	a.run(t, net, na, b, qp.Write, 20<<10)
	lost, next := a.all(ib.WriteMiddle)[4], a.all(ib.WriteMiddle)[5]
	resent, _ := a.again(lost.psn)
	var nak seen
	for _, s := range b.sent {
		if s.opcode == ib.Acknowledge && s.psn == lost.psn && nak.at == 0 {
			nak = s
		}
	}
	write := fmt.Sprintf("%10v%10v%6d", nak.at.Sub(next.arrives()), resent.at.Sub(nak.arrives()),
		len(b.all(ib.CongestionNotify)))

	// One lost answer to a READ.
	net, a, b, na = pairOf(t, c, 1)
	b.spoil = ib.ReadResponseMiddle
	a.run(t, net, na, b, qp.Read, 20<<10)
	asked := a.all(ib.ReadRequest)
	if len(asked) != 2 {
		t.Fatalf("%d READ requests", len(asked))
	}
	gap := b.all(ib.ReadResponseMiddle)[5]
	return fmt.Sprintf("%6d%10v%10v%10v%s%10v", len(cnps), cnps[0].at.Sub(marked),
		closest(cnps, false), closest(cnps, true), write, asked[1].at.Sub(gap.arrives()))
}

// TestPersonalityTable: one scenario under each personality, and under one with every delay set.
func TestPersonalityTable(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s%s\n", "", "4 QPs to one host, all marked        | one lost packet")
	fmt.Fprintf(&b, "%-16s%6s%10s%10s%10s%10s%10s%6s%10s\n", "personality", "CNPs", "first",
		"apart", "same QP", "NAK", "resent", "CNPs", "READ")
	configs := append(Personalities(), "{name: book, params: {cnp_delay: 3us, nak_delay: 2us, "+
		"retransmit_delay: 5us}}")
	for _, text := range configs {
		c, err := decode("personality: " + text + "\ncc: {algorithm: none}")
		if err != nil {
			t.Fatal(err)
		}
		name := c.Personality.Name
		if len(c.Personality.Params) > 0 {
			name += " + delays"
		}
		fmt.Fprintf(&b, "%-16s%s\n", name, row(t, c))
	}
	const file = "testdata/personalities.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; got:\n%s", file, b.String())
	}
}
