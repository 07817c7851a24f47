package nic

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/qp"
)

// sendsAt wakes the NIC until it has a frame, which must be at that time and not before.
func (p *peer) sendsAt(t *testing.T, now, want unit.Time) *frame.Frame {
	t.Helper()
	for {
		if f := p.send(now); f != nil {
			if now != want {
				t.Fatalf("sends at %v, want %v", now, want)
			}
			return f
		}
		if now = p.NextWake(); now > want {
			t.Fatalf("sleeps until %v, want a frame at %v", now, want)
		}
		p.Wake(now)
	}
}

// What the transport holds back goes out in time although nothing arrives: an ACK that is to stand
// for several, the NAK of a gap, and the repeats that follow it.
func TestHeldBackGoesOutInTime(t *testing.T) {
	a, b, _ := newPeers(t, func(c *Config) {
		c.QP.AckCoalesce = qp.AckCoalesce{Packets: 8, Delay: 10 * time.Microsecond}
		c.QP.NAKDelay, c.QP.RetransmitDelay = 20*time.Microsecond, 30*time.Microsecond
	})
	a.write(t, 0, b, 9)
	b.give(5*us, a.sendsAt(t, 0, 0))
	a.give(16*us, b.sendsAt(t, 5*us, 15*us))
	cs := make([]qp.Completion, 4)
	if n := a.PollCQ(a.local.QPN, cs); n != 1 || cs[0].Status != qp.Success || cs[0].At != 16*us {
		t.Fatalf("%d completions, %+v", n, cs[0])
	}
	now := 20 * us
	a.write(t, now, b, 9)
	a.write(t, now, b, 9)
	a.sendsAt(t, now, now).Release() // lost
	for f := a.send(now); ; f = a.send(now) {
		if f != nil {
			b.give(now, f)
			break
		}
		now = a.NextWake() // paced
		a.Wake(now)
	}
	a.give(now+25*us, b.sendsAt(t, now, now+20*us))
	b.give(now+60*us, a.sendsAt(t, now+25*us, now+55*us))
	if q := a.QP(a.local.QPN); q.Stats.PacketsRetransmitted != 1 {
		t.Errorf("%d packets repeated", q.Stats.PacketsRetransmitted)
	}
}

// Two queue pairs of one NIC have path MTUs of their own, as each agreed with its peer.
func TestPathMTUOfEachQP(t *testing.T) {
	pool := frame.NewPool(64, 4400)
	wide := func(c *Config) { c.QP.MTU = 4096 }
	a, b := newPeer(t, 1, pool, wide), newPeer(t, 2, pool, wide)
	for i, mtu := range []int{256, 4096} {
		if i > 0 {
			var err error
			for _, p := range []*peer{a, b} {
				if p.local, err = p.CreateQP(p.QPConfig()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, c := range []struct{ p, o *peer }{{a, b}, {b, a}} {
			cfg := c.p.QPConfig()
			in, out := cfg.ReceiveAttributes(), cfg.SendAttributes()
			in.MTU, out.PSN = mtu, c.p.local.PSN
			r := Remote{QPN: c.o.local.QPN, PSN: c.o.local.PSN, IP: c.o.cfg.IPv4, MAC: c.o.cfg.MAC}
			if err := c.p.ReadyToReceive(c.p.local.QPN, r, in); err != nil {
				t.Fatal(err)
			}
			if err := c.p.ReadyToSend(c.p.local.QPN, out); err != nil {
				t.Fatal(err)
			}
		}
		a.write(t, 0, b, mtu) // one packet
		f := a.sendsAt(t, 0, 0)
		// Headers of a WRITE over IPv4 with an RETH, and the ICRC.
		if want := unit.Bytes(mtu + 14 + 20 + 8 + 12 + 16 + 4); f.Len() != want {
			t.Errorf("path MTU %d: a frame of %d bytes, want %d", mtu, f.Len(), want)
		}
		b.give(0, f)
		if q := b.QP(b.local.QPN); q.Stats.BytesReceived != uint64(mtu) {
			t.Errorf("path MTU %d: %d bytes placed", mtu, q.Stats.BytesReceived)
		}
	}
}
