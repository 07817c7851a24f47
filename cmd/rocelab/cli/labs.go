package cli

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
)

func upCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up FILE",
		Short: "build the lab of a topology file and keep it until interrupted",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t := lab.Default()
			if err := daemon.Load(args[0], &t); err != nil {
				return err
			}
			l, err := lab.Up(c.Context(), t, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
			if err != nil {
				return err
			}
			defer l.Close()
			l.Start()
			fmt.Fprintf(
				c.OutOrStdout(),
				"lab %s is up; control sockets and logs in %s; end with Ctrl-C\n",
				t.Name,
				l.Dir,
			)
			select {
			case <-c.Context().Done():
				return nil
			case err := <-l.Failed():
				return err
			}
		},
	}
}

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "remove what a killed lab left behind",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return lab.Down(args[0], slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
		},
	}
}

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "check what this machine offers",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, f := range lab.Examine() {
				verdict := "ok"
				if f.Err != nil {
					verdict = "MISSING: " + f.Err.Error()
				}
				fmt.Fprintf(c.OutOrStdout(), "%-16s %-24s %s\n", f.What, f.Note, verdict)
			}
			return lab.Preflight()
		},
	}
}
