package switchd

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// BenchmarkSample is one sample of a switch of 64 ports: of the whole switch, and with one queue of
// each port.
func BenchmarkSample(b *testing.B) {
	c := Default()
	for i := range 64 {
		c.Ports = append(c.Ports, daemon.PortConfig{Name: fmt.Sprint("swp", i+1),
			Rate: 40 * unit.GbPerSecond})
	}
	machine, err := c.Machine()
	if err != nil {
		b.Fatal(err)
	}
	sw, _, err := c.build(machine)
	if err != nil {
		b.Fatal(err)
	}
	o := c.observe(sw)
	columns := o.switchColumns()
	for _, of := range []string{"switch", "queues"} {
		b.Run(of, func(b *testing.B) {
			b.ReportAllocs()
			var sum float64
			for b.Loop() {
				for i := range columns {
					sum += columns[i].Read(0)
				}
			}
			if sum != 0 {
				b.Fatal("an idle switch has counted something")
			}
		})
		for _, p := range c.Ports {
			ref := QueueRef{Port: p.Name, Queue: 3}
			at, err := o.place(ref)
			if err != nil {
				b.Fatal(err)
			}
			columns = append(columns, o.queueColumns(at, ref.Column)...)
		}
	}
}
