package nic

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// The table as it stands, with - for a free index.
func table(n *NIC) (rows []string) {
	for _, g := range n.GIDs() {
		for len(rows) < g.Index {
			rows = append(rows, "-")
		}
		rows = append(rows, g.IP.String())
	}
	return rows
}

// An address keeps its index, a free index is taken again, and the link-local address is first.
func TestGIDTable(t *testing.T) {
	a := newPeer(t, 1, frame.NewPool(1, 1400),
		func(c *Config) { c.IPv4, c.IPv6 = netip.Addr{}, netip.Addr{} })
	for _, step := range []struct{ set, want []string }{
		{[]string{"10.0.0.1", "fd00::1", "fe80::1"}, []string{"fe80::1", "10.0.0.1", "fd00::1"}},
		{[]string{"fe80::1", "fd00::1"}, []string{"fe80::1", "-", "fd00::1"}},
		{[]string{"fd00::1", "fd00::2", "fe80::1", "10.0.0.9"},
			[]string{"fe80::1", "fd00::2", "fd00::1", "10.0.0.9"}},
		{nil, nil},
		{[]string{"10.0.0.1"}, []string{"10.0.0.1"}},
	} {
		var all []Address
		for _, s := range step.set {
			all = append(all, Address{IP: ip(s), Device: "eth0"})
		}
		a.SetAddresses(0, all)
		if got := table(a.NIC); !slices.Equal(got, step.want) {
			t.Errorf("set %v: %v, want %v", step.set, got, step.want)
		}
	}
	// IBTA A17: an IPv4 address is a GID as ::ffff:a.b.c.d.
	g := a.GIDs()[0]
	if b := g.Bytes(); !bytes.Equal(b[:], []byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}) {
		t.Errorf("GID %x", b)
	}
}

// The table against a dumb one: after any changes every address is there once, and has the index
// that it had before.
func TestGIDTableModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n, err := New(testConfig(1), frame.NewPool(1, 1400))
		if err != nil {
			r.Fatal(err)
		}
		index := map[Address]int{}
		for range 20 {
			var all []Address
			for i := range 6 {
				if rapid.Bool().Draw(r, "there") {
					all = append(all, Address{IP: ip("10.0.0.1"), VLAN: uint16(i)})
				}
			}
			n.SetAddresses(0, all)
			gids := n.GIDs()
			if len(gids) != len(all) {
				r.Fatalf("%d entries for %d addresses", len(gids), len(all))
			}
			next := map[Address]int{}
			for i, g := range gids {
				if was, ok := index[g.Address]; ok && was != g.Index {
					r.Fatalf("%v moved from %d to %d", g.Address, was, g.Index)
				}
				if !slices.Contains(all, g.Address) || i > 0 && g.Index <= gids[i-1].Index {
					r.Fatalf("%+v of %+v", gids, all)
				}
				next[g.Address] = g.Index
			}
			index = next
		}
	})
}

// posted starts a WRITE of n bytes at a, and returns the status with which it ends.
func posted(t *testing.T, now unit.Time, a, b *peer, size int) qp.Status {
	t.Helper()
	a.write(t, now, b, size)
	exchange(now, a, b)
	return ended(t, a)
}

func ended(t *testing.T, a *peer) qp.Status {
	t.Helper()
	var c [1]qp.Completion
	if a.PollCQ(a.local.QPN, c[:]) != 1 {
		t.Fatal("no completion")
	}
	return c[0].Status
}

// A QP whose address goes away is neither heard nor killed until it must send; then its request
// fails as a local operation. rxe: rxe_requester, IB_WC_LOC_QP_OP_ERR.
func TestAddressRemoved(t *testing.T) {
	a, b, pool := newPeers(t, nil)
	if s := posted(t, 0, a, b, 3000); s != qp.Success {
		t.Fatal(s)
	}
	own := Address{IP: a.cfg.IPv4}
	a.SetAddresses(1, []Address{{IP: a.cfg.IPv6}})
	if st := a.QP(a.local.QPN).State(); st != qp.StateRTS {
		t.Errorf("idle, and in %v", st)
	}
	b.write(t, 1, a, 100)
	a.give(1, b.send(1))
	if l := a.Ledger(); l.Dropped[frame.DropNotForUs].Frames != 1 || a.send(1) != nil {
		t.Errorf("heard at an address that is gone: %+v", l.Dropped)
	}
	a.SetAddresses(2, []Address{{IP: a.cfg.IPv6}, own})
	if s := posted(t, 2, a, b, 3000); s != qp.Success {
		t.Errorf("the address is back: %v", s)
	}
	a.SetAddresses(3, []Address{{IP: a.cfg.IPv6}})
	if s := posted(t, 3, a, b, 100); s != qp.LocalOperation {
		t.Errorf("sent without an address: %v", s)
	}
	if st := a.QP(a.local.QPN).State(); st != qp.StateErr {
		t.Errorf("in %v", st)
	}
	a.balanced(t)
	b.balanced(t)
	if pool.InUse() != 0 {
		t.Error("leak")
	}
}

// resolved connects both ends by paths of the kernel's.
func resolved(t *testing.T) (a, b *peer, pool *frame.Pool) {
	t.Helper()
	pool = frame.NewPool(64, 1400)
	a, b = newPeer(t, 1, pool, nil), newPeer(t, 2, pool, nil)
	for _, p := range [][2]*peer{{a, b}, {b, a}} {
		r := Remote{QPN: p[1].local.QPN, PSN: p[1].local.PSN, IP: p[1].cfg.IPv4,
			MAC: p[1].cfg.MAC, Resolved: true}
		if err := p[0].Connect(p[0].local.QPN, r); err != nil {
			t.Fatal(err)
		}
	}
	return a, b, pool
}

// The peer gets another MAC address in the middle of a message: nothing of it is sent to the old
// one any more, and the message arrives.
func TestPeerMoves(t *testing.T) {
	a, b, _ := resolved(t)
	peers := a.Peers()
	if len(peers) != 1 || peers[0] != (Peer{a.cfg.IPv4, b.cfg.IPv4, b.cfg.MAC, 0, false}) {
		t.Fatalf("%+v", peers)
	}
	a.write(t, 0, b, 5000)
	b.give(0, a.send(0))
	mac := wire.MAC{2, 0, 0, 0, 9, 9}
	b.SetMAC(1, mac)
	a.Moved(1, a.cfg.IPv4, b.cfg.IPv4, mac)
	exchange(1, a, b)
	if s := ended(t, a); s != qp.Success || a.Peers()[0].MAC != mac {
		t.Errorf("%v, %+v", s, a.Peers())
	}
	if l := b.Ledger(); l.DroppedTotal().Frames != 0 {
		t.Errorf("%+v", l.Dropped)
	}
	// A path that was given is nobody's to change.
	c, d, _ := newPeers(t, nil)
	c.Moved(0, c.cfg.IPv4, d.cfg.IPv4, mac)
	if s := posted(t, 0, c, d, 10); s != qp.Success || len(c.Peers()) != 0 {
		t.Errorf("%v, %+v", s, c.Peers())
	}
}

// Without a path packets are dropped by the reason, and sent again when there is one.
func TestPathDown(t *testing.T) {
	a, b, _ := resolved(t)
	a.write(t, 0, b, 3000)
	a.PathDown(0, a.cfg.IPv4, b.cfg.IPv4, frame.DropNoRoute)
	now := unit.Time(0)
	for f := a.send(now); f != nil || a.NextWake() < 100*us; f = a.send(now) {
		if f != nil {
			t.Fatal("sent without a path")
		}
		now = a.NextWake()
		a.Wake(now)
	}
	if l := a.Ledger(); l.Dropped[frame.DropNoRoute].Frames != 3 || !a.Peers()[0].Lost {
		t.Errorf("%+v", l.Dropped)
	}
	a.balanced(t)
	a.Moved(now, a.cfg.IPv4, b.cfg.IPv4, b.cfg.MAC)
	now = a.NextWake() // the retransmission timer
	a.Wake(now)
	exchange(now, a, b)
	if s := ended(t, a); s != qp.Success || a.Peers()[0].Lost {
		t.Errorf("%v", s)
	}
	if s := a.snapshot(now).Transport; s.LocalAckTimeoutErr != 1 {
		t.Errorf("%d timeouts", s.LocalAckTimeoutErr)
	}
}

// Data of priority 3 and CNPs of priority 6 carry that as their PCP, or what the map says, on the
// VLAN of the QP's address; other VLANs are other networks.
func TestVLAN(t *testing.T) {
	vlan := func(id uint16) func(*Config) {
		return func(c *Config) { c.VLAN, c.PCP[6] = id, 7 }
	}
	a, b, pool := newPeers(t, vlan(100))
	a.write(t, 0, b, 10)
	f := a.send(0)
	tag, _ := wire.AsTag(f.Bytes()[wire.EthernetLen:])
	if tag.VID() != 100 || tag.PCP() != 3 || tag.Type() != wire.TypeIPv4 {
		t.Errorf("tag %x", *tag)
	}
	f.Bytes()[wire.EthernetLen+wire.TagLen+1] |= uint8(frame.CE)
	f.Bytes()[wire.EthernetLen+wire.TagLen+11]-- // the checksum's part of it
	b.give(0, f)
	f = b.send(0)
	if tag, _ = wire.AsTag(f.Bytes()[wire.EthernetLen:]); tag.PCP() != 7 {
		t.Errorf("CNP with priority %d", tag.PCP())
	}
	a.give(0, f)
	a.give(1, b.send(1))
	if s := ended(t, a); s != qp.Success {
		t.Error(s)
	}

	for _, c := range []struct {
		name   string
		change func(f *frame.Frame)
	}{
		{"another VLAN", func(f *frame.Frame) { f.Bytes()[15]++ }},
		{"no VLAN", func(f *frame.Frame) {
			f.Set(slices.Delete(slices.Clone(f.Bytes()), 12, 16))
		}},
		{"a priority only", func(f *frame.Frame) { f.Bytes()[14], f.Bytes()[15] = 0x60, 0 }},
		{"a service VLAN", func(f *frame.Frame) { f.Bytes()[12], f.Bytes()[13] = 0x88, 0xa8 }},
	} {
		a, b, pool := newPeers(t, vlan(100))
		a.write(t, 0, b, 10)
		f := a.send(0)
		c.change(f)
		b.give(0, f)
		if l := b.Ledger(); l.Dropped[frame.DropNotForUs].Frames != 1 || pool.InUse() != 0 {
			t.Errorf("%s: %+v", c.name, l.Dropped)
		}
	}
	if pool.InUse() != 0 {
		t.Error("leak")
	}
	// IEEE 802.1Q-2022 6.9.1: a tag with VLAN ID 0 tells a priority and nothing else.
	a, b, _ = newPeers(t, nil)
	a.write(t, 0, b, 10)
	f = a.send(0)
	f.Set(slices.Insert(slices.Clone(f.Bytes()), 12, 0x81, 0, 0x60, 0))
	b.give(0, f)
	if l := b.Ledger(); l.DroppedTotal().Frames != 0 {
		t.Errorf("%+v", l.Dropped)
	}
}

// Which of several addresses a QP has is its creator's choice, and packets for another one of ours
// are not for it. rxe: check_addr.
func TestSource(t *testing.T) {
	a, b, _ := newPeers(t, func(c *Config) { c.IPv6 = netip.Addr{} })
	all := []Address{{IP: ip("10.0.0.1")}, {IP: ip("10.9.0.1")}, {IP: ip("10.0.0.1"), VLAN: 7}}
	a.SetAddresses(0, all)
	for _, c := range []struct {
		source string
		vlan   ib.VLAN
		want   Address
		err    error
	}{
		{"", ib.VLAN{}, all[0], nil},
		{"10.9.0.1", ib.VLAN{}, all[1], nil},
		{"", ib.VLAN{ID: 7, Tagged: true}, all[2], nil},
		{"10.0.0.1", ib.VLAN{ID: 7, Tagged: true}, all[2], nil},
		{"10.9.0.1", ib.VLAN{ID: 7, Tagged: true}, Address{}, ErrVLAN},
		{"10.9.0.2", ib.VLAN{}, Address{}, ErrFamily},
		{"fd00::1", ib.VLAN{}, Address{}, ErrFamily},
	} {
		var source netip.Addr
		if c.source != "" {
			source = ip(c.source)
		}
		ends, err := a.endpoints(b.cfg.IPv4, source, b.cfg.MAC, c.vlan)
		if !errors.Is(err, c.err) || ends.Source != c.want.IP || ends.VLAN.ID != c.want.VLAN {
			t.Errorf("%+v: %+v, %v", c, ends, err)
		}
	}
	b.conns[0].remote.IP = ip("10.9.0.1")
	b.rewrite(b.conns[0])
	b.write(t, 0, a, 10)
	a.give(0, b.send(0))
	if l := a.Ledger(); l.Dropped[frame.DropUnexpected].Frames != 1 {
		t.Errorf("%+v", l.Dropped)
	}
}
