package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/switchd"
)

func topCommand() *cobra.Command {
	o, once, interval := new(showOptions), false, time.Second
	c := &cobra.Command{
		Use:   "top [PORT]...",
		Short: "watch rates, queues and pauses of a running lab's switches",
		Long: `top shows what each port of the switches did in the last second, drawn again every
second until q or Ctrl-C. Rates and shares are in virtual time.`,
		RunE: func(c *cobra.Command, ports []string) error {
			o.Ports = append(o.Ports, ports...)
			return o.top(c, interval, once)
		},
	}
	o.flags(c)
	f := c.Flags()
	f.BoolVarP(&o.json, "json", "j", false, "print one JSON object and end")
	f.BoolVar(&once, "once", false, "print once and end")
	f.StringArrayVarP(&o.Ports, "port", "p", nil, "only this `port`; may be repeated")
	f.DurationVar(&interval, "interval", interval, "real `time` between two pictures")
	return c
}

// Sequences of ECMA-48 that every terminal has.
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K" // from here to its end
	clearBelow  = "\x1b[J"
)

func (o *showOptions) top(c *cobra.Command, interval time.Duration, once bool) error {
	keys := quitKey(c.Context())
	defer keys.restore()
	last := make(map[string]*switchd.State)
	var at time.Time
	// look takes the states as a picture of what was since the last look.
	look := func() (*show.Answer, error) {
		now := time.Now()
		apart := now.Sub(at)
		at = now
		return o.ask(c, func(ctx context.Context, s *show.Source, o *showOptions) (show.Block,
			error) {
			st, err := s.State(ctx, &o.Filter)
			if err != nil {
				return nil, err
			}
			before := last[s.Name]
			if last[s.Name] = st; before == nil {
				before = st
			}
			return show.NewTop(before, st, apart), nil
		})
	}
	if _, err := look(); err != nil {
		return err
	}
	tick := time.NewTicker(max(interval, time.Millisecond))
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-c.Context().Done():
			return nil
		case <-keys.pressed:
			return nil
		case <-tick.C:
		}
		answer, err := look()
		switch {
		case c.Context().Err() != nil:
			return nil
		case err != nil:
			return err
		case once || o.json:
			return o.print(c, answer)
		}
		if err := draw(c, answer, first); err != nil {
			return err
		}
	}
}

// draw writes a picture over the last one, at once so that it does not flicker.
func draw(c *cobra.Command, answer *show.Answer, first bool) error {
	var text strings.Builder
	if err := answer.Text(&text); err != nil {
		return err
	}
	picture := home + strings.ReplaceAll(text.String(), "\n", clearLine+"\n") + clearBelow
	if first {
		picture = clearScreen + picture
	}
	_, err := io.WriteString(c.OutOrStdout(), picture)
	return err
}

// keyboard tells when q was pressed.
type keyboard struct {
	pressed chan struct{}
	restore func()
}

// quitKey listens for q if the input is a terminal, which then hands over keys as they are pressed
// until restore.
func quitKey(ctx context.Context) keyboard {
	k := keyboard{make(chan struct{}), func() {}}
	fd := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return k // not a terminal
	}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(fd, unix.TCSETS, &raw) != nil {
		return k
	}
	k.restore = func() {
		// What cannot be restored is told by the terminal itself.
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, before)
	}
	// It ends with the process: a read of a terminal cannot be called off.
	go func() {
		key := make([]byte, 1)
		for ctx.Err() == nil {
			if n, err := os.Stdin.Read(key); err != nil || (n == 1 && key[0] == 'q') {
				close(k.pressed)
				return
			}
		}
	}()
	return k
}
