package rdma

import (
	"encoding/json"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// EventKind is what happened.
type EventKind uint8

// The events, those of ibv_get_async_event(3) and two of ours about paths.
const (
	QPFatal      EventKind = iota // the QP went to ERR
	CQError                       // a completion queue overflowed
	SRQLimit                      // fewer receives than the limit are left
	PathError                     // the way to the peer is gone: no route, or no neighbour
	PathMigrated                  // the peer's address on the link changed; the QP follows it
)

var eventNames = [...]string{"QP fatal", "CQ error", "SRQ limit reached", "path error",
	"path migrated"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown event"
}

// Event is one asynchronous event; the fields that do not concern it are nil.
type Event struct {
	Kind EventKind
	At   unit.Time
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Text string // what is known of the cause
}

// eventsKept is how many events wait to be taken.
const eventsKept = 64

// Events are what happened without a completion. The channel holds 64; when nobody takes them,
// further ones are lost. It is closed with Done.
func (d *Device) Events() <-chan Event { return d.events }

// happened is told of each event by the goroutine that reads the connection.
func (d *Device) happened(name string, body []byte) {
	if name == abi.EventCM {
		d.told(body)
		return
	}
	var a abi.Async
	if name != abi.EventAsync || json.Unmarshal(body, &a) != nil {
		return // of a daemon that knows more than we do
	}
	e := Event{Kind: EventKind(a.Kind), At: a.At, Text: a.Text}
	d.mu.Lock()
	switch e.Kind {
	case CQError:
		e.CQ = d.cqs[a.Handle]
	case SRQLimit:
		e.SRQ = d.srqs[a.Handle]
	default:
		e.QP = d.queues[a.Handle]
	}
	d.mu.Unlock()
	if e.QP != nil && e.Kind == QPFatal {
		e.QP.broken(errFatal)
	}
	select {
	case d.events <- e:
	default:
	}
}
