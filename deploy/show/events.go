package show

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
)

// Events is `show events`: the latest events that a daemon keeps. Times are virtual.
type Events struct {
	Head
	daemon.Events
}

// NewEvents shows events.
func NewEvents(h Head, e daemon.Events) *Events {
	if e.Events == nil {
		e.Events = []daemon.Event{}
	}
	return &Events{h, e}
}

// Text implements Block.
func (b *Events) Text() string {
	t := left("Time", "Port", "Source", "Event", "Detail")
	t.left[0] = false
	for i := range b.Events.Events {
		e := &b.Events.Events[i]
		t.row(time.Duration(e.AtNs).String(), orDash(e.Port), e.Source, e.Kind, e.Detail)
	}
	text := t.String()
	if b.Missed > 0 {
		text += fmt.Sprintf("%s earlier events are not kept\n", commas(b.Missed))
	}
	return text
}
