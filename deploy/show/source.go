package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// Source is a running switch.
type Source struct {
	Name   string
	Client daemon.Caller
	Close  func() // the client, when done
	// Cache is the folder of the user's baselines, in the lab's folder: they go with the counters
	// that they are about.
	Cache string
}

// State asks for the state and applies the filter.
func (s *Source) State(ctx context.Context, f *Filter) (*switchd.State, error) {
	st := new(switchd.State)
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/state", nil, st); err != nil {
		return nil, err
	}
	return st, f.Apply(st)
}

// Cleared asks for the state with counters as since they were cleared, and tells when that was;
// nil if they were not.
func (s *Source) Cleared(ctx context.Context, f *Filter, which Counters) (*switchd.State,
	*time.Time, error) {
	st, err := s.State(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	base, err := s.baseline(which)
	if err != nil || !Since(st, which, base) {
		return st, nil, err
	}
	return st, &base.At, nil
}

// Clear has counters count from the present state on, for this user.
func (s *Source) Clear(ctx context.Context, which Counters) error {
	base := Baseline{At: time.Now()}
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/state", nil, &base.State); err != nil {
		return err
	}
	text, err := json.Marshal(base)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Cache, 0o700); err != nil {
		return fmt.Errorf("clear %s: %w", which, err)
	}
	// A reader sees the old baseline or the new one.
	fresh := s.file(which) + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return fmt.Errorf("clear %s: %w", which, err)
	}
	return os.Rename(fresh, s.file(which))
}

// ClearWatermarks has the switch let watermarks start again from what is stored.
func (s *Source) ClearWatermarks(ctx context.Context, r switchd.ClearWatermarksRequest) error {
	return s.Client.Call(ctx, http.MethodPost, "/v1/watermarks/clear", r, nil)
}

func (s *Source) file(which Counters) string {
	return filepath.Join(s.Cache, s.Name+"."+string(which)+".json")
}

// baseline is the latest clear of counters; nil if there was none.
func (s *Source) baseline(which Counters) (*Baseline, error) {
	text, err := os.ReadFile(s.file(which))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	base := new(Baseline)
	if err := json.Unmarshal(text, base); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file(which), err)
	}
	return base, nil
}

// Config asks for the configuration that runs, defaults filled in.
func (s *Source) Config(ctx context.Context) (Head, sonic.Raw, error) {
	h, err := s.head(ctx)
	if err != nil {
		return h, nil, err
	}
	var text json.RawMessage
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/config_db", nil, &text); err != nil {
		return h, nil, err
	}
	tables, _, err := sonic.Read(text)
	if err != nil {
		return h, nil, fmt.Errorf("configuration of %s: %w", s.Name, err)
	}
	return h, tables.Raw(true), nil
}

// head asks what time it is.
func (s *Source) head(ctx context.Context) (Head, error) {
	st, err := s.State(ctx, &Filter{})
	if err != nil {
		return Head{}, err
	}
	return head(st), nil
}

// Drift asks where the running configuration is not the desired one.
func (s *Source) Drift(ctx context.Context) (Block, error) {
	h, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	var d switchd.Drift
	if err := s.Client.Call(ctx, http.MethodGet, "/v1/drift", nil, &d); err != nil {
		return nil, err
	}
	return NewDrift(h, &d), nil
}

// Events asks for the events after seq that the switch keeps.
func (s *Source) Events(ctx context.Context, seq uint64) (Block, error) {
	h, err := s.head(ctx)
	if err != nil {
		return nil, err
	}
	var e daemon.Events
	path := fmt.Sprintf("/v1/events?since=%d", seq)
	if err := s.Client.Call(ctx, http.MethodGet, path, nil, &e); err != nil {
		return nil, err
	}
	return NewEvents(h, e), nil
}

// Interfaces asks for the counters of ports. With a period it asks twice, so far apart in real
// time, and tells the rates in between, which are in virtual time.
func (s *Source) Interfaces(ctx context.Context, f *Filter, period time.Duration) (Block, error) {
	var rates map[string]Rates
	var measured time.Duration
	if period > 0 {
		before, err := s.State(ctx, f)
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(period):
		}
		now, err := s.State(ctx, f)
		if err != nil {
			return nil, err
		}
		rates = NewRates(before, now)
		measured = time.Duration(now.VirtualNs - before.VirtualNs)
	}
	st, at, err := s.Cleared(ctx, f, PortCounters)
	if err != nil {
		return nil, err
	}
	b := NewInterfaceCounters(st, rates, measured, f)
	b.ClearedAt = at
	return b, nil
}
