package pipeline

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// everyPort changes all ports alike.
func everyPort(change func(p *Port)) func(*Config) {
	return func(c *Config) {
		for i := range c.Ports {
			change(&c.Ports[i])
		}
	}
}

// settings has a change of every field of Config and Port that can be changed while the switch
// forwards. The traffic of fingerprint shows each.
var settings = map[string]func(*Config){
	"Config.Pools": func(c *Config) { c.Pools[0].Size = 300 * unit.KB },
	"Config.EgressPools": func(c *Config) {
		c.EgressPools = []mmu.Pool{{Name: "egress", Size: 20 * unit.KB}}
	},
	"Config.FloodClass": func(c *Config) { c.FloodClass = 2 },
	"Config.MACs":       func(c *Config) { c.MACs.Age = time.Millisecond },
	"Config.Telemetry": func(c *Config) {
		c.Telemetry = Telemetry{Queues: 0xff, Hops: 2, MaxFrame: 1500}
	},
	"Config.Seed": func(c *Config) { c.Seed = 2 },
	// The longest of fingerprint has 1100 bytes behind its headers.
	"Port.MaxFrame": everyPort(func(p *Port) { p.MaxFrame = 1000 }),
	"Port.Rate":     everyPort(func(p *Port) { p.Rate = unit.GbPerSecond }),
	"Port.MAC":      everyPort(func(p *Port) { p.MAC[5]++ }),
	"Port.PFCSend":  everyPort(func(p *Port) { p.PFCSend = pfc.SetOf(4) }),
	"Port.PFCObey":  everyPort(func(p *Port) { p.PFCObey = pfc.SetOf(4) }),
	"Port.LinkPause": everyPort(func(p *Port) {
		p.LinkPause, p.PFCSend, p.PFCObey = true, 0, 0
	}),
	"Port.Quanta":     everyPort(func(p *Port) { p.Quanta = 77 }),
	"Port.PauseDelay": everyPort(func(p *Port) { p.PauseDelay = 2 * time.Microsecond }),
	"Port.PFCToQueue": everyPort(func(p *Port) {
		p.PFCToQueue = &[8]mmu.Queue{0, 1, 2, 6, 4, 5, 3, 7}
	}),
	"Port.PFCToGroup": everyPort(func(p *Port) {
		p.PFCToGroup = &[8]mmu.PG{0, 1, 2, 4, 3, 5, 6, 7}
	}),
	"Port.Classify": everyPort(func(p *Port) { p.Classify.DSCP[26] = 5 }),
	"Port.Map":      everyPort(func(p *Port) { p.Map.Queue[3] = 2 }),
	"Port.Groups":   everyPort(func(p *Port) { p.Groups[3].Limit.Static = 3000 }),
	"Queue.Buffer":  everyPort(func(p *Port) { p.Queues[3].Buffer.Max = 4000 }),
	"Queue.WRED":    everyPort(func(p *Port) { p.Queues[3].WRED.Mark.Kmin = 0 }),
	"Queue.QCN": everyPort(func(p *Port) {
		p.Queues[3].QCN = qos.NetFPGA()
		p.Queues[3].QCN.Base = 2000
		p.Queues[3].QCN.Qeq = 3000
	}),
	"Port.Scheduler": everyPort(func(p *Port) {
		p.Scheduler.Strict = p.Scheduler.Strict.With(0)
	}),
	"Port.Watchdog": everyPort(func(p *Port) {
		p.Watchdog = pfc.WatchdogConfig{Action: pfc.Drop, Poll: 50 * time.Microsecond,
			Detection: 100 * time.Microsecond, Restoration: 100 * time.Microsecond}
	}),
	"Port.Isolated": everyPort(func(p *Port) { p.Isolated = 1 }),
	"Port.Shaper":   everyPort(func(p *Port) { p.Shaper.Port.Max = unit.GbPerSecond }),
}

// fixed are the fields that stay what they were, and those with tests of their own.
var fixed = map[string]string{
	"Config.Ports":  "is every field of Port",
	"Config.Cell":   "stays: TestReconfigureRefuses",
	"Port.Name":     "stays: TestReconfigureRefuses",
	"Config.Router": "stays one or none; what changes: fib, TestRouterReconfigure",
	"Port.Queues":   "is every field of Queue",
}

// reconfigurable is a switch in which limits are reached soon.
func reconfigurable() Config {
	c := testConfig(4)
	c.FloodClass, c.MACs.Age = 1, 10*time.Millisecond
	for i := range c.Ports {
		p := &c.Ports[i]
		p.Name = fmt.Sprintf("swp%d", i)
		p.Groups[3].Limit = mmu.Limit{Static: 5 * unit.KB}
		p.Groups[4].Limit = mmu.Limit{Static: 8 * unit.KB}
		p.Queues[3].WRED.Mark.Pmax = 0.5
		for q := range p.Queues {
			p.Queues[q].Buffer.Limit = mmu.Alpha(1, 1)
		}
	}
	return c
}

// fingerprint is all that leaves the switch, and when, and what it counted, under traffic that
// reaches limits, pauses and is paused, floods and ages.
func fingerprint(b *bench) string {
	var out strings.Builder
	burst := func(rounds int) {
		for i := range rounds {
			for port := range dataplane.PortID(4) {
				dst := []int{1, 1, 1, 2, 0xffff}[(i+int(port))%5]
				p := wiretest.Packet{Src: wiretest.MACOrNumber(port), ECN: wire.ECT0,
					Dst: wiretest.MACOrNumber(dst), DSCP: []uint8{26, 4, 0}[i%3],
					Payload: 100 + 77*i%1000}
				b.rx(port, p.Bytes())
				if i%2 == 0 {
					for f := b.tx(port); f != nil; f = nil {
						fmt.Fprintln(&out, b.now, port, f)
					}
				}
			}
			switch i % 20 {
			case 3:
				b.rx(1, wiretest.PFC(9, map[uint8]uint16{3: 40}))
			case 13:
				var f wire.ControlFrame
				f.Init(wiretest.MACOrNumber(9).MAC(), wire.OpPause)
				f.Pause().SetQuanta(60)
				b.rx(1, f[:])
			}
			b.wait(100)
		}
	}
	burst(150)
	for range 4000 {
		for port := range dataplane.PortID(4) {
			if f := b.tx(port); f != nil {
				fmt.Fprintln(&out, b.now, port, f)
			}
		}
		b.wait(100)
	}
	for range 15 {
		b.rx(1, wiretest.PFC(9, map[uint8]uint16{3: 65535}))
		b.wait(20 * us)
	}
	b.wait(unit.Time(5 * time.Millisecond))
	burst(2)
	var s Snapshot
	b.sw.Snapshot(b.now, &s)
	fmt.Fprintf(&out, "%+v", s)
	b.check()
	return out.String()
}

// TestReconfigureIsNew: a switch that was given a setting later is the switch that had it from the
// start, and every field has such a test: the change shows in the traffic.
func TestReconfigureIsNew(t *testing.T) {
	before := fingerprint(newBench(t, reconfigurable()))
	for _, of := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[Port](),
		reflect.TypeFor[Queue]()} {
		for i := range of.NumField() {
			field := of.Name() + "." + of.Field(i).Name
			change := settings[field]
			if change == nil {
				if fixed[field] == "" {
					t.Errorf("%s: say in settings how it changes, and what it does", field)
				}
				continue
			}
			t.Run(field, func(t *testing.T) {
				cfg := reconfigurable()
				change(&cfg)
				want := fingerprint(newBench(t, cfg))
				if want == before {
					t.Fatal("the change cannot be seen in the traffic")
				}
				b := newBench(t, reconfigurable())
				if err := b.sw.Reconfigure(0, cfg); err != nil {
					t.Fatal(err)
				}
				if got := fingerprint(b); got != want {
					t.Error("not the switch that New makes")
				}
			})
		}
	}
}

// TestReconfigureRefuses: what makes it another switch, and what is not valid, changes nothing.
func TestReconfigureRefuses(t *testing.T) {
	want := fingerprint(newBench(t, reconfigurable()))
	for name, change := range map[string]func(*Config){
		`port 1 is called "swp1", not "eth1"`: func(c *Config) { c.Ports[1].Name = "eth1" },
		"3 ports, the switch has 4":           func(c *Config) { c.Ports = c.Ports[:3] },
		"cell 208":                            func(c *Config) { c.Cell = 208 },
		"flood class 3 is lossless":           func(c *Config) { c.FloodClass = 3 },
		"a negative size":                     func(c *Config) { c.Ports[0].Groups[0].XON = -1 },
	} {
		cfg := reconfigurable()
		for _, field := range slices.Sorted(maps.Keys(settings)) { // Nothing of them may stick.
			next := clone(cfg)
			if settings[field](&next); next.Validate() == nil {
				cfg = next
			}
		}
		change(&cfg)
		b := newBench(t, reconfigurable())
		if err := b.sw.Reconfigure(0, cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
		if got := fingerprint(b); got != want {
			t.Errorf("%s: something has changed", name)
		}
	}
}

func clone(c Config) Config {
	c.Ports, c.Pools = slices.Clone(c.Ports), slices.Clone(c.Pools)
	c.EgressPools = slices.Clone(c.EgressPools)
	return c
}

// TestReconfigurePauses: a limit that comes down on what is stored pauses at once, and one that
// goes up, or a group that turns lossy, resumes.
func TestReconfigurePauses(t *testing.T) {
	b := newBench(t, testConfig(2))
	if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(1).MAC(), 1); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		b.rx(0, data(5, 1, 1000))
	}
	for _, step := range []struct {
		change func(p *Port)
		want   string
	}{
		{func(p *Port) { p.Groups[3].Limit = mmu.Limit{Static: 4000} }, "pfc 3=65535"},
		{func(p *Port) { p.PFCSend = pfc.SetOf(4) }, "pfc 3=0"},
		{func(p *Port) { p.PFCSend = pfc.SetOf(3, 4) }, "pfc 3=65535"},
		{func(p *Port) { p.Quanta = 99 }, "pfc 3=99"},
		{func(p *Port) { p.Groups[3] = mmu.Profile{Limit: mmu.Alpha(1, 1)} }, "pfc 3=0"},
	} {
		cfg := clone(b.sw.cfg)
		step.change(&cfg.Ports[0])
		if err := b.sw.Reconfigure(b.now, cfg); err != nil {
			t.Fatal(err)
		}
		if got := b.tx(0); got == nil || describe(got) != step.want {
			t.Fatalf("sent % x, want %s", got, step.want)
		}
	}
	for range 8 {
		if b.tx(1) == nil {
			t.Fatal("a frame is gone")
		}
	}
	b.check()
}

// TestReconfigureKeepsCredit: settings that stay keep their state. A port shaped to 1 Gb/s does not
// get a full bucket by a change of something else.
func TestReconfigureKeepsCredit(t *testing.T) {
	c := testConfig(2)
	c.Ports[1].Shaper = qos.ShaperConfig{Port: qos.Shape{Max: unit.GbPerSecond, MaxBurst: 3000}}
	b := newBench(t, c)
	if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(1).MAC(), 1); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for i := range 20 {
		b.rx(0, data(5, 1, 1000))
		for b.tx(1) != nil {
			sent++
		}
		cfg := clone(b.sw.cfg)
		cfg.Seed = uint64(i)
		if err := b.sw.Reconfigure(b.now, cfg); err != nil {
			t.Fatal(err)
		}
	}
	if sent > 4 {
		t.Errorf("%d frames out of a bucket of three", sent)
	}
	b.check()
}
