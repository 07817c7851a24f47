package nic

import (
	"encoding/binary"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cc"
)

func listensToCNM(c *Config) {
	params, err := cc.NewParams("qcn", "")
	if err != nil {
		panic(err)
	}
	c.CC = params
}

// cnmFrame is the message of a congestion point about a sampled frame, with n bytes of it.
func cnmFrame(pool *frame.Pool, sample *frame.Frame, feedback uint8, n int) *frame.Frame {
	f := pool.Get()
	f.Resize(14 + wire.CNMLen + n)
	b := f.Bytes()
	clear(b)
	copy(b[:6], sample.Bytes()[6:12])
	binary.BigEndian.PutUint16(b[12:], uint16(wire.TypeCNM))
	m := (*wire.CNM)(b[14:])
	m.SetFeedback(feedback)
	m.SetMSDULen(n)
	copy(b[14+wire.CNMLen:], sample.Bytes()[12:12+n])
	return f
}

// [QCN] eq 2: the message slows the queue pair down whose frame was sampled, over IPv4 and IPv6:
// 40 Gb/s (1 - 32/128).
func TestCNM(t *testing.T) {
	for _, c := range []struct {
		v6   bool
		msdu int
	}{{false, 42}, {true, 62}} {
		pool := frame.NewPool(64, 1400)
		a, b := newPeer(t, 1, pool, listensToCNM), newPeer(t, 2, pool, listensToCNM)
		a.connect(t, b, c.v6)
		b.connect(t, a, c.v6)
		a.write(t, 0, b, 4096)
		f := a.send(0)
		a.give(us, cnmFrame(pool, f, 32, c.msdu))
		s := a.snapshot(us)
		if s.QPs[0].Rate != 30*unit.GbPerSecond || s.Counters.RPCNMHandled != 1 {
			t.Errorf("IPv6 %v: rate %v, %+v", c.v6, s.QPs[0].Rate, s.Counters)
		}
		f.Release()
		a.balanced(t)
		if pool.InUse() != 0 {
			t.Error("leak")
		}
	}
}

// A message about an acknowledgement, or for an algorithm that does not listen, is ignored.
func TestCNMIgnored(t *testing.T) {
	a, b, pool := newPeers(t, listensToCNM)
	a.write(t, 0, b, 100)
	b.give(0, a.send(0))
	ack := b.send(0)
	b.give(us, cnmFrame(pool, ack, 63, 42))
	if s := b.snapshot(us); s.QPs[0].Rate != 40*unit.GbPerSecond || s.Counters.RPCNMIgnored != 1 {
		t.Errorf("about an ACK: rate %v, %+v", s.QPs[0].Rate, s.Counters)
	}
	a, b, pool = newPeers(t, nil) // DCQCN
	a.write(t, 0, b, 100)
	a.give(us, cnmFrame(pool, a.send(0), 63, 42))
	if s := a.snapshot(us); s.QPs[0].Rate != 40*unit.GbPerSecond || s.Counters.RPCNMIgnored != 1 {
		t.Errorf("DCQCN: rate %v, %+v", s.QPs[0].Rate, s.Counters)
	}
}

// Messages that name no queue pair of ours are dropped by a name.
func TestCNMDropped(t *testing.T) {
	for _, c := range []struct {
		name   string
		why    frame.Reason
		change func(a *peer, b []byte)
	}{
		{"cut off", frame.DropUnexpected, func(_ *peer, b []byte) {
			(*wire.CNM)(b[14:]).SetMSDULen(41)
		}},
		{"not ours", frame.DropNotForUs, func(_ *peer, b []byte) { b[5]++ }},
		{"version 1", frame.DropUnexpected, func(_ *peer, b []byte) { b[14] = 0x10 }},
		{"longer than it is", frame.DropMalformed, func(_ *peer, b []byte) {
			(*wire.CNM)(b[14:]).SetMSDULen(60)
		}},
		{"of another host", frame.DropUnexpected, func(_ *peer, b []byte) { b[38+2+15]++ }},
		{"of no QP", frame.DropUnknownQP, func(_ *peer, b []byte) { b[38+2+20+8+7]++ }},
		{"of a QP that has ended", frame.DropUnknownQP, func(a *peer, _ []byte) {
			_ = a.DestroyQP(a.local.QPN)
		}},
	} {
		a, b, pool := newPeers(t, listensToCNM)
		a.write(t, 0, b, 100)
		f := a.send(0)
		m := cnmFrame(pool, f, 63, 42)
		f.Release()
		c.change(a, m.Bytes())
		a.give(us, m)
		l := a.Ledger()
		if l.Dropped[c.why].Frames != 1 || a.counters.RPCNMHandled != 0 || pool.InUse() != 0 {
			t.Errorf("%s: %+v", c.name, l.Dropped)
		}
		a.balanced(t)
	}
}
