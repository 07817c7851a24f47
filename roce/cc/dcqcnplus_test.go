package cc

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

func plus() *DCQCNPlus {
	return newDCQCNPlusParams("").New(Setup{Line: 10 * unit.GbPerSecond, MTU: 1000}).(*DCQCNPlus)
}

// [DCQCN+] 4.3: K = lambda max(tau, MTU/R_C), lambda 3.1. A packet of 1000 bytes takes 8 us at
// 1 Gb/s and 800 us at 10 Mb/s.
func TestPlusPeriod(t *testing.T) {
	for _, c := range []struct {
		tau  time.Duration
		rate float64
		want time.Duration
	}{
		{50 * time.Microsecond, 1e9, 155 * time.Microsecond},
		{720 * time.Microsecond, 1e9, 2232 * time.Microsecond}, // the imitation's 3.1 * 720
		{720 * time.Microsecond, 1e7, 2480 * time.Microsecond},
	} {
		d := plus()
		d.tau, d.current = c.tau, c.rate
		if got := d.period(); got != c.want {
			t.Errorf("tau %v, %v b/s: K %v, want %v", c.tau, c.rate, got, c.want)
		}
	}
	d := plus()
	if d.CNP(0, CNP{}); d.NextWake() != 155*us {
		t.Errorf("the receiver says nothing: K %v", d.NextWake())
	}
	if d.CNP(0, CNP{Interval: 100 * time.Microsecond}); d.NextWake() != 310*us {
		t.Errorf("the receiver says 100 us: K %v", d.NextWake())
	}
}

// [DCQCN+] 4.3, on a CNP: R_T = R_C, R_C (1 - alpha/2), alpha (1 - g) + g.
func TestPlusDecrease(t *testing.T) {
	d := plus()
	d.alpha = 0.5
	d.CNP(0, CNP{})
	near(t, "R_T", d.target, 10e9)
	near(t, "R_C", d.current, 7.5e9)
	near(t, "alpha", d.alpha, 0.5*255/256+1.0/256)
}

// [DCQCN+] 4.3, the three stages. R_l is a tenth of 10 Gb/s, so its hundredth is 10 Mb/s. At 50
// Mb/s a tenth of the rate is less, 5 Mb/s; at 200 Mb/s it is more. In hyper increase at S = 22 the
// step is 20 Mb/s, or the rate if that is less.
func TestPlusStages(t *testing.T) {
	for _, c := range []struct {
		name                string
		stage               int
		current, target, up float64
	}{
		{"fast recovery", 4, 50e6, 100e6, 0},
		{"S = F, slow", 5, 50e6, 100e6, 5e6},
		{"S < 4F, fast", 19, 200e6, 300e6, 10e6},
		{"S = 4F", 20, 200e6, 300e6, 10e6},
		{"S > 4F", 21, 200e6, 300e6, 10e6},
		{"two past 4F", 22, 200e6, 300e6, 20e6},
		{"slow", 22, 15e6, 300e6, 15e6},
	} {
		d := plus()
		d.limited, d.current, d.target, d.stage = true, c.current, c.target, c.stage
		d.increase()
		near(t, c.name+": R_T", d.target, c.target+c.up)
		near(t, c.name+": R_C", d.current, (c.current+c.target+c.up)/2)
	}
	p := newDCQCNPlusParams("").(*DCQCNPlusParams)
	p.StepRate = 2 * unit.GbPerSecond
	d := p.New(Setup{Line: 10 * unit.GbPerSecond, MTU: 1000}).(*DCQCNPlus)
	d.limited, d.current, d.target, d.stage = true, 1e9, 1e9, 5
	d.increase()
	near(t, "R_l of 2 Gb/s: R_T", d.target, 1.02e9)
}

// [DCQCN+] 4.3: alpha = (1-g) alpha when its timer runs out, a tenth above tau; no byte counter.
// With tau = 100 us that is after 110 and 220 us, where K is 310 us.
func TestPlusAlphaAndBytes(t *testing.T) {
	d := plus()
	d.CNP(0, CNP{Interval: 100 * time.Microsecond})
	for _, c := range []struct {
		at    unit.Time
		alpha float64
	}{{109 * us, 1}, {110 * us, 255.0 / 256}, {225 * us, 255.0 * 255 / 65536}} {
		d.Ack(c.at, Ack{})
		near(t, "alpha", d.alpha, c.alpha)
	}
	d.CNP(226*us, CNP{Interval: 100 * time.Microsecond}) // begins it anew
	before := d.alpha
	if d.Ack(335*us, Ack{}); d.alpha != before {
		t.Errorf("alpha decays after 109 us")
	}
	rate := d.Limit().Rate
	if d.Sent(335*us, 1000*unit.MB); d.Limit().Rate != rate {
		t.Error("bytes raise the rate")
	}
}

// [DCQCN+] 6.3, its points 1 to 3: the imitation by parameters for 80 and 720 flows.
func TestPlusImitation(t *testing.T) {
	for preset, want := range map[string]DCQCNParams{
		"plus_80":  {Timer: 248 * time.Microsecond, RateAI: 3_200_000},
		"plus_720": {Timer: 2232 * time.Microsecond, RateAI: 355_555},
	} {
		p, err := NewParams("dcqcn", preset)
		if err != nil {
			t.Fatal(err)
		}
		got, rest := *p.(*DCQCNParams), *mlx5()
		rest.Timer, rest.RateAI = want.Timer, want.RateAI
		rest.DecreaseInterval = 40 * time.Microsecond
		if got != rest {
			t.Errorf("%s: %+v, want %+v", preset, got, rest)
		}
	}
}

// [DCQCN+] 4.2: the interval grows with the congested flows, and shrinks when they are gone: four
// intervals after their last CNP with the memory set here, each as long as it was then.
func TestIncastInterval(t *testing.T) {
	in := NewIncast(50*time.Microsecond, CNPRule{Spacing: time.Microsecond, Memory: 4})
	points := make([]NotificationPoint, 200)
	for i := range points {
		points[i] = in.Point()
		if !points[i].Marked(0) {
			t.Fatal("no CNP for the first mark")
		}
	}
	if want := (CNP{200 * time.Microsecond, 200}); in.CNP() != want {
		t.Errorf("%+v, want %+v", in.CNP(), want)
	}
	if at := points[60].NextWake(); at != 4*61*us {
		t.Errorf("the 61st of the flows is forgotten at %v, want after 4 times 61 us", at)
	}
	if points[60].Wake(61*us) || in.Flows() != 200 {
		t.Errorf("a window ends without a mark: %d flows", in.Flows())
	}
	if !points[60].Marked(100*us) || points[60].NextWake() != 900*us {
		t.Errorf("it has another CNP: forgotten at %v", points[60].NextWake())
	}
	points[199].Marked(us)
	if points[199].NextWake() != 200*us {
		t.Errorf("a mark in the window of 200 us: next %v", points[199].NextWake())
	}
	points[199].Close() // its QP ends
	for i := range points[:199] {
		if points[i].NextWake() == unit.Never || points[i].Wake(points[i].NextWake()) {
			t.Fatalf("flow %d: a CNP without a mark", i)
		}
	}
	if in.Flows() != 0 || in.Interval() != 50*time.Microsecond {
		t.Errorf("%d flows, interval %v", in.Flows(), in.Interval())
	}
	fixed := NewIncast(50*time.Microsecond, CNPRule{})
	if p := fixed.Point(); !p.Marked(0) || fixed.CNP() != (CNP{}) || p.NextWake() != unit.Never {
		t.Errorf("DCQCN's receiver says %+v", fixed.CNP())
	}
}
