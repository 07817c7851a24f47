package lab

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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

// ParseFault reads one line, as in "sw0:swp1 loss 0.001 at 10ms for 5ms".
func ParseFault(text string) (f Fault, err error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return f, fmt.Errorf("%q: want a port and a fault, as sw0:swp1 loss 0.001", text)
	}
	if err := f.Port.UnmarshalText([]byte(fields[0])); err != nil {
		return f, err
	}
	rest := fields[1:]
	for n := len(rest); n > 2 && (rest[n-2] == "at" || rest[n-2] == "for"); n = len(rest) {
		d, err := time.ParseDuration(rest[n-1])
		if err != nil || d < 0 {
			return f, fmt.Errorf("%s %s: want a time, as 10ms", rest[n-2], rest[n-1])
		}
		if rest[n-2] == "at" {
			f.At = d
		} else {
			f.For = d
		}
		rest = rest[:n-2]
	}
	f.Fault, err = fault.Parse(strings.Join(rest, " "))
	return f, err
}

// String is the inverse of ParseFault.
func (f Fault) String() string {
	text := fmt.Sprintf("%v %v", f.Port, f.Fault)
	if f.At != 0 {
		text += fmt.Sprintf(" at %v", f.At)
	}
	if f.For != 0 {
		text += fmt.Sprintf(" for %v", f.For)
	}
	return text
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
