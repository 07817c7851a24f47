package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rocelab/rocelab/dataplane/fault"
)

// Info is what others may know of a running lab. It is in the lab's folder while the lab runs.
type Info struct {
	Name  string     `json:"name"`
	Nodes []NodeInfo `json:"nodes"`
	Links []LinkInfo `json:"links"`
}

// NodeInfo is a node with its daemon.
type NodeInfo struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// LinkInfo is a link by its two ends.
type LinkInfo struct {
	Endpoints [2]Endpoint `json:"endpoints"`
}

const infoFile = "lab.json"

// Info tells the nodes and links.
func (t *Topology) Info() Info {
	info := Info{Name: t.Name}
	for _, n := range t.Nodes {
		info.Nodes = append(info.Nodes, NodeInfo{n.Name, n.Kind})
	}
	for _, l := range t.Links {
		info.Links = append(info.Links, LinkInfo{l.Endpoints})
	}
	return info
}

// Peer is the other end of a port's link; false if there is no such port.
func (i *Info) Peer(port Endpoint) (Endpoint, bool) {
	for _, l := range i.Links {
		switch port {
		case l.Endpoints[0]:
			return l.Endpoints[1], true
		case l.Endpoints[1]:
			return l.Endpoints[0], true
		}
	}
	return Endpoint{}, false
}

// FaultAt is where a fault of a port has to be told: there, and of a link that goes down at its
// other end as well.
func (i *Info) FaultAt(port Endpoint, f fault.Spec) ([]Endpoint, error) {
	peer, ok := i.Peer(port)
	switch {
	case !ok:
		return nil, fmt.Errorf("no port %v", port)
	case f.Kind == fault.Down:
		return []Endpoint{port, peer}, nil
	}
	return []Endpoint{port}, nil
}

func (l *Lab) writeInfo() error {
	text, err := json.MarshalIndent(l.Topology.Info(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, infoFile), append(text, '\n'), 0o644)
}

// ReadInfo tells of the lab that has the folder, and false if it does not run.
func ReadInfo(dir string) (info Info, running bool, err error) {
	if running, err = locked(filepath.Join(dir, "lock")); err != nil || !running {
		return info, false, err
	}
	text, err := os.ReadFile(filepath.Join(dir, infoFile))
	if errors.Is(err, os.ErrNotExist) {
		return info, false, nil // it is about to come up, or going down
	}
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		return info, false, fmt.Errorf("lab in %s: %w", dir, err)
	}
	return info, true, nil
}

// locked reports whether a lab's owner lives.
func locked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // gives the lock back if we got it
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), nil
}
