package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd"
)

// actedDaemon is a daemon that this program can be.
type actedDaemon struct {
	program daemon.Program
	about   string
}

func daemons() []actedDaemon {
	return []actedDaemon{{switchd.Program(), "be the daemon of a switch"},
		{nicd.Program(), "be the daemon of a NIC"}}
}

func findDaemon(name string) (found actedDaemon, ok bool) {
	for _, d := range daemons() {
		if d.program.Name == name {
			return d, true
		}
	}
	return found, false
}

// run is the daemon. It minds signals itself, so nothing else of this program may.
func (d actedDaemon) run(args []string) int {
	// Lists of processes show what it is, not that of which program. If it fails they do not.
	_ = os.WriteFile("/proc/self/comm", []byte(d.program.Name), 0)
	d.program.Name = "rocelab " + d.program.Name
	return daemon.Main(d.program, args, os.Stdout, os.Stderr)
}

// aboutDaemon is the help of a command that is a daemon.
const aboutDaemon = `NAME is the program NAME inside of this one, with its options: labs that
rocelab brings up start it for each of their nodes.

  rocelab NAME -config FILE          # run it
  rocelab NAME -config FILE -check   # judge the configuration
  rocelab NAME -sample               # print a commented configuration`

// daemonCommands are for the list of commands and their help: start has been there before.
func daemonCommands() (all []*cobra.Command) {
	for _, d := range daemons() {
		name := d.program.Name
		all = append(all, &cobra.Command{
			Use:   name + " -config FILE",
			Short: d.about,
			Long:  strings.ReplaceAll(aboutDaemon, "NAME", name),
			// A daemon's options are written with one dash.
			DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usageError{fmt.Errorf("%s: want the first word, spelt out", name)}
			},
		})
	}
	return all
}
