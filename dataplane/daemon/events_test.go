package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// The latest events are kept, in order; how many are not any more is told.
func TestTheLatestEventsAreKept(t *testing.T) {
	l := newEventLog()
	if got := l.since(0); got.Next != 0 || len(got.Events) != 0 || got.Missed != 0 {
		t.Errorf("at the start: %+v", got)
	}
	const total = 2*keptEvents + 100
	for i := range total {
		l.record(Event{AtNs: int64(i), Kind: fmt.Sprint("kind_", i%2)})
	}
	got := l.since(10)
	if got.Next != total || got.Missed != total-keptEvents-10 || len(got.Events) != keptEvents {
		t.Fatalf("next %d, missed %d, %d events", got.Next, got.Missed, len(got.Events))
	}
	for i, e := range got.Events {
		if e.Seq != uint64(total-keptEvents+i+1) || e.AtNs != int64(e.Seq)-1 {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	if last := l.since(total - 1); len(last.Events) != 1 || last.Missed != 0 {
		t.Errorf("after the last but one: %+v", last)
	}
	if over := l.since(total + 5); len(over.Events) != 0 || over.Missed != 0 {
		t.Errorf("after what is yet to come: %+v", over)
	}
	if l.counts["kind_0"] != total/2 || l.counts["kind_1"] != total/2 {
		t.Errorf("counts %v", l.counts)
	}
}

// The log gets so many lines of a kind and the number of the others.
func TestTheLogOfEventsIsBounded(t *testing.T) {
	l := newEventLog()
	for range logBurst + 30 {
		l.record(Event{Kind: "often"})
	}
	l.record(Event{Kind: "once", Port: "swp1", Detail: "why"})
	close(l.lines)
	var out bytes.Buffer
	l.write(slog.New(slog.NewTextHandler(&out, nil)))
	text := out.String()
	if n := strings.Count(text, "msg=often"); n != logBurst {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{"msg=once", "port=swp1", "detail=why", "left_out=30"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestEventsOverTheControlSocket(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		err := r.d.Loop.Do(func(now unit.Time) {
			r.d.Record(Event{AtNs: int64(now), Source: "test", Port: "a", Kind: "happened",
				Detail: fmt.Sprint("no. ", i+1)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := NewClient(r.d.spec.Common.Control)
	defer c.Close()
	var got Events
	if err := c.Call(t.Context(), http.MethodGet, "/v1/events?since=1", nil, &got); err != nil {
		t.Fatal(err)
	}
	if got.Next != 3 || len(got.Events) != 2 || got.Events[1].Detail != "no. 3" ||
		got.Events[0].Source != "test" || got.Events[0].Port != "a" {
		t.Errorf("%+v", got)
	}
	err := c.Call(t.Context(), http.MethodGet, "/v1/events?since=x", nil, &got)
	if err == nil || !strings.Contains(err.Error(), "want the seq") {
		t.Errorf("since=x: %v", err)
	}
	families, err := r.d.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "switchd_events_total" && f.Metric[0].Counter.GetValue() == 3 {
			return
		}
	}
	t.Error("no switchd_events_total of 3")
}
