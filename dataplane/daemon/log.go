package daemon

import (
	"fmt"
	"io"
	"log/slog"
)

func parseLevel(s string) (slog.Level, error) {
	var l slog.Level
	if s == "" {
		return slog.LevelInfo, nil
	}
	if err := l.UnmarshalText([]byte(s)); err != nil {
		return l, fmt.Errorf("%q: want debug, info, warn or error", s)
	}
	return l, nil
}

// NewLog returns a structured log with the daemon's name on every line.
func NewLog(w io.Writer, c *Common) *slog.Logger {
	level, err := parseLevel(c.LogLevel)
	if err != nil {
		level = slog.LevelInfo // Validate has refused it before
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})).With("name", c.Name)
}
