package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/deploy/workload"
)

// sweepCommand runs a scenario of the user's with several values of some of its settings.
func sweepCommand() *cobra.Command {
	o := new(runOptions)
	var measures []string
	c := &cobra.Command{
		Use:   "sweep FILE.yaml SETTING=VALUE,VALUE...",
		Short: "run a scenario over values of its settings and seeds",
		Long: `sweep runs a scenario with every combination of values of some of its settings, each
with as many seeds as --seeds says, and prints a table of means with their 95 % confidence
intervals. With --out the report draws each measure over the first setting.

A setting is named by the keys of the file, with a number for a place in a list. Keys that the
file leaves out are added. Measures are the numbers that 'rocelab run FILE.yaml' prints.`,
		Example: "  rocelab sweep deploy/scenarios/incast.yaml nic.cc.algorithm=dcqcn,ldcp,none\n" +
			"  rocelab sweep deploy/scenarios/incast.yaml nic.cc.params.g=0.0625,0.0039 \\\n" +
			"      fabric.star.hosts=5,9,17 --seeds 5 --measure bulk.jain --out sweep-out",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return usageError{err}
			}
			var axes []workload.Axis
			for _, arg := range args[1:] {
				a, err := workload.ParseAxis(arg)
				if err != nil {
					return usageError{err}
				}
				axes = append(axes, a)
			}
			text, err := os.ReadFile(args[0])
			if err != nil {
				return statusError{err, exitFailed}
			}
			s, err := workload.NewSweep(args[0], text, axes)
			if err != nil {
				return statusError{err, exitFailed}
			}
			return o.execute(c, []suite.Experiment{s.Experiment(measures)})
		},
	}
	o.flags(c)
	c.Flags().StringSliceVar(&measures, "measure", nil,
		"`numbers` to show, as bulk.goodput_gbps; may be repeated")
	return c
}
