// Package labs finds the labs that run on this machine and talks to their daemons: what a command
// needs that looks at a lab from outside.
package labs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
)

// Lab is a running lab.
type Lab struct {
	lab.Info
	Dir string // with control sockets NODE.sock and logs NODE.log
}

func runningIn(root string) (list []Lab, err error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("labs: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		info, running, err := lab.ReadInfo(dir)
		if err != nil {
			return nil, err
		}
		if running {
			list = append(list, Lab{info, dir})
		}
	}
	return list, nil
}

// Find returns the running lab of that name, or, without a name, the only one there is.
func Find(name string) (*Lab, error) { return findIn(lab.RunDir, name) }

func findIn(root, name string) (*Lab, error) {
	all, err := runningIn(root)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		if all[i].Name == name || (name == "" && len(all) == 1) {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("no lab is running; rocelab up FILE makes one")
	case name == "":
		return nil, fmt.Errorf("several labs are running: choose with --lab %s",
			strings.Join(names, "|"))
	}
	return nil, fmt.Errorf("no lab %s is running; there is %s", name, strings.Join(names, ", "))
}

// Node is a node of the lab.
func (l *Lab) Node(name string) (lab.NodeInfo, error) {
	var names []string
	for _, n := range l.Nodes {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return lab.NodeInfo{}, fmt.Errorf("no node %s in lab %s: it has %s", name, l.Name,
		strings.Join(names, ", "))
}

// Ports are the devices of a node, in the order of the links.
func (l *Lab) Ports(node string) (ports []string) {
	for _, link := range l.Links {
		for _, e := range link.Endpoints {
			if e.Node == node {
				ports = append(ports, e.Device)
			}
		}
	}
	return ports
}

// Port reads "node:device", a port of the lab.
func (l *Lab) Port(text string) (port lab.Endpoint, err error) {
	if err := port.UnmarshalText([]byte(text)); err != nil {
		return port, err
	}
	if _, err := l.Node(port.Node); err != nil {
		return port, err
	}
	if _, ok := l.Peer(port); !ok {
		return port, fmt.Errorf("no port %s on %s: it has %s", port.Device, port.Node,
			strings.Join(l.Ports(port.Node), ", "))
	}
	return port, nil
}

// Client is the control socket of a node's daemon. Close it when done.
func (l *Lab) Client(node string) (*daemon.Client, error) {
	if _, err := l.Node(node); err != nil {
		return nil, err
	}
	return daemon.NewClient(filepath.Join(l.Dir, node+".sock")), nil
}
