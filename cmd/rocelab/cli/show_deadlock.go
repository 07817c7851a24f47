package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/deploy/show"
	"github.com/rocelab/rocelab/switchd"
)

func (o *showOptions) deadlock() *cobra.Command {
	c := &cobra.Command{
		Use:   "deadlock",
		Short: "cycles of pauses over all switches; exit code 1 if there is a deadlock",
		Long: `deadlock joins what the switches of the lab wait for and prints each cycle of pauses
with its ports, what the first of them waited for, and the ports that are paused because of it. It
is a deadlock if no queue in it can drain; the exit code is 1 then.`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		l, err := labs.Find(o.lab)
		if err != nil {
			return err
		}
		r, err := l.FindDeadlock(func(node string) (w switchd.Waits, err error) {
			err = call(c.Context(), l, node, http.MethodGet, "/v1/waits", nil, &w)
			return w, err
		})
		if err != nil {
			return err
		}
		answer := &show.Deadlock{Lab: l.Name, Report: r}
		print := answer.Text
		if o.json {
			print = answer.JSON
		}
		if err := print(c.OutOrStdout()); err != nil {
			return err
		}
		if stuck, _ := lab.Deadlocked(r); stuck > 0 {
			return errFound
		}
		return nil
	}
	return c
}
