package daemon

import (
	"log/slog"
	"maps"
	"slices"
	"time"
)

const (
	// logBacklog is how many events may wait for the log.
	logBacklog = 1024
	// logBurst is how many lines of one kind the log gets in a second of real time. A fault that
	// hits every frame would otherwise fill the disk.
	logBurst = 20
)

// write logs the events until the channel is closed. What is over the limit of its kind is left
// out and summed up at the next tick.
func (l *eventLog) write(log *slog.Logger) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	written := make(map[string]int)
	for {
		select {
		case e, ok := <-l.lines:
			if !ok {
				tell(log, written)
				return
			}
			if written[e.Kind]++; written[e.Kind] <= logBurst {
				log.Info(e.Kind, "at", time.Duration(e.AtNs), "seq", e.Seq, "source", e.Source,
					"port", e.Port, "detail", e.Detail)
			}
		case <-tick.C:
			tell(log, written)
			clear(written)
		}
	}
}

func tell(log *slog.Logger, written map[string]int) {
	for _, kind := range slices.Sorted(maps.Keys(written)) {
		if left := written[kind] - logBurst; left > 0 {
			log.Info("more events of this kind; GET /v1/events has the latest", "kind", kind,
				"left_out", left)
		}
	}
}
