package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/switchd"
)

// block makes a show command's answer from a state.
type block func(*switchd.State, *showOptions) show.Block

// stateViews are the show commands that need nothing but the switch's state. Those with counters
// show them as since they were cleared.
var stateViews = []struct {
	path, about string
	counters    show.Counters
	block       block
}{
	{"pfc priority", "for which priorities ports send pauses", "",
		func(s *switchd.State, _ *showOptions) show.Block { return show.NewPFCPriority(s) }},
	{"pfc asymmetric", "ports that obey other priorities than they pause", "",
		func(s *switchd.State, _ *showOptions) show.Block { return show.NewPFCAsymmetric(s) }},
	{"pfcwd config", "settings of the watchdog", "",
		func(s *switchd.State, _ *showOptions) show.Block { return show.NewPFCWDConfig(s) }},
	{"priority-group watermark shared", "the shared pool", "", watermark(show.NewGroupShared,
		show.User)},
	{"priority-group watermark headroom", "headroom", "", watermark(show.NewGroupHeadroom,
		show.User)},
	{"priority-group persistent-watermark shared", "the shared pool", "",
		watermark(show.NewGroupShared, show.Persistent)},
	{"priority-group persistent-watermark headroom", "headroom", "",
		watermark(show.NewGroupHeadroom, show.Persistent)},
	{"priority-group watermark", "the most that was stored since it was cleared", "",
		func(s *switchd.State, _ *showOptions) show.Block {
			return show.NewGroupWatermarks(s, show.User)
		}},
	{"priority-group persistent-watermark", "the other watermark, cleared on its own", "",
		func(s *switchd.State, _ *showOptions) show.Block {
			return show.NewGroupWatermarks(s, show.Persistent)
		}},
	{"priority-group drop counters", "packets dropped", show.GroupDropCounters,
		func(s *switchd.State, _ *showOptions) show.Block { return show.NewGroupDrops(s) }},
	{"queue counters", "packets sent and dropped", show.QueueCounterSet,
		func(s *switchd.State, o *showOptions) show.Block {
			return show.NewQueueCounters(s, &o.Filter)
		}},
	{"queue wredcounters", "packets marked, and dropped by WRED", show.WREDCounterSet,
		func(s *switchd.State, o *showOptions) show.Block {
			return show.NewWREDCounters(s, &o.Filter)
		}},
	{"queue watermark unicast", "all queues", "", watermark(show.NewQueueUnicast, show.User)},
	{"queue persistent-watermark unicast", "all queues", "", watermark(show.NewQueueUnicast,
		show.Persistent)},
	{"queue watermark", "the most that was stored since it was cleared", "",
		watermark(show.NewQueueUnicast, show.User)},
	{"queue persistent-watermark", "the other watermark, cleared on its own", "",
		watermark(show.NewQueueUnicast, show.Persistent)},
	{"buffer_pool watermark", "whole pools", "", watermark(show.NewPoolWatermarks, show.User)},
	{"buffer_pool persistent-watermark", "whole pools", "", watermark(show.NewPoolWatermarks,
		show.Persistent)},
	{"buffer pool watermark", "whole pools", "", watermark(show.NewPoolWatermarks, show.User)},
	{"buffer pool persistent-watermark", "whole pools", "", watermark(show.NewPoolWatermarks,
		show.Persistent)},
	{"headroom-pool watermark", "headroom of pools", "", watermark(show.NewHeadroomWatermarks,
		show.User)},
	{"headroom-pool persistent-watermark", "headroom of pools", "",
		watermark(show.NewHeadroomWatermarks, show.Persistent)},
	{"interfaces status", "speed and state of ports", "",
		func(s *switchd.State, _ *showOptions) show.Block { return show.NewInterfaceStatus(s) }},
}

func watermark[B show.Block](fn func(*switchd.State, show.Kind) B, k show.Kind) block {
	return func(s *switchd.State, _ *showOptions) show.Block { return fn(s, k) }
}

func viewState(which show.Counters, fn block) viewer {
	return func(ctx context.Context, s *show.Source, o *showOptions) (show.Block, error) {
		if which == "" {
			st, err := s.State(ctx, &o.Filter)
			if err != nil {
				return nil, err
			}
			return fn(st, o), nil
		}
		st, at, err := s.Cleared(ctx, &o.Filter, which)
		if err != nil {
			return nil, err
		}
		b := fn(st, o)
		b.About().ClearedAt = at
		return b, nil
	}
}

func viewBuffer(parts show.Part) viewer {
	return func(ctx context.Context, s *show.Source, _ *showOptions) (show.Block, error) {
		h, raw, err := s.Config(ctx)
		if err != nil {
			return nil, err
		}
		return show.NewBuffer(h, raw, parts), nil
	}
}

func viewECN(ctx context.Context, s *show.Source, _ *showOptions) (show.Block, error) {
	h, raw, err := s.Config(ctx)
	if err != nil {
		return nil, err
	}
	return show.NewECN(h, raw), nil
}

func (o *showOptions) pfcCounters() *cobra.Command {
	history := false
	c := o.command(viewState(show.PFCCounterSet,
		func(s *switchd.State, _ *showOptions) show.Block {
			if history {
				return show.NewPFCHistory(s)
			}
			return show.NewPFCCounters(s)
		}))
	c.Use, c.Short = "counters [PORT]...", "PFC frames received and sent, by priority"
	c.Flags().BoolVar(&history, "history", false, "how long ports were paused instead")
	return c
}

func (o *showOptions) pfcwdStats() *cobra.Command {
	var empty, check bool
	view := viewState("", func(s *switchd.State, _ *showOptions) show.Block {
		return show.NewPFCWDStats(s, empty)
	})
	c := o.command(view)
	c.Use, c.Short = "stats [PORT]...", "storms found by the watchdog, by queue"
	c.Flags().BoolVarP(&empty, "empty", "e", false, "queues without a storm too")
	c.Flags().BoolVar(&check, "check-storm", false,
		"print nothing; the exit code is 1 while there is a storm, else 0")
	shown := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !check {
			return shown(c, args)
		}
		o.Ports = append(o.Ports, args...)
		answer, err := o.ask(c, view)
		if err != nil {
			return err
		}
		for _, b := range answer.Blocks {
			if b.(*show.PFCWDStats).Stormed() {
				return errFound
			}
		}
		return nil
	}
	return c
}

func (o *showOptions) interfaceCounters() *cobra.Command {
	var period time.Duration
	c := o.command(func(ctx context.Context, s *show.Source, o *showOptions) (show.Block, error) {
		return s.Interfaces(ctx, &o.Filter, period)
	})
	c.Use, c.Short = "counters [PORT]...", "packets, drops and rates of ports"
	c.Flags().DurationVar(&period, "period", 0,
		"real `time` over which rates, which are virtual, are measured; 0: no rates")
	return c
}

func (o *showOptions) events() *cobra.Command {
	var since uint64
	c := o.command(func(ctx context.Context, s *show.Source, _ *showOptions) (show.Block, error) {
		return s.Events(ctx, since)
	})
	c.Use, c.Short = "events", "the latest events of the switches; all of a lab: rocelab events"
	c.Args = cobra.NoArgs
	c.Flags().Uint64Var(&since, "since", 0, "only events after that `number` (next, in JSON)")
	return c
}
