package switchd

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/deadlock"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// record keeps an event of the machine in the daemon's log.
func (s *server) record(e pipeline.Event) {
	s.Record(daemon.Event{AtNs: int64(e.At), Source: "watchdog", Port: s.sw.PortName(e.Port),
		Kind:   e.Kind.String(),
		Detail: fmt.Sprintf("priority %d, queue %d, action %v", e.Priority, e.Queue, e.Action)})
}

// filter has a port's XDP program drop what the machine would. If that fails, the machine does.
func (s *server) filter(port dataplane.PortID, classes pfc.Set) {
	if err := s.Loop.SetFilter(port, uint8(classes)); err != nil {
		s.log.Warn("the XDP program does not know the watchdog's verdict",
			"port", s.sw.PortName(port), "reason", err)
	}
}

// Waits is the answer to GET /v1/waits: this switch's part of a lab's wait-for graph.
type Waits struct {
	AtNs  int64           `json:"at_ns"`
	Waits []deadlock.Wait `json:"waits"`
}

func (s *observer) waits(struct{}) (w Waits, err error) {
	w.Waits = []deadlock.Wait{}
	err = s.run.Do(func(now unit.Time) {
		w.AtNs = int64(now)
		for _, each := range s.sw.Waits(now) {
			w.Waits = append(w.Waits, each.Named(s.sw.PortName))
		}
	})
	return w, err
}
