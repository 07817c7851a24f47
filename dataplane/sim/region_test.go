package sim

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/fault"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// ring is relays in a ring whose links differ, and what happens to it.
type ring struct {
	links  []link.Config
	faults fault.Plan
	sends  []send
}

type send struct {
	at     unit.Time
	relay  int
	port   dataplane.PortID
	frames int
}

// TestRegionsMakeNoDifference: devices see the same frames at the same times whether they share an
// engine or not, also while links fail and applications send.
func TestRegionsMakeNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRing(t)
		one, regions := r.run(t, time.Hour)
		if regions != 1 {
			t.Fatalf("%d regions", regions)
		}
		for _, near := range []time.Duration{near, 1} {
			got, regions := r.run(t, near)
			if !reflect.DeepEqual(got, one) {
				t.Fatalf("%d regions: %+v, one region: %+v", regions, got, one)
			}
			if want := r.regions(near); regions != want {
				t.Fatalf("%d regions, want %d", regions, want)
			}
		}
	})
}

// regions is how many there must be: each short link joins two, but the last that closes the ring.
func (r *ring) regions(near time.Duration) int {
	n := len(r.links)
	for _, cfg := range r.links {
		if cfg.Delay < near {
			n--
		}
	}
	return max(n, 1)
}

func drawRing(t *rapid.T) (r ring) {
	for i := range rapid.IntRange(2, 6).Draw(t, "relays") {
		cfg := link.Config{Rate: gig40, Seed: uint64(7 * i)}
		cfg.Delay = rapid.SampledFrom([]time.Duration{0, 3, 200, 201, 1000}).Draw(t, "delay")
		if rapid.Bool().Draw(t, "bad") {
			cfg.Faults = link.Faults{Loss: 0.1, Duplicate: 0.2, Reorder: 0.2, ReorderBy: 300}
		}
		r.links = append(r.links, cfg)
	}
	node := rapid.IntRange(0, len(r.links)-1)
	port := rapid.Custom(func(t *rapid.T) dataplane.PortID {
		return dataplane.PortID(rapid.IntRange(0, 1).Draw(t, "port"))
	})
	moment := rapid.IntRange(0, 9000)
	for range rapid.IntRange(1, 5).Draw(t, "sends") {
		r.sends = append(r.sends, send{unit.Time(moment.Draw(t, "at")), node.Draw(t, "relay"),
			port.Draw(t, "port"), rapid.IntRange(1, 20).Draw(t, "frames")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "faults") {
		f, err := fault.Parse(rapid.SampledFrom([]string{"down", "freeze",
			"storm 3"}).Draw(t, "fault"))
		if err != nil {
			t.Fatal(err)
		}
		r.faults = append(r.faults, fault.Entry{Fault: f,
			Port: names[node.Draw(t, "node")] + ":" + string(rune('0'+port.Draw(t, "port"))),
			At:   time.Duration(moment.Draw(t, "at")),
			For:  time.Duration(moment.Draw(t, "for") + 1)})
	}
	return r
}

var names = []string{"a", "b", "c", "d", "e", "f"}

// run is what the relays saw in 10 us, in how many regions.
func (r *ring) run(t *rapid.T, near time.Duration) (logs [][]conform.Seen, regions int) {
	pool := frame.NewPool(4096, 256)
	net := New(pool)
	net.near = near
	relays, nodes := make([]*conform.Relay, len(r.links)), make([]*Node, len(r.links))
	for i := range relays {
		relays[i] = &conform.Relay{Keep: true}
		nodes[i] = net.Add(names[i], relays[i], 2)
	}
	for i, cfg := range r.links {
		net.Connect(nodes[i], 1, nodes[(i+1)%len(nodes)], 0, cfg)
	}
	if err := net.AddFaults(r.faults); err != nil {
		t.Fatal(err)
	}
	for i, s := range r.sends {
		net.At(s.at, nodes[s.relay], func(unit.Time) {
			for range s.frames {
				f := pool.Get()
				f.Resize(80 + 10*i)
				f.Bytes()[79+10*i] = byte(i)
				relays[s.relay].Originate(s.port, f)
			}
		})
	}
	net.Run(4000)
	net.Run(10_000)
	if err := net.Check(); err != nil {
		t.Fatal(err)
	}
	for _, relay := range relays {
		logs = append(logs, relay.Log)
	}
	return logs, len(net.regions)
}
