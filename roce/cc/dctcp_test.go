package cc

import (
	"math"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// 40 Gb/s and 10 us: a window of 50,000 bytes, 50 frames of 1000.
func newDCTCP() *DCTCP {
	return newDCTCPParams("").New(Setup{Line: 40 * unit.GbPerSecond, MTU: 1000}).(*DCTCP)
}

func (d *DCTCP) want(t *testing.T, window, alpha float64) {
	t.Helper()
	if math.Abs(d.window-window) > 1e-6 || math.Abs(d.alpha-alpha) > 1e-12 {
		t.Errorf("window %v, alpha %v, want %v, %v", d.window, d.alpha, window, alpha)
	}
}

// RFC 8257 3.3 without a mark: 1 packet a window, and alpha goes down by g of itself.
func TestDCTCPIncrease(t *testing.T) {
	d := newDCTCP()
	d.Ack(0, Ack{Bytes: 1000, Packets: 1})
	d.want(t, 50_020, 1) // 1000 * 1000 / 50,000
	d.Ack(0, Ack{Bytes: 49_000, Packets: 49})
	d.want(t, 50_020+49e6/50_020, 15./16)
}

// A window of which a tenth was marked: 50,000 (1 - 1/2) at once, and only once; then alpha is
// 15/16 + 1/16 * 0.1 = 0.94375, and the next reduction takes 0.94375/2 of the window.
func TestDCTCPDecrease(t *testing.T) {
	d := newDCTCP()
	for range 5 {
		d.Ack(0, Ack{Bytes: 1000, Packets: 1, Marked: 1})
	}
	d.want(t, 25_000, 1)
	d.Ack(0, Ack{Bytes: 45_000, Packets: 45})
	d.want(t, 25_000, 0.94375)
	d.Ack(0, Ack{Bytes: 1000, Packets: 1, Marked: 1})
	d.want(t, 25_000*(1-0.94375/2), 0.94375)
}

// RFC 8257 3.5: losses as TCP takes them, at most once a window; never beneath one packet.
func TestDCTCPLoss(t *testing.T) {
	d := newDCTCP()
	d.Nack(0)
	d.Nack(0)
	d.want(t, 25_000, 1)
	d.Timeout(0)
	d.want(t, 1000, 1)
	if got := d.Limit(); got != (Limit{Rate: 40 * unit.GbPerSecond, Window: 1000}) {
		t.Errorf("%+v", got)
	}
}

// With a part p of all packets marked, evenly, alpha goes to p.
func TestDCTCPAlphaIsTheMarkedPart(t *testing.T) {
	d := newDCTCP()
	for i := range 200_000 {
		d.Ack(0, Ack{Bytes: 1000, Packets: 1, Marked: map[bool]int{true: 1}[i%4 == 0]})
	}
	if math.Abs(d.alpha-0.25) > 0.1 {
		t.Errorf("alpha %v, want about 1/4", d.alpha)
	}
}
