package app

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/qp"
)

// probing is a host with a pingmesh of so many peers, which do not exist.
func probing(t testing.TB, peers int, interval time.Duration) (*Host, *frame.Pool) {
	t.Helper()
	c := nic.DefaultConfig()
	c.MAC, c.Rate, c.Seed = wire.MAC{2, 0, 0, 0, 0, 1}, 40*unit.GbPerSecond, 1
	c.IPv4 = netip.MustParseAddr("10.0.0.1")
	pool := frame.NewPool(64, 1400)
	n, err := nic.New(c, pool)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHost(n)
	m := Pingmesh{Interval: interval, Timeout: interval / 2}
	ip := c.IPv4
	for range peers {
		ip = ip.Next()
		m.Peers = append(m.Peers, ProbedPeer{ip.String(), nic.Path{IP: ip, MAC: c.MAC}})
	}
	if err := h.Probe(0, m); err != nil {
		t.Fatal(err)
	}
	return h, pool
}

// advance lets time pass and returns the frames that leave.
func advance(h *Host, now, until unit.Time) (out []*frame.Frame, at []unit.Time) {
	for ; now <= until; now = max(now, h.NextWake()) {
		if h.NextWake() <= now {
			h.Wake(now)
		}
		for h.Ready().Has(nic.Port) {
			f := h.Transmit(now, nic.Port)
			if f == nil {
				h.Ready().Remove(nic.Port)
				break
			}
			out, at = append(out, f), append(at, now)
		}
	}
	return out, at
}

// Each peer is probed once an interval, the probes are spread over it, carry 512 bytes, and those
// without an answer end as timeouts when their time is over.
func TestProbesAreSpread(t *testing.T) {
	const interval = 100 * time.Microsecond
	h, _ := probing(t, 4, interval)
	frames, at := advance(h, 0, unit.Time(3*interval-1))
	if len(frames) != 8 {
		t.Fatalf("%d probes of 4 peers in two intervals", len(frames))
	}
	for i, f := range frames {
		if want := unit.Time(interval) + unit.Time(i)*unit.Time(interval)/4; at[i] != want {
			t.Errorf("probe %d leaves at %v, want %v", i, at[i], want)
		}
		if f.Len() != 14+20+8+12+8+ProbeLen+4 || f.Bytes()[33] != byte(2+i%4) {
			t.Errorf("probe %d: %d bytes to %d", i, f.Len(), f.Bytes()[33])
		}
		f.Release()
	}
	var ended uint64
	h.Probes(func(p *ProbeStats) {
		ended += p.Ended[ProbeTimeout]
		if p.Ended[ProbeOK] != 0 || p.Last != ProbeTimeout {
			t.Errorf("%+v", p.Ended)
		}
	})
	if ended != 6 { // those of the last half interval still wait
		t.Errorf("%d timeouts, want 6", ended)
	}
}

// A mesh that cannot be is refused, also one that is not the first to make a QP.
func TestProbeRefuses(t *testing.T) {
	h, _ := probing(t, 1, time.Millisecond)
	peer := []ProbedPeer{{"p", nic.Path{IP: netip.MustParseAddr("10.0.0.9")}}}
	for _, m := range []Pingmesh{{}, {Interval: 1, Timeout: 1},
		{Interval: 1, Timeout: 2, Peers: peer},
		{Interval: 1, Timeout: 1, Peers: make([]ProbedPeer, MaxProbed+1)},
		{Interval: 1, Timeout: 1, Peers: peer}} {
		if err := h.Probe(0, m); !errors.Is(err, ErrPingmesh) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// FuzzProbe: whatever a datagram to the pingmesh says, nothing but a probe of a peer is answered,
// and the receive that it took is posted again.
func FuzzProbe(f *testing.F) {
	probe := make([]byte, receiveSlot)
	copy(probe[32:], []byte{10, 0, 0, 2})
	copy(probe[qp.GRHLen:], []byte{0x72, 0x6c, 0x70, 0x6d, 0, 0, 0, 1})
	f.Add(probe)
	stranger := append([]byte(nil), probe...)
	stranger[35] = 77
	f.Add(stranger)
	answer := append([]byte(nil), probe...)
	answer[qp.GRHLen+7] = 2
	f.Add(answer)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, pool := probing(t, 1, time.Millisecond)
		b = b[:min(len(b), receiveSlot)]
		m := h.mesh
		copy(m.mr.Bytes, b)
		m.Completed(0, &qp.Completion{Op: qp.Receive, Status: qp.Success, Bytes: len(b)})
		frames, _ := advance(h, 0, 0)
		expected := len(b) == receiveSlot && string(b[32:36]) == "\x0a\x00\x00\x02" &&
			b[0]>>4 != 6 && string(b[qp.GRHLen:][:8]) == "rlpm\x00\x00\x00\x01"
		if expected != (len(frames) == 1) || len(frames) > 1 {
			t.Errorf("% x: %d answers", b, len(frames))
		}
		for _, f := range frames {
			f.Release()
		}
		if pool.InUse() != 0 {
			t.Errorf("%d frames are in use", pool.InUse())
		}
		h.Probes(func(p *ProbeStats) {
			if p.Ended[ProbeOK] != 0 {
				t.Error("an answer to a probe that was never sent counts")
			}
		})
	})
}
