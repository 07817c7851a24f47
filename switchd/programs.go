package switchd

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// programs are the XDP programs of the ports with the traffic classes that each has been told, so
// that one that is loaded again, because its device came back, knows the same. Devices come back
// on a goroutine of their own; everything else happens on the loop's thread.
type programs struct {
	mu    sync.Mutex
	ports []portProgram
}

type portProgram struct {
	prog    *bpf.Program // nil before it is first loaded
	classes classify.Map
}

func newPrograms(cfg *pipeline.Config) *programs {
	p := &programs{ports: make([]portProgram, len(cfg.Ports))}
	for i := range cfg.Ports {
		p.ports[i].classes = cfg.Ports[i].Classify
	}
	return p
}

// load makes the program of a port.
func (p *programs) load(port int, cfg bpf.PortConfig) (*bpf.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.ports[port]
	cfg.Map = at.classes
	prog, err := bpf.LoadSwitch(cfg)
	if err != nil {
		return nil, err
	}
	at.prog = prog
	return prog, nil
}

// reconfigure tells every program the traffic classes of cfg, from the next frame on.
func (p *programs) reconfigure(cfg *pipeline.Config) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var faults []error
	for i := range p.ports {
		at := &p.ports[i]
		if at.classes = cfg.Ports[i].Classify; at.prog == nil {
			continue
		}
		if err := unlessClosed(at.prog.SetMap(at.classes)); err != nil {
			faults = append(faults, fmt.Errorf("port %s: %w", cfg.Ports[i].Name, err))
		}
	}
	return errors.Join(faults...)
}

// unlessClosed is no error if the program is closed because its device went away: the next one
// will be told.
func unlessClosed(err error) error {
	if errors.Is(err, unix.EBADF) {
		return nil
	}
	return err
}
