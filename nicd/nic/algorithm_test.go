package nic

import (
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// runs checks which algorithm a QP has, by the first value that it shows.
func (p *peer) runs(t *testing.T, qpn ib.QPN, want string) {
	t.Helper()
	v, ok := p.View(qpn)
	if got := v.CC[0].Name; !ok || got != want {
		t.Errorf("QP %v shows %q, want %q", qpn, got, want)
	}
}

// The first value of each algorithm that these tests use.
const (
	ofDCQCN = "alpha"
	ofDCTCP = "congestion_window_bytes"
	ofLDCP  = "congestion_window_packets"
	ofQCN   = "current_rate_bps"
)

// A QP has its own algorithm, else that of the class of its data, else the NIC's; the class is that
// of the codepoint it was made with, or of the one that comes with its peer.
func TestAlgorithmOfClass(t *testing.T) {
	pool := frame.NewPool(64, 1400)
	classes := func(c *Config) { c.ClassCC[4] = algorithm(t, "dctcp") }
	a, b := newPeer(t, 1, pool, classes), newPeer(t, 2, pool, classes)
	four := uint8(4) // DSCP 4 is class 4
	make := func(s Service) ib.QPN {
		t.Helper()
		l, err := a.CreateRC(a.QPConfig(), s)
		if err != nil {
			t.Fatal(err)
		}
		return l.QPN
	}
	a.runs(t, a.local.QPN, ofDCQCN)
	a.runs(t, make(Service{DSCP: &four}), ofDCTCP)
	a.runs(t, make(Service{DSCP: &four, CC: algorithm(t, "qcn")}), ofQCN)
	r := Remote{QPN: b.local.QPN, PSN: b.local.PSN, IP: b.cfg.IPv4, MAC: b.cfg.MAC, DSCP: &four}
	if err := a.Connect(a.local.QPN, r); !errors.Is(err, ErrNoFeedback) {
		t.Errorf("DCTCP with a peer that gives no feedback: %v", err)
	}
	r.Feedback = true
	if err := a.Connect(a.local.QPN, r); err != nil {
		t.Fatal(err)
	}
	a.runs(t, a.local.QPN, ofDCTCP)
}

// Congestion control changes while a QP sends: the new reaction point is as New makes it, the wider
// choice leaves the narrower alone, and without a choice of its own a QP has the wider one's.
func TestSetCC(t *testing.T) {
	a, b, _ := newFed(t, algorithm(t, "dcqcn"))
	other, err := a.CreateQP(a.QPConfig())
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, 0, b, 64<<10)
	a.send(0).Release()
	c := a.conns[0]
	c.cc.CNP(us, cc.CNP{})
	a.limit(us, c)
	if v, _ := a.View(a.local.QPN); v.Rate != 20*unit.GbPerSecond {
		t.Fatalf("rate %v", v.Rate)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.SetQPCC(2*us, a.local.QPN, algorithm(t, "ldcp")))
	a.runs(t, a.local.QPN, ofLDCP)
	a.runs(t, other.QPN, ofDCQCN)
	v, _ := a.View(a.local.QPN)
	if v.Rate != 40*unit.GbPerSecond || v.Window != 50_000 { // 40 Gb/s in 10 us
		t.Errorf("the new reaction point allows %v and %v", v.Rate, v.Window)
	}
	must(a.SetCC(3*us, algorithm(t, "qcn")))
	a.runs(t, a.local.QPN, ofLDCP)
	a.runs(t, other.QPN, ofQCN)
	must(a.SetClassCC(4*us, 3, algorithm(t, "dctcp")))
	a.runs(t, a.local.QPN, ofLDCP)
	a.runs(t, other.QPN, ofDCTCP)
	must(a.SetQPCC(5*us, a.local.QPN, nil))
	a.runs(t, a.local.QPN, ofDCTCP)
	must(a.SetClassCC(6*us, 3, nil))
	a.runs(t, a.local.QPN, ofQCN)
}

// What a peer has not agreed to give cannot be asked of it later, and then nothing changes; nor
// can what New would refuse.
func TestSetCCRefuses(t *testing.T) {
	a, _, _ := newPeers(t, nil)
	if err := a.SetCC(0, algorithm(t, "ldcp")); !errors.Is(err, ErrNoFeedback) {
		t.Errorf("LDCP: %v", err)
	}
	if err := a.SetClassCC(0, 3, algorithm(t, "ldcp_probe")); !errors.Is(err, ErrNoFeedback) {
		t.Errorf("LDCP with probes: %v", err)
	}
	if err := a.SetQPCC(0, a.local.QPN, algorithm(t, "swift")); !errors.Is(err, ErrNoFeedback) {
		t.Errorf("Swift: %v", err)
	}
	a.runs(t, a.local.QPN, ofDCQCN)
	if p, own := a.CC(a.local.QPN); p != a.Config().CC || own || a.Config().ClassCC[3] != nil {
		t.Error("a choice that was refused is kept")
	}
	if err := a.SetCC(0, &cc.DCQCNParams{}); err == nil {
		t.Error("parameters that cannot be are taken")
	}
	if err := a.SetCC(0, nil); err == nil {
		t.Error("no algorithm is taken")
	}
	if err := a.SetClassCC(0, 8, nil); !errors.Is(err, ErrClass) {
		t.Errorf("class 8: %v", err)
	}
	if err := a.SetQPCC(0, 99, nil); !errors.Is(err, ErrNoQP) {
		t.Errorf("QP 99: %v", err)
	}
}

// Feedback about packets that left before the change is not the new algorithm's, but what they
// leave in flight is; and what left without numbers counts in no window.
func TestSetCCInFlight(t *testing.T) {
	a, b, _ := newFed(t, algorithm(t, "dctcp"))
	a.write(t, 0, b, 64<<10)
	now := unit.Time(0)
	step := func(n int) {
		for range n {
			now += 300
			a.Wake(now)
			b.Wake(now)
			a.drain(t, now, b, nil)
		}
	}
	step(10)
	c := a.conns[0]
	sent := c.feedback.inFlight()
	if sent == 0 {
		t.Fatal("nothing is in flight")
	}
	if err := a.SetQPCC(now, a.local.QPN, algorithm(t, "ldcp")); err != nil {
		t.Fatal(err)
	}
	if c.feedback.inFlight() != sent {
		t.Errorf("%v in flight, had %v", c.feedback.inFlight(), sent)
	}
	b.drain(t, now, a, nil)
	if c.feedback.inFlight() != 0 || value(c, "plain_bytes") != 50_000 {
		t.Errorf("%v in flight, %v", c.feedback.inFlight(), c.cc.State())
	}
	if err := a.SetQPCC(now, a.local.QPN, algorithm(t, "dcqcn")); err != nil {
		t.Fatal(err)
	}
	step(2)
	if err := a.SetQPCC(now, a.local.QPN, algorithm(t, "dctcp")); err != nil {
		t.Fatal(err)
	}
	if c.feedback.inFlight() != 0 {
		t.Errorf("%v in flight that nobody numbered", c.feedback.inFlight())
	}
	for range 400 {
		step(1)
		b.drain(t, now, a, nil)
	}
	var done [1]qp.Completion
	if a.PollCQ(a.local.QPN, done[:]) != 1 || done[0].Status != qp.Success {
		t.Errorf("%+v", done)
	}
	a.balanced(t)
}

func value(c *conn, name string) float64 {
	for _, v := range c.cc.State() {
		if v.Name == name {
			return v.Value
		}
	}
	return -1
}

// DCQCN+ in one class, DCQCN in another: a receiver counts the congested flows of the first and
// tells of them; of the second it says nothing, as without DCQCN+.
func TestIncastByAlgorithm(t *testing.T) {
	a, b, _ := newPeers(t, func(c *Config) { c.ClassCC[3] = algorithm(t, "dcqcn_plus") })
	notified := func() (n ib.Notification) {
		t.Helper()
		a.write(t, a.now, b, 100)
		f := a.send(a.now)
		markCE(f)
		b.give(a.now, f)
		for f := b.send(a.now); f != nil; f = b.send(a.now) {
			if p := open(t, f); p.Receiver != nil {
				n = *p.Receiver
			}
			a.give(a.now, f)
		}
		return n
	}
	if n := notified(); n.Flows() != 1 || n.IntervalNs() != 50_000 {
		t.Errorf("DCQCN+: %+v", n)
	}
	for _, p := range []*peer{a, b} {
		if err := p.SetClassCC(us, 3, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := notified(); n.Flows() != 0 || n.IntervalNs() != 0 {
		t.Errorf("DCQCN: %+v", n)
	}
	if in := b.incasts[cc.CNPRuleOf(algorithm(t, "dcqcn_plus"))]; in.Flows() != 0 {
		t.Errorf("%d flows of DCQCN+ are left", in.Flows())
	}
}

// [QCN] section 3.2: the token bucket, 3 KB deep, is filled every 16 us. After two messages of the
// largest feedback CR is 1 Gb/s (65/128)^2 = 0.2579 Gb/s, and a filling 515 bytes. Frames of 1082
// bytes take 1106 of the line: from a full bucket three go, so that it owes 318 bytes, and then one
// whenever a filling has paid.
func TestQCNTokenBucket(t *testing.T) {
	params, err := cc.NewParams("qcn", "netfpga")
	if err != nil {
		t.Fatal(err)
	}
	a, b, pool := newPeers(t, func(c *Config) { c.CC, c.Rate = params, unit.GbPerSecond })
	sample := func() *frame.Frame {
		a.write(t, 0, b, 1024)
		return a.send(0)
	}()
	a.Wake(100 * us) // full again
	size := sample.Len()
	for range 2 {
		a.give(100*us, cnmFrame(pool, sample, 63, 42))
	}
	sample.Release()
	const filling = 515
	if rate := a.snapshot(100 * us).QPs[0].Rate; int64(rate)*16/8e6 != filling {
		t.Fatalf("rate %v", rate)
	}
	a.write(t, 100*us, b, 16<<10)
	_, clock := a.bucket(a.conn(a.local.QPN))
	if clock.Every != 16*time.Microsecond || clock.Phase >= clock.Every || clock.Drift < -1600 ||
		clock.Drift > 1600 {
		t.Fatalf("%+v", clock)
	}
	past := func(now unit.Time) int64 { // fillings
		return (int64(now) - int64(clock.Phase)) * 1000 / (int64(clock.Every)*1000 + clock.Drift)
	}
	credit, last := 3000, unit.Time(96)
	for now := 100 * us; now < 400*us; now += us {
		if past(now) > past(now-us) {
			credit, last = min(credit+filling, 3000), now/us
		}
		a.Wake(now)
		for credit >= 0 {
			f := a.send(now)
			if f == nil || f.Len() < size-100 {
				t.Fatalf("nothing leaves at %v, with %d bytes since %d us", now, credit, last)
			}
			credit -= int(f.Len()) + 24 // with preamble, FCS and gap
			f.Release()
		}
		if f := a.send(now); f != nil {
			t.Fatalf("a frame at %v, with %d bytes owed", now, -credit)
		}
	}
}

// Limiters that are filled by a clock have no common one, neither on two NICs nor on one: QPs of a
// NIC have phases, NICs have drifts. So the order in which their packets come to a switch changes.
func TestLimiterClocks(t *testing.T) {
	params, err := cc.NewParams("qcn", "netfpga")
	if err != nil {
		t.Fatal(err)
	}
	a, b, _ := newPeers(t, func(c *Config) { c.CC, c.Rate = params, unit.GbPerSecond })
	other, err := a.CreateRC(a.QPConfig(), Service{})
	if err != nil {
		t.Fatal(err)
	}
	_, one := a.bucket(a.conn(a.local.QPN))
	_, two := a.bucket(a.conn(other.QPN))
	_, there := b.bucket(b.conn(b.local.QPN))
	if one.Phase == two.Phase || one.Drift != two.Drift {
		t.Errorf("of one NIC: %+v, %+v", one, two)
	}
	if one.Phase == there.Phase || one.Drift == there.Drift {
		t.Errorf("of two NICs: %+v, %+v", one, there)
	}
	a, _, _ = newPeers(t, nil)
	if _, f := a.bucket(a.conn(a.local.QPN)); f != (ratelimit.Filling{}) {
		t.Errorf("DCQCN's has a clock: %+v", f)
	}
}
