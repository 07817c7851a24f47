package conformance

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
)

var seed = flag.Uint64("seed", 0, "of the traffic; 0 draws one")

// quiet is how long after the last event everything is over: the longest pause is 839 us, and a
// host gives up after eight timeouts of 131 us.
const quiet = 5 * time.Millisecond

// Every device keeps the contract under every driver, whatever arrives, and so does the driver;
// and when all is over no frame is left anywhere.
func TestEveryDeviceUnderEveryDriver(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	for _, d := range devices {
		for _, by := range drivers {
			t.Run(fmt.Sprintf("%s under %s", d.name, by.name), func(t *testing.T) {
				run(t, d, by)
			})
		}
	}
	if t.Failed() {
		t.Logf("again: go test ./tests/conformance -run %s -seed %d", t.Name(), *seed)
	}
}

func run(t *testing.T, d device, by driver) {
	pool := frame.NewPool(8192, 2048)
	dev, to := d.make(t, d.ports, pool)
	c := &trial{Monitor: conform.Watch(dev, d.ports), ports: d.ports, pool: pool,
		events: traffic(rand.New(rand.NewPCG(*seed, 1)), d.ports, to)}
	c.end = c.events[len(c.events)-1].at.Add(quiet)
	c.faults = mishaps(t, rand.New(rand.NewPCG(*seed, 2)), d.ports, c.end)
	received := by.run(t, c)
	for _, f := range c.Faults {
		t.Error(f)
	}
	l := c.Ledger()
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	if l.Received.Frames < events/4 || l.Buffered.Frames != 0 {
		t.Errorf("received %d of %d frames, still has %d", l.Received.Frames, events,
			l.Buffered.Frames)
	}
	// Duplicates may outnumber losses on the wire.
	if received < l.Sent.Frames*9/10 || received > l.Sent.Frames*11/10+10 {
		t.Errorf("the device sent %d frames, %d came out of its wires", l.Sent.Frames, received)
	}
	t.Logf("%d calls; %d frames received, %d sent, %d consumed, %d dropped", c.Calls,
		l.Received.Frames, l.Sent.Frames, l.Consumed.Frames, l.DroppedTotal().Frames)
}
