package daemon

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Event is one thing that happened in a daemon and that its operator may ask for: an injected
// fault, a watchdog's verdict, a link that went down. What happens to every frame is counted, not
// told.
type Event struct {
	// Seq numbers the events of a daemon from 1. Record gives it.
	Seq uint64 `json:"seq"`
	// AtNs is the virtual time at which it happened.
	AtNs int64 `json:"at_ns"`
	// Source is the part of the daemon that tells it: "fault", "watchdog", "link".
	Source string `json:"source"`
	// Port is the name of the port concerned; empty if the whole device is.
	Port string `json:"port,omitempty"`
	// Kind is what happened, in lower case with underscores: it is the label of the metric, so
	// there must be few of them.
	Kind string `json:"kind"`
	// Detail is the rest, for people.
	Detail string `json:"detail,omitempty"`
}

// Events is the answer to GET /v1/events?since=SEQ: those after SEQ that are still kept, oldest
// first. Asking again with Next gives what came later.
type Events struct {
	Events []Event `json:"events"`
	Next   uint64  `json:"next"`   // Seq of the latest event there is
	Missed uint64  `json:"missed"` // after SEQ, but not kept any more
}

// keptEvents is how many of the latest events a daemon keeps.
const keptEvents = 4096

// eventLog keeps the latest events in a ring and counts all of them by kind. It belongs to the
// loop's thread; everybody else asks through Loop.Do.
type eventLog struct {
	ring   []Event // event seq is at (seq-1) % keptEvents
	last   uint64  // Seq of the latest
	counts map[string]uint64
	lines  chan Event // to the goroutine that writes the log
}

func newEventLog() *eventLog {
	return &eventLog{counts: make(map[string]uint64), lines: make(chan Event, logBacklog)}
}

// Record keeps an event. Only the loop's thread may call it; it never waits.
func (d *Daemon) Record(e Event) { d.events.record(e) }

func (l *eventLog) record(e Event) {
	l.last++
	e.Seq = l.last
	l.counts[e.Kind]++
	if len(l.ring) < keptEvents {
		l.ring = append(l.ring, e)
	} else {
		l.ring[(e.Seq-1)%keptEvents] = e
	}
	select {
	case l.lines <- e:
	default: // the log is behind; the ring and the counts have it
	}
}

// since copies the events after seq.
func (l *eventLog) since(seq uint64) Events {
	out := Events{Events: []Event{}, Next: l.last}
	first := l.last - uint64(len(l.ring)) // Seq of the latest that is not kept
	if seq < first {
		out.Missed, seq = first-seq, first
	}
	for ; seq < l.last; seq++ {
		out.Events = append(out.Events, l.ring[seq%keptEvents])
	}
	return out
}

func (d *Daemon) handleEvents() {
	HandleQuery(d.Control, "GET /v1/events", func(q url.Values) (out Events, err error) {
		var seq uint64
		if text := q.Get("since"); text != "" {
			if seq, err = strconv.ParseUint(text, 10, 64); err != nil {
				return out, fmt.Errorf("since=%s: want the seq of an event", text)
			}
		}
		err = d.Loop.Do(func(unit.Time) { out = d.events.since(seq) })
		return out, err
	})
}

// HandleQuery registers a control call without a body, whose arguments are in the query.
func HandleQuery[Resp any](mux *http.ServeMux, pattern string,
	fn func(url.Values) (Resp, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		resp, err := fn(r.URL.Query())
		if err != nil {
			answer(w, http.StatusUnprocessableEntity, errorBody{err.Error()})
			return
		}
		answer(w, http.StatusOK, resp)
	})
}

// eventCollector exports how many events of each kind there were.
type eventCollector struct {
	loop   *loop.Loop
	events *eventLog
	desc   *prometheus.Desc
}

func newEventCollector(l *loop.Loop, events *eventLog, daemon string) *eventCollector {
	return &eventCollector{l, events, prometheus.NewDesc(daemon+"_events_total",
		"Events in the event log, by kind.", []string{"kind"}, nil)}
}

// Describe names the metric.
func (c *eventCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect reads the counts between two turns of the loop.
func (c *eventCollector) Collect(out chan<- prometheus.Metric) {
	var list []prometheus.Metric
	if c.loop.Do(func(unit.Time) {
		for kind, n := range c.events.counts {
			list = append(list, prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue,
				float64(n), kind))
		}
	}) != nil {
		return // the loop has ended, and the endpoint is about to
	}
	for _, m := range list {
		out <- m
	}
}
