package lab

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/fault"
)

// Fault is an entry of a topology's plan: what goes wrong, where, and when by the lab's clock.
type Fault struct {
	At    time.Duration `yaml:"at,omitempty"`
	For   time.Duration `yaml:"for,omitempty"` // 0: to the end
	Port  Endpoint      `yaml:"port"`
	Fault fault.Spec    `yaml:"fault"` // in the text form of package fault
}

func (t *Topology) validateFaults(report func(string, string, ...any)) {
	info := t.Info()
	for i, f := range t.Faults {
		path := fmt.Sprintf("faults[%d]", i)
		if _, ok := info.Peer(f.Port); !ok {
			report(path+".port", "no port %v in links", f.Port)
		}
		if f.At < 0 {
			report(path+".at", "must not be negative")
		}
		if f.For < 0 {
			report(path+".for", "must not be negative")
		}
		if err := f.Fault.Validate(); err != nil {
			report(path+".fault", "%v", err)
		}
	}
}

// plan tells the daemons what is to go wrong. The clock stands at zero.
func (l *Lab) plan(ctx context.Context) error {
	info := l.Topology.Info()
	for _, f := range l.Topology.Faults {
		places, err := info.FaultAt(f.Port, f.Fault)
		if err != nil {
			return err
		}
		for _, port := range places {
			req := daemon.FaultRequest{Port: port.Device, Fault: f.Fault,
				AtNs: f.At.Nanoseconds(), ForNs: f.For.Nanoseconds()}
			if err := l.clients[port.Node].Call(ctx, http.MethodPost, "/v1/fault", req,
				nil); err != nil {
				return err
			}
		}
	}
	return nil
}
