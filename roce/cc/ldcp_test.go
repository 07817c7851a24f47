package cc

import (
	"math"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// A walk through [LDCP]. Line 40 Gb/s, frames of 1000 bytes, a base RTT of 10 us: IW is the
// bandwidth-delay product, 40e9 / 8 * 10e-6 = 50,000 bytes, 50 packets.
func newLDCP(t *testing.T, change func(*LDCPParams)) *LDCP {
	t.Helper()
	p := newLDCPParams("draft").(*LDCPParams)
	if change != nil {
		change(p)
	}
	if faults := p.Validate(40 * unit.GbPerSecond); len(faults) != 0 {
		t.Fatal(faults)
	}
	return p.New(Setup{Line: 40 * unit.GbPerSecond, MTU: 1000}).(*LDCP)
}

// stableLDCP is one in the stable stage with a window of cw packets.
func stableLDCP(t *testing.T, cw float64, change func(*LDCPParams)) *LDCP {
	l := newLDCP(t, change)
	l.settle(cw)
	return l
}

func wantWindow(t *testing.T, l *LDCP, cw float64) {
	t.Helper()
	if math.Abs(l.cw-cw) > 1e-9 {
		t.Errorf("cw %v, want %v", l.cw, cw)
	}
}

// 2.3: "the sender chooses a large enough Initial Window (e.g., BDP) and sends out as many packets
// as possible in the first RTT", not ECN-capable.
func TestLDCPFastStart(t *testing.T) {
	l := newLDCP(t, nil)
	if got := l.Limit(); got != (Limit{Rate: 40 * unit.GbPerSecond, Window: 50_000,
		Plain: 50_000}) {
		t.Fatalf("%+v", got)
	}
	for range 50 {
		l.Sent(0, 1000)
	}
	// 3.1: "After the end of the first RTT, the flow will not stop sending ... but set the packets
	// to ECN-capable ever since."
	l.Ack(10*us, Ack{Bytes: 1000, Packets: 1})
	if got := l.Limit(); got.Plain != 0 || got.Window != 50_000 || !l.fast {
		t.Errorf("%+v, fast start %v", got, l.fast)
	}
	// Also if it had not used up the window by then, because it had nothing to send.
	idle := newLDCP(t, nil)
	idle.Sent(0, 1000)
	if got := idle.Limit().Plain; got != 49_000 {
		t.Errorf("%v may still go without ECN", got)
	}
	if idle.Ack(10*us, Ack{Bytes: 1000, Packets: 1}); idle.Limit().Plain != 0 {
		t.Errorf("%v may still go without ECN after the first RTT", idle.Limit().Plain)
	}
	// Transition 2: "When a full IW of packets have all been acknowledged ... cw is set to BDP."
	l.Ack(20*us, Ack{Bytes: 49_000, Packets: 49})
	if l.fast {
		t.Error("still in fast start")
	}
	wantWindow(t, l, 50)
}

// 3.1, transition 1: "cw in stable stage is set to the number of packets that are accumulatively
// acknowledged before packet loss."
func TestLDCPFastStartLoss(t *testing.T) {
	l := newLDCP(t, nil)
	l.Sent(0, 50_000)
	l.Ack(10*us, Ack{Bytes: 7000, Packets: 7})
	l.Nack(11 * us)
	wantWindow(t, l, 7)
	if got := l.Limit(); got.Window != 7000 || got.Plain != 0 {
		t.Errorf("%+v", got)
	}
	l = newLDCP(t, nil)
	l.Timeout(100 * us) // nothing came back
	wantWindow(t, l, 1.0/8)
}

// 2.2 eq 1: alpha = 1 and beta = 1/2 at cw = 10: 10 + 1/10; then - 1/2.
func TestLDCPEquation1(t *testing.T) {
	l := stableLDCP(t, 10, nil)
	l.Ack(0, Ack{Bytes: 1000, Packets: 1})
	wantWindow(t, l, 10.1)
	l.Ack(0, Ack{Bytes: 1000, Packets: 1, Marked: 1})
	wantWindow(t, l, 9.6)
}

// 2.2 eq 2, for an acknowledgement of n = 4 packets: 10 + 4/10; then - 4/2.
func TestLDCPEquation2(t *testing.T) {
	l := stableLDCP(t, 10, nil)
	l.Ack(0, Ack{Bytes: 4000, Packets: 4})
	wantWindow(t, l, 10.4)
	l.Ack(0, Ack{Bytes: 4000, Packets: 4, Marked: 4})
	wantWindow(t, l, 8.4)
}

// 2.2: "where cw < 1": cw + gamma without a mark, max{gamma, eta cw} with one. gamma = 1/8.
func TestLDCPBeneathOnePacket(t *testing.T) {
	l := stableLDCP(t, 1, nil)
	ack, marked := Ack{Bytes: 1000, Packets: 1}, Ack{Bytes: 1000, Packets: 1, Marked: 1}
	for _, want := range []float64{1. / 2, 1. / 4, 1. / 8, 1. / 8} {
		l.Ack(0, marked)
		wantWindow(t, l, want)
	}
	for _, want := range []float64{2. / 8, 3. / 8, 4. / 8, 5. / 8, 6. / 8, 7. / 8, 1, 2} {
		l.Ack(0, ack)
		wantWindow(t, l, want)
	}
}

// 2.2: "A flow with a cw < 1 is ticked out by a timer, whose timeout is set as RTT/cw": at cw = 1/4
// and an RTT of 20 us a packet of 1000 bytes each 80 us, which is 100 Mb/s, and one in flight.
func TestLDCPTimer(t *testing.T) {
	l := stableLDCP(t, 1, nil)
	marked := Ack{Bytes: 1000, Packets: 1, Marked: 1, RTT: 20 * time.Microsecond}
	l.Ack(0, marked)
	l.Ack(0, marked)
	if got := l.Limit(); got != (Limit{Rate: 100 * unit.MbPerSecond, Window: 1000}) {
		t.Errorf("%+v", got)
	}
}

// The RTT of the timer is smoothed as RFC 6298 has it: the first sample is taken as it is, each
// other moves it by an eighth. 20 us, then 100 us: 30 us, in which 1/4 of 1000 bytes are 66.7 Mb/s.
func TestLDCPTimerIsSmoothed(t *testing.T) {
	l := stableLDCP(t, 1, nil)
	for _, rtt := range []time.Duration{20 * time.Microsecond, 100 * time.Microsecond} {
		l.Ack(0, Ack{Bytes: 1000, Packets: 1, Marked: 1, RTT: rtt})
	}
	if got := l.Limit().Rate; got != 66_666_667 {
		t.Errorf("%v", got)
	}
}

// Equation 1 holds the window where what a round adds and takes is the same: (1-p) alpha = p beta
// cw. A mark on every tenth packet: cw = 0.9 / (0.1 * 0.5) = 18, whatever it started from, and
// whether each packet is acknowledged or four at a time with marked ones at once.
func TestLDCPSteadyState(t *testing.T) {
	for _, start := range []float64{1, 40} {
		for _, delayed := range []int{1, 4} {
			l := stableLDCP(t, start, nil)
			mean, n := 0.0, 0.0
			for i := 1; i <= 4000; i += delayed {
				if (i/delayed)%10 == 0 {
					l.Ack(0, Ack{Bytes: 1000, Packets: delayed, Marked: delayed})
				} else {
					l.Ack(0, Ack{Bytes: 1000, Packets: delayed})
				}
				if i > 2000 {
					mean, n = mean+l.cw, n+1
				}
			}
			if got := mean / n; math.Abs(got-18) > 1 {
				t.Errorf("from %v, %d at a time: cw %v, want 18", start, delayed, got)
			}
		}
	}
}

// What nothing holds back stops growing at max_window, and a loss in the stable stage halves.
func TestLDCPBounds(t *testing.T) {
	l := stableLDCP(t, 50, nil)
	for range 10_000 {
		l.Ack(0, Ack{Bytes: 1000, Packets: 1})
	}
	wantWindow(t, l, 100)
	l.Nack(0)
	wantWindow(t, l, 50)
}

// 3.2: the window grows by alpha on each RTT response and shrinks by beta on every CNP; "divided
// by RTT, the window is converted to rate". 50 packets of 8000 bits in 10 us are the line's
// 40 Gb/s; 49 in 12.5 us 31.36; 50 in 12.5 us 32 Gb/s.
func TestLDCPProbe(t *testing.T) {
	p := newLDCPProbeParams("draft").(*LDCPProbeParams)
	p.Beta = 1
	l := p.New(Setup{Line: 40 * unit.GbPerSecond, MTU: 1000})
	want := func(rate unit.Rate) {
		t.Helper()
		if got := l.Limit(); got.Rate != rate || !got.Probe || got.Window != 0 {
			t.Errorf("%+v, want %v", got, rate)
		}
	}
	want(40 * unit.GbPerSecond)
	l.CNP(0, CNP{})
	l.CNP(0, CNP{})
	want(38_400 * unit.MbPerSecond)
	l.RTT(0, 12500*time.Nanosecond)
	want(31_360 * unit.MbPerSecond)
	l.RTT(0, 12500*time.Nanosecond)
	want(32_000 * unit.MbPerSecond)
	for range 100 {
		l.CNP(0, CNP{})
	}
	want(80 * unit.MbPerSecond) // 1/8 of a packet in 12.5 us
}

// 3.2 divides by the RTT that the response tells of, whatever those before it told of.
func TestLDCPProbeTakesTheLatestRTT(t *testing.T) {
	l := newLDCPProbeParams("draft").New(Setup{Line: 40 * unit.GbPerSecond, MTU: 1000})
	for range 20 {
		l.CNP(0, CNP{}) // 50 packets, less 20 times 1/2
	}
	l.RTT(0, 100*time.Microsecond)
	l.RTT(0, 20*time.Microsecond)
	// 40 packets, and 1 for each response: 42 of 8000 bits in 20 us.
	if got := l.Limit().Rate; got != 16_800*unit.MbPerSecond {
		t.Errorf("%v", got)
	}
}
