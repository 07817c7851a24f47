package cc

import (
	"math"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// start makes an algorithm at 10 Gb/s with frames of 1000 bytes.
func start(t *testing.T, name string) Algorithm {
	t.Helper()
	p, err := NewParams(name, "")
	if err != nil {
		t.Fatal(err)
	}
	return p.New(Setup{Line: 10 * unit.GbPerSecond, MTU: 1000})
}

func value(t *testing.T, a Algorithm, name string) float64 {
	t.Helper()
	for _, v := range a.State() {
		if v.Name == name {
			return v.Value
		}
	}
	t.Fatalf("no value %s in %v", name, a.State())
	return 0
}

func about(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// [TIMELY] algorithm 1, a line at a time. Delta 10 Mb/s, beta 0.8, T_low 50 us, T_high 500 us,
// minimum 20 us, weight 0.875. Each RTT is of a packet that left after the last was counted.
func TestTIMELY(t *testing.T) {
	a, now := start(t, "timely"), unit.Time(0)
	rtt := func(d time.Duration) {
		now = now.Add(d)
		a.Ack(now, Ack{Bytes: 1000, Packets: 1, RTT: d})
	}
	rate := func(want float64) {
		t.Helper()
		about(t, "rate", value(t, a, "current_rate_bps"), want)
	}
	rtt(100 * time.Microsecond)
	rate(10e9) // the first makes no difference yet
	// Difference 100 us, smoothed 87.5, gradient 4.375: 0.8 * 4.375 is more than everything.
	rtt(200 * time.Microsecond)
	rate(1e6)
	// Difference -150 us: 0.125*87.5 - 0.875*150 = -120.3125 us, negative: up by delta.
	rtt(60 * time.Microsecond) // -140: 10.9375 - 122.5 = -111.5625
	about(t, "gradient", value(t, a, "gradient"), -111.5625/20)
	rate(11e6)
	// The gradient stays below zero: the fifth in a row begins hyper increase, N = 5.
	for _, want := range []float64{21e6, 31e6, 41e6, 91e6, 141e6} {
		rtt(60 * time.Microsecond)
		rate(want)
	}
	rtt(40 * time.Microsecond) // below T_low: delta, and the row is broken
	rate(151e6)
	rtt(1000 * time.Microsecond) // above T_high: 1 - 0.8 (1 - 500/1000) = 0.6
	rate(90.6e6)
	a.Ack(now, Ack{Bytes: 1000, Packets: 1, RTT: time.Microsecond}) // left before that one came
	rate(100.6e6 - 10e6)
}

// [Swift] section 3. 10 Gb/s and 20 us make a window of 25 packets. Scaling: alpha = 100 us /
// (1/sqrt(0.1) - 1/sqrt(100)) = 100/3.062277660 = 32.65543 us, beta = -3.265543 us; at 25 packets
// 32.65543/5 - 3.265543 = 3.265543 us: a target of 23.265543 us.
func TestSwift(t *testing.T) {
	a := start(t, "swift")
	alpha := 100e-6 / (1/math.Sqrt(0.1) - 0.1)
	about(t, "cwnd", value(t, a, "congestion_window_packets"), 25)
	want := 20e-6 + alpha/5 - alpha/10 // to the nanosecond
	if got := value(t, a, "target_seconds"); math.Abs(got-want) > 1e-9 {
		t.Errorf("target %v, want %v", got, want)
	}
	a.Ack(1000*us, Ack{Bytes: 1000, Packets: 1, RTT: 20 * time.Microsecond})
	about(t, "cwnd below the target", value(t, a, "congestion_window_packets"), 25+1./25)
	// 100 us: 1 - 0.8 (100 - target)/100, which is below 1 - max_mdf = 1/2.
	a.Ack(1001*us, Ack{Bytes: 1000, Packets: 1, RTT: 100 * time.Microsecond})
	about(t, "cwnd above it", value(t, a, "congestion_window_packets"), (25+1./25)/2)
	a.Ack(1050*us, Ack{Bytes: 1000, Packets: 1, RTT: 100 * time.Microsecond})
	about(t, "once an RTT", value(t, a, "congestion_window_packets"), (25+1./25)/2)
	a.Ack(1101*us, Ack{Bytes: 1000, Packets: 1, RTT: 30 * time.Microsecond})
	cwnd := (25 + 1./25) / 2
	target := math.Floor((alpha/math.Sqrt(cwnd)-alpha/10)*1e9)/1e9 + 20e-6
	about(t, "a smaller decrease", value(t, a, "congestion_window_packets"),
		cwnd*(1-0.8*(30e-6-target)/30e-6))
}

// [Swift] 3.4: beneath one packet the flow is paced, a packet each RTT/cwnd, down to 1/100 of a
// packet: 1000 bytes in 100 RTTs of 1 ms are 80 kb/s.
func TestSwiftBeneathOnePacket(t *testing.T) {
	a := start(t, "swift")
	for i := range 100 {
		a.Ack(unit.Time(i+1)*1000*us, Ack{Bytes: 1000, Packets: 1, RTT: time.Millisecond})
	}
	if got := a.Limit(); got != (Limit{Rate: 80_000, Window: 1000}) {
		t.Errorf("%+v", got)
	}
}

// telemetry is what a hop of 10 Gb/s tells.
func telemetry(at unit.Time, sent uint64, queue unit.Bytes) []byte {
	var h wire.TelemetryHop
	h.Init()
	h.SetTime(at)
	h.SetSent(sent)
	h.SetQueueLen(queue)
	h.SetRate(10 * unit.GbPerSecond)
	return h[:]
}

// [HPCC] algorithm 1. T = 10 us, so a window of 12,500 bytes; W_AI = 12,500 * 0.05 / 100 = 6.25.
func TestHPCC(t *testing.T) {
	a := start(t, "hpcc")
	now, sent := unit.Time(0), uint64(0)
	ack := func(rate float64, queue unit.Bytes) {
		now += 10 * us
		sent += uint64(rate * 12_500) // of 10 us at 10 Gb/s
		a.Ack(now, Ack{Bytes: 1000, Packets: 1, RTT: 10 * time.Microsecond,
			Hops: telemetry(now, sent, queue)})
	}
	window := func(want float64) {
		t.Helper()
		about(t, "W", value(t, a, "congestion_window_bytes"), want)
	}
	ack(1, 12_500)
	window(12_500) // nothing to compare with yet
	// A link in full use with 12,500 bytes queued at both times: u = 1 + 1, tau = T, so U = 2 and W
	// = 12,500 / (2/0.95) + 6.25.
	ack(1, 12_500)
	about(t, "U", value(t, a, "utilisation"), 2)
	window(12_500*0.95/2 + 6.25)
	// The link at a half, no queue: additive increase, five times.
	w := 12_500*0.95/2 + 6.25
	for range 5 {
		ack(0.5, 0)
		w += 6.25
		window(w)
	}
	// Then what is free is taken at once: W_c / (0.5/0.95) + W_AI.
	ack(0.5, 0)
	window(w/(0.5/0.95) + 6.25)
}

// Feedback that brings no telemetry, or repeats what is known, changes nothing.
func TestHPCCWithoutNews(t *testing.T) {
	a := start(t, "hpcc")
	before := a.Limit()
	a.Ack(10*us, Ack{Bytes: 1000, Packets: 1, RTT: 10 * time.Microsecond})
	for range 3 {
		a.Ack(20*us, Ack{Bytes: 1000, Packets: 1, RTT: 10 * time.Microsecond,
			Hops: telemetry(10*us, 5000, 9000)})
	}
	if got := a.Limit(); got != before {
		t.Errorf("%+v, was %+v", got, before)
	}
}
