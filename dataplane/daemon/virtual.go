package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Executor runs functions in the time of a machine: a loop.Loop, or a node in virtual time.
type Executor interface {
	// Do runs fn between two events of the machine and returns when it has run.
	Do(fn func(now unit.Time)) error
	// Every calls fn at every multiple of interval, from the next one on, as long as it returns
	// true.
	Every(interval time.Duration, fn func(now unit.Time) bool) error
}

// Do has run run fn and returns fn's error, or run's.
func Do(run Executor, fn func(now unit.Time) error) (err error) {
	if lost := run.Do(func(now unit.Time) { err = fn(now) }); lost != nil {
		return lost
	}
	return err
}

// Virtual is the machine of a daemon without the daemon, for a driver in virtual time. It has those
// control calls of the daemon that concern nothing but the machine.
type Virtual struct {
	Device dataplane.Device
	Pool   *frame.Pool
	Ports  []PortConfig
	MAC    func(port int) wire.MAC // of PFC frames that a fault sends out of the port
	Handle func(run Executor, mux *http.ServeMux)
}

// Caller makes control calls: a Client of a daemon's socket, or a Local.
type Caller interface {
	// Call sends req, unless nil, and decodes the answer into resp, unless nil.
	Call(ctx context.Context, method, path string, req, resp any) error
}

// Local makes control calls within the process.
type Local struct {
	Name string // for errors
	Mux  *http.ServeMux
}

// Call has the call answered before it returns.
func (l Local) Call(ctx context.Context, method, path string, req, resp any) error {
	var body bytes.Buffer
	if req != nil {
		if err := json.NewEncoder(&body).Encode(req); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://control"+path, &body)
	if err != nil {
		return err
	}
	a := recorder{header: http.Header{}, status: http.StatusOK}
	l.Mux.ServeHTTP(&a, r)
	return readAnswer(fmt.Sprintf("%s: %s %s", l.Name, method, path), a.status, &a.body, resp)
}

// recorder is the answer to a Local's call.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *recorder) Header() http.Header         { return a.header }
func (a *recorder) WriteHeader(status int)      { a.status = status }
func (a *recorder) Write(b []byte) (int, error) { return a.body.Write(b) }
