package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/switchd"
)

func clearCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "clear",
		Short: "let counters and watermarks start again, as sonic-clear does",
		Long: `clear lets counters and watermarks of a running lab's switches start again. Counters
are cleared for you alone: 'rocelab show' subtracts from then on what they were, and what
Prometheus reads goes on. Watermarks are cleared in the switch.`,
	}
	o := new(showOptions)
	o.flags(c)
	tree := &commandTree{root: c, about: map[string]string{
		"priority-group": "ingress priority groups", "queue": "egress queues",
		"priority-group watermark":            "watermarks of priority groups",
		"priority-group persistent-watermark": "their other watermarks",
		"priority-group drop":                 "drops of priority groups",
		"queue watermark":                     "watermarks of queues",
		"queue persistent-watermark":          "their other watermarks",
		"buffer_pool":                         "watermarks of buffer pools",
		"headroom-pool":                       "watermarks of headroom",
		"fdb":                                 "learnt MAC addresses",
	}}
	for _, v := range clearable {
		tree.add(v.path, v.about, o.clears(v.say, v.counters...))
	}
	for _, w := range clearableWatermarks {
		for _, kind := range []struct{ word, name string }{{"watermark", "user"},
			{"persistent-watermark", "persistent"}} {
			tree.add(w.group+" "+kind.word+w.leaf, w.about, o.does(func(ctx context.Context,
				s *show.Source) error {
				return s.ClearWatermarks(ctx, switchd.ClearWatermarksRequest{Kind: kind.name,
					Object: w.object})
			}))
		}
	}
	tree.clearForwarding(o)
	return c
}

// clearable are the counters.
var clearable = []struct {
	path, about, say string
	counters         []show.Counters
}{
	{"counters", "packets of ports", "Cleared counters", []show.Counters{show.PortCounters}},
	{"pfccounters", "PFC frames and pauses", "Clear saved PFC counters and history",
		[]show.Counters{show.PFCCounterSet}},
	{"queuecounters", "packets of queues",
		"Clear and update saved counters for all ports",
		[]show.Counters{show.QueueCounterSet}},
	{"queue wredcounters", "packets marked, or dropped by WRED",
		"Clear and update saved counters for all ports", []show.Counters{show.WREDCounterSet}},
	{"priority-group drop counters", "packets dropped", "Cleared PG drop counter",
		[]show.Counters{show.GroupDropCounters}},
}

// clearableWatermarks are cleared by a call, each of its two kinds on its own.
var clearableWatermarks = []struct{ group, leaf, about, object string }{
	{"priority-group", " shared", "the shared pool", "priority_group_shared"},
	{"priority-group", " headroom", "headroom", "priority_group_headroom"},
	{"queue", " unicast", "all queues", "queue"},
	{"buffer_pool", "", "whole pools", "buffer_pool"},
	{"headroom-pool", "", "headroom of pools", "headroom_pool"},
}

func (o *showOptions) clears(say string, counters ...show.Counters) *cobra.Command {
	c := o.does(func(ctx context.Context, s *show.Source) error {
		for _, which := range counters {
			if err := s.Clear(ctx, which); err != nil {
				return err
			}
		}
		return nil
	})
	done := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := done(c, args); err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), say)
		return nil
	}
	return c
}

// does is a command that does something to every chosen switch.
func (o *showOptions) does(fn func(context.Context, *show.Source) error) *cobra.Command {
	return &cobra.Command{
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, sources, err := o.sources()
			if err != nil {
				return err
			}
			for _, s := range sources {
				defer s.Close()
				if err := fn(c.Context(), s); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
