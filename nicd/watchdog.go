package nicd

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd/nic"
)

// pauseStorm keeps an event of the NIC's watchdog in the daemon's log.
func (s *server) pauseStorm(e nic.PauseEvent) {
	s.Record(daemon.Event{AtNs: int64(e.At), Source: "watchdog", Kind: e.Kind.String(),
		Detail: fmt.Sprintf("priorities %v", e.Priorities)})
}
