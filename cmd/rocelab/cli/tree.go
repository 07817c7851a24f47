package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// commandTree grows commands of several words, as SONiC's are.
type commandTree struct {
	root  *cobra.Command
	about map[string]string // of the commands in between
}

// add puts a command at its path below the root. If it is there already because others are below
// it, it takes over what to run.
func (t *commandTree) add(path, about string, c *cobra.Command) {
	parent, name := t.parent(path)
	for _, there := range parent.Commands() {
		if there.Name() == name {
			there.Short, there.Args, there.RunE = about, cobra.NoArgs, c.RunE
			return
		}
	}
	c.Use, c.Short = name, about
	parent.AddCommand(c)
}

// addLeaf puts a command that says all about itself below a group.
func (t *commandTree) addLeaf(group string, c *cobra.Command) { t.group(group).AddCommand(c) }

func (t *commandTree) parent(path string) (parent *cobra.Command, name string) {
	cut := strings.LastIndexByte(path, ' ')
	if cut < 0 {
		return t.root, path
	}
	return t.group(path[:cut]), path[cut+1:]
}

// group finds the command at a path, and makes it if nobody has.
func (t *commandTree) group(path string) *cobra.Command {
	if path == "" {
		return t.root
	}
	parent, name := t.parent(path)
	for _, c := range parent.Commands() {
		if c.Name() == name {
			return c
		}
	}
	c := &cobra.Command{Use: name, Short: t.about[path], Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	parent.AddCommand(c)
	return c
}
