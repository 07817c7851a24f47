package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// Format is how the result is printed.
type Format uint8

// The formats.
const (
	Table Format = iota // perftest's
	JSON                // a Document
)

// Run measures on a NIC and prints to w, and to warn what a reader of it must know. If ctx ends it
// prints what was measured until then and returns the cause.
func Run(ctx context.Context, d *rdma.Device, c Config, f Format, w, warn io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-d.Done():
			cancel(fmt.Errorf("the NIC's daemon: %w: its log says why", d.Err()))
		case <-ctx.Done():
		}
	}()
	s := session{c: &c, nic: device{d}, warn: warn}
	return s.print(ctx, f, w)
}

// print runs the session with the wanted report.
func (s *session) print(ctx context.Context, f Format, w io.Writer) error {
	if f == JSON {
		d := &document{c: s.c, w: w}
		s.report = d
		err := s.run(ctx)
		return errors.Join(err, d.write(err))
	}
	s.report = &table{c: s.c, w: w}
	err := s.run(ctx)
	if err != nil {
		s.report.done()
	}
	return err
}
