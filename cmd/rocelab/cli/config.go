package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/labs"
	"github.com/rocelab/rocelab/switchd"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "change, compare and export the configuration of a running switch",
		Long: `config changes what a switch of a running lab does without losing a frame, and
tells where that is not what its file desires. Tables, keys and fields are those of SONiC's
CONFIG_DB.`,
	}
	c.AddCommand(configReloadCommand(), configSetCommand(), configDriftCommand(),
		configExportCommand())
	return c
}

// onSwitch is a command about one switch of a running lab.
func onSwitch(c *cobra.Command, run func(c *cobra.Command, l *labs.Lab, args []string) error) {
	name := labFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		l, err := labs.Find(*name)
		if err != nil {
			return err
		}
		return run(c, l, args)
	}
}

func configReloadCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reload SWITCH [FILE]",
		Short: "read the configuration again, or another one",
		Args:  cobra.RangeArgs(1, 2),
	}
	onSwitch(c, func(c *cobra.Command, l *labs.Lab, args []string) error {
		var req switchd.ConfigRequest
		if len(args) == 2 {
			path, err := filepath.Abs(args[1])
			if err != nil {
				return err
			}
			req.Path = path
		}
		return change(c, l, args[0], "/v1/config", req)
	})
	return c
}

func configSetCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "set SWITCH TABLE KEY FIELD [VALUE]",
		Short: "change one field of what runs; without a value, take it out",
		Example: "  rocelab config set sw0 WRED_PROFILE AZURE_LOSSLESS green_max_threshold " +
			"400KB\n" +
			"  rocelab config set sw0 BUFFER_PROFILE pg_lossless_profile dynamic_th 1/64\n" +
			"  rocelab config set sw0 PORT_QOS_MAP swp1 pfc_enable 3",
		Args: cobra.RangeArgs(4, 5),
	}
	onSwitch(c, func(c *cobra.Command, l *labs.Lab, args []string) error {
		req := switchd.SetRequest{Table: args[1], Key: args[2], Field: args[3]}
		if len(args) == 5 {
			req.Value = args[4]
		}
		return change(c, l, args[0], "/v1/qos", req)
	})
	return c
}

// change makes a call that changes what runs, and prints what it changed.
func change(c *cobra.Command, l *labs.Lab, node, path string, req any) error {
	var r switchd.ConfigResult
	if err := call(c.Context(), l, node, http.MethodPost, path, req, &r); err != nil {
		return err
	}
	w := c.OutOrStdout()
	for _, d := range r.Changed {
		fmt.Fprintf(w, "%s|%s|%s: %s -> %s\n", d.Table, d.Key, d.Field, orNothing(d.Running),
			orNothing(d.Desired))
	}
	if len(r.Changed) == 0 {
		fmt.Fprintln(w, "nothing changed")
	}
	for _, remark := range r.Remarks {
		fmt.Fprintln(w, "note", remark)
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func configDriftCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "drift SWITCH",
		Short: "tell where the running configuration is not the desired one; exits with 1 if so",
		Args:  cobra.ExactArgs(1),
	}
	asJSON := c.Flags().BoolP("json", "j", false, "print JSON")
	onSwitch(c, func(c *cobra.Command, l *labs.Lab, args []string) error {
		var d switchd.Drift
		err := call(c.Context(), l, args[0], http.MethodGet, "/v1/drift", nil, &d)
		if err != nil {
			return err
		}
		w := c.OutOrStdout()
		if *asJSON {
			if err := json.NewEncoder(w).Encode(d); err != nil {
				return err
			}
		} else {
			for _, diff := range d.Differences {
				fmt.Fprintln(w, diff)
			}
		}
		if d.Error != "" {
			fmt.Fprintln(c.ErrOrStderr(), "the desired configuration cannot be read:", d.Error)
		}
		if d.Error != "" || len(d.Differences) > 0 {
			return errFound
		}
		return nil
	})
	return c
}

func configExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export SWITCH",
		Short: "print what runs as a config_db.json",
		Args:  cobra.ExactArgs(1),
	}
	onSwitch(c, func(c *cobra.Command, l *labs.Lab, args []string) error {
		var text json.RawMessage
		err := call(c.Context(), l, args[0], http.MethodGet, "/v1/config_db", nil, &text)
		if err != nil {
			return err
		}
		enc := json.NewEncoder(c.OutOrStdout())
		enc.SetIndent("", "    ")
		return enc.Encode(text)
	})
	return c
}
