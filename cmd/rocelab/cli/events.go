package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/labs"
)

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// eventRow is an event of a lab.
type eventRow struct {
	Node string `json:"node"`
	daemon.Event
}

func eventsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "events [NODE]...",
		Short: "what happened in a running lab: faults and the frames they hit, watchdogs, links",
	}
	name := labFlag(c)
	asJSON := c.Flags().Bool("json", false, "print JSON")
	kind := c.Flags().String("kind", "", "only events of this `kind`, as fault_loss")
	c.RunE = func(c *cobra.Command, nodes []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		if len(nodes) == 0 {
			for _, n := range l.Nodes {
				nodes = append(nodes, n.Name)
			}
		}
		rows := []eventRow{}
		for _, node := range nodes {
			var got daemon.Events
			if err := call(c.Context(), l, node, http.MethodGet, "/v1/events", nil,
				&got); err != nil {
				return err
			}
			if got.Missed > 0 {
				fmt.Fprintf(c.ErrOrStderr(), "%s: %d earlier events are not kept any more\n", node,
					got.Missed)
			}
			for _, e := range got.Events {
				if *kind == "" || e.Kind == *kind {
					rows = append(rows, eventRow{node, e})
				}
			}
		}
		slices.SortStableFunc(rows, func(a, b eventRow) int { return cmp.Compare(a.AtNs, b.AtNs) })
		if *asJSON {
			return printJSON(c.OutOrStdout(), rows)
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TIME\tPLACE\tEVENT\tDETAIL")
		for _, r := range rows {
			place := r.Node
			if r.Port != "" {
				place += ":" + r.Port
			}
			fmt.Fprintf(w, "%v\t%s\t%s\t%s\n", time.Duration(r.AtNs), place, r.Kind, r.Detail)
		}
		return w.Flush()
	}
	return c
}
