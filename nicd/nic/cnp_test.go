package nic

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// fan is one receiver and the QPs that other NICs have with it.
type fan struct {
	to    *peer
	pairs []pair
	pool  *frame.Pool
}

// pair is a QP of a sender, with the receiver's.
type pair struct {
	from *peer
	near Local // of the sender
	far  Local // of the receiver
}

// newFan connects senders to a receiver, each with so many QPs.
func newFan(t testing.TB, change func(*Config), qps ...int) *fan {
	t.Helper()
	f := &fan{pool: frame.NewPool(256, 1400)}
	f.to = newPeer(t, 1, f.pool, change)
	for i, n := range qps {
		from := newPeer(t, i+2, f.pool, nil)
		for range n {
			p := pair{from: from}
			var err error
			if p.near, err = from.CreateQP(from.QPConfig()); err != nil {
				t.Fatal(err)
			}
			if p.far, err = f.to.CreateQP(f.to.QPConfig()); err != nil {
				t.Fatal(err)
			}
			join(t, from, p.near, f.to, p.far)
			join(t, f.to, p.far, from, p.near)
			f.pairs = append(f.pairs, p)
		}
	}
	return f
}

func join(t testing.TB, p *peer, mine Local, o *peer, its Local) {
	t.Helper()
	if err := p.Connect(mine.QPN, Remote{QPN: its.QPN, PSN: its.PSN, IP: o.cfg.IPv4,
		MAC: o.cfg.MAC}); err != nil {
		t.Fatal(err)
	}
}

// marked gives the receiver a marked packet of pair i.
func (f *fan) marked(t testing.TB, now unit.Time, i int) {
	t.Helper()
	p := &f.pairs[i]
	p.from.Wake(now) // the pacer's timers
	if err := p.from.Post(now, p.near.QPN, p.from.request(f.to, 64)); err != nil {
		t.Fatal(err)
	}
	data := p.from.send(now)
	if data == nil {
		t.Fatalf("at %v: pair %d has nothing to send", now, i)
	}
	markCE(data)
	f.to.give(now, data)
}

// cnps collects the CNPs that the receiver sends up to a time, as "time:pair". Its acknowledgements
// reach their senders at once.
func (f *fan) cnps(t testing.TB, now, until unit.Time) string {
	t.Helper()
	var out []string
	for now <= until {
		for o := f.to.send(now); o != nil; o = f.to.send(now) {
			p := open(t, o)
			for i := range f.pairs {
				one := &f.pairs[i]
				if one.near.QPN != p.BTH.DestQP() || one.from.cfg.IPv4 != destOf(o) {
					continue
				}
				if p.BTH.Opcode() == ib.CongestionNotify {
					out = append(out, fmt.Sprintf("%v:%d", time.Duration(now), i))
					o.Release()
				} else {
					one.from.give(now, o)
				}
				break
			}
		}
		if now = max(now, f.to.NextWake()); now <= until {
			f.to.Wake(now)
			f.to.kick()
		}
	}
	return strings.Join(out, " ")
}

func destOf(f *frame.Frame) netip.Addr { return netip.AddrFrom4([4]byte(f.Bytes()[30:34])) }

// QPs 0 and 1 are of one host, 2 of another. All are marked at 0, and QP 0 again after 10 us and
// after 60 us. By figure 6 of [DCQCN] the mark of 10 us is remembered and has its CNP at 50 us; the
// wider scopes forget it.
func TestCNPScope(t *testing.T) {
	for scope, want := range map[CNPScope]string{
		ScopeQP:   "0s:0 0s:1 0s:2 50µs:0 100µs:0",
		ScopeIP:   "0s:0 0s:2 60µs:0",
		ScopePort: "0s:0 60µs:0",
	} {
		f := newFan(t, func(c *Config) { c.CNP.Scope = scope }, 2, 1)
		var got []string
		for i := range f.pairs {
			f.marked(t, 0, i)
		}
		got = append(got, f.cnps(t, 0, 0))
		f.marked(t, 10*us, 0)
		if s := f.cnps(t, 10*us, 59*us); s != "" {
			got = append(got, s)
		}
		f.marked(t, 60*us, 0)
		got = append(got, f.cnps(t, 60*us, 200*us))
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%v: CNPs %s, want %s", scope, s, want)
		}
		if n := f.to.snapshot(0).Counters; n.NPECNMarkedRoCEPackets != 5 ||
			n.NPCNPSent != uint64(len(strings.Fields(want))) {
			t.Errorf("%v: %+v", scope, n)
		}
	}
}

// A CNP leaves a delay after its mark, not earlier and not later.
func TestCNPDelay(t *testing.T) {
	f := newFan(t, func(c *Config) { c.CNP.Delay = 3 * time.Microsecond }, 2)
	f.marked(t, 0, 0)
	f.marked(t, us, 1)
	if got, want := f.cnps(t, us, 200*us), "3µs:0 4µs:1"; got != want {
		t.Errorf("CNPs %s, want %s", got, want)
	}
}

// Hardware makes one CNP per spacing, whatever is owed.
func TestCNPSpacing(t *testing.T) {
	f := newFan(t, func(c *Config) { c.CNP.Spacing = 5 * time.Microsecond }, 3)
	for i := range f.pairs {
		f.marked(t, 0, i)
	}
	got := f.cnps(t, 0, 20*us)
	f.marked(t, 60*us, 1)
	got += " " + f.cnps(t, 60*us, 200*us)
	if want := "0s:0 5µs:1 10µs:2 60µs:1"; got != want {
		t.Errorf("CNPs %s, want %s", got, want)
	}
}

// Some NICs send a CNP with the NAK of a gap, within the same interval.
func TestCNPOnNAK(t *testing.T) {
	for _, on := range []bool{false, true} {
		a, b, _ := newPeers(t, func(c *Config) { c.CNP.OnNAK = on })
		lost := a.burst(t, b, 3)
		b.give(0, lost[0])
		b.give(0, lost[2])
		var opcodes []ib.Opcode
		for f := b.send(0); f != nil; f = b.send(0) {
			p := open(t, f)
			opcodes = append(opcodes, p.BTH.Opcode())
		}
		want := "[ACKNOWLEDGE]"
		if on {
			want = "[ACKNOWLEDGE CNP]"
		}
		if got := fmt.Sprint(opcodes); got != want {
			t.Errorf("%v: sent %s, want %s", on, got, want)
		}
	}
}

// A QP that is destroyed takes its CNP with it.
func TestCNPOfDestroyedQP(t *testing.T) {
	f := newFan(t, func(c *Config) { c.CNP.Delay = 3 * time.Microsecond }, 2)
	f.marked(t, 0, 0)
	f.marked(t, 0, 1)
	if err := f.to.DestroyQP(f.pairs[0].far.QPN); err != nil {
		t.Fatal(err)
	}
	if got := f.cnps(t, 0, 100*us); got != "3µs:1" {
		t.Errorf("CNPs %s", got)
	}
}

// Addresses whose interval is over are forgotten, so that what is kept has a bound.
func TestCNPAddressesAreBounded(t *testing.T) {
	m := newNotifier(CNPConfig{Scope: ScopeIP, Interval: time.Microsecond}, 4)
	ip := netip.MustParseAddr("10.0.0.1")
	for i := range 1000 {
		if now := unit.Time(i) * us; !m.allows(now, ip) || m.allows(now+1, ip) {
			t.Fatalf("address %v at %v", ip, now)
		}
		if ip = ip.Next(); len(m.ips) > 4 {
			t.Fatalf("%d addresses are kept", len(m.ips))
		}
	}
}

// What is on the wire, byte by byte: the CNP has the UDP source port of its QP's data, the next IP
// ID of the NIC, DSCP 48 without ECT, and the format of the RoCEv2 annex: A17.9.3.
func TestCNPBytes(t *testing.T) {
	f := newFan(t, nil, 3)
	ports := map[uint16]bool{}
	id := uint16(0)
	for i, p := range f.pairs {
		f.marked(t, 0, i)
		o := f.to.send(0)
		b := o.Bytes()
		if got := b[15]; got != 48<<2 {
			t.Errorf("TOS %#x", got)
		}
		if got := uint16(b[18])<<8 | uint16(b[19]); i > 0 && got != id+1 {
			t.Errorf("IP ID %d behind %d", got, id)
		} else {
			id = got
		}
		port := uint16(b[34])<<8 | uint16(b[35])
		if want := ib.SourcePort(p.near.QPN, p.far.QPN); port != want {
			t.Errorf("source port %d, want %d as the data has", port, want)
		}
		ports[port] = true
		qpn := byte(p.near.QPN)
		want := append([]byte{0x81, 0, 0xff, 0xff, 0x40, 0, 0, qpn, 0, 0, 0, 0},
			make([]byte, 16)...)
		if got := b[42 : 42+28]; string(got) != string(want) || len(b) != 42+28+4 {
			t.Errorf("BTH and what follows\n% x, want\n% x", got, want)
		}
		open(t, o) // the ICRC is right
		for ack := f.to.send(0); ack != nil; ack = f.to.send(0) {
			id++ // the acknowledgement of the marked packet
			ack.Release()
		}
	}
	if len(ports) != len(f.pairs) {
		t.Errorf("%d QPs have %d source ports", len(f.pairs), len(ports))
	}
}

// Each fault of the configuration is told with its key.
func TestCNPFaults(t *testing.T) {
	plus, err := cc.NewParams("dcqcn_plus", "")
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]CNPConfig{
		"cnp_scope: 9 is unknown":    {Scope: 9},
		"cnp_scope: port, but":       {Scope: ScopePort},
		"cnp_interval: -1ns is":      {Interval: -1},
		"cnp_interval: 2s is above":  {Interval: 2 * time.Second},
		"cnp_delay: 5µs is longer":   {Interval: 4000, Delay: 5000},
		"cnp_spacing: -1ns is not":   {Spacing: -1},
		"cnp_delay: -1ns is not in ": {Delay: -1},
	} {
		cfg := testConfig(1)
		cfg.CC, cfg.CNP = plus, c
		faults := cfg.Validate()
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Error(), want) {
			t.Errorf("%v, want %q", faults, want)
		}
	}
}
