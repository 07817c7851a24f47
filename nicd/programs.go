package nicd

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
)

// ProgramsConfig is who may own queue pairs on the NIC, and how many.
type ProgramsConfig struct {
	Group       string     `yaml:"group,omitempty"` // that may use the socket; root alone if empty
	MaxPrograms int        `yaml:"max_programs"`
	MaxQPs      int        `yaml:"max_qps"`     // of one program
	MaxObjects  int        `yaml:"max_objects"` // of one program, of each other kind
	MaxMemory   unit.Bytes `yaml:"max_memory"`  // of one program, with its queues
	MaxDepth    int        `yaml:"max_depth"`   // of a send or receive queue
	MaxCQDepth  int        `yaml:"max_cq_depth"`
}

func defaultPrograms() ProgramsConfig {
	l := uverbs.DefaultLimits()
	return ProgramsConfig{MaxPrograms: l.Programs, MaxQPs: l.Queues, MaxObjects: l.Objects,
		MaxMemory: unit.Bytes(l.Memory), MaxDepth: l.Depth, MaxCQDepth: l.CQDepth}
}

func (c *ProgramsConfig) limits() abi.Limits {
	return abi.Limits{Programs: c.MaxPrograms, Queues: c.MaxQPs, Objects: c.MaxObjects,
		Memory: int64(c.MaxMemory), Depth: c.MaxDepth, CQDepth: c.MaxCQDepth}
}

// maxDepth bounds what a queue takes of memory, and the numbers in its completions: our choice.
const maxDepth = 1 << 20

func (c *ProgramsConfig) validate() (faults []daemon.Fault) {
	for _, f := range []struct {
		path    string
		n, most int64
	}{{"max_programs", int64(c.MaxPrograms), 1 << 16}, {"max_qps", int64(c.MaxQPs), 1 << 20},
		{"max_objects", int64(c.MaxObjects), 1 << 20},
		{"max_memory", int64(c.MaxMemory), 1 << 50}, {"max_depth", int64(c.MaxDepth), maxDepth},
		{"max_cq_depth", int64(c.MaxCQDepth), maxDepth}} {
		if f.n < 1 || f.n > f.most {
			faults = append(faults, daemon.Fault{Path: "programs." + f.path,
				Problem: fmt.Sprintf("%d is not in 1..%d", f.n, f.most)})
		}
	}
	return faults
}

// noVerbs is the configuration without a socket for programs.
const noVerbs = "none"

// VerbsPath is the socket for programs: as configured, or beside the control socket; empty if there
// is none.
func (c *Config) VerbsPath() string {
	switch {
	case c.Verbs == noVerbs:
		return ""
	case c.Verbs != "" || c.Control == "":
		return c.Verbs
	}
	return strings.TrimSuffix(c.Control, ".sock") + ".verbs"
}

// listenPrograms makes the socket for programs, if there is to be one.
func (s *server) listenPrograms(c *Config, log *slog.Logger) (*uverbs.Server, error) {
	path := c.VerbsPath()
	if path == "" {
		return nil, nil
	}
	return uverbs.Listen(uverbs.Config{Name: c.Name, Path: path, Group: c.Programs.Group,
		Limits: c.Programs.limits(), Host: s.host, Driver: s.Loop, Log: log,
		Algorithms: algorithms, Resolve: s.resolve})
}

// resolve asks the kernel of the port's namespace for the way to a host.
func (s *server) resolve(ctx context.Context, ip, source netip.Addr) (nic.Path, error) {
	if mac := s.c.Gateway.toward(ip, wire.MAC{}); mac != (wire.MAC{}) {
		return nic.Path{IP: ip, MAC: mac}, nil
	}
	p, err := s.kernel.Resolve(ctx, ip, source)
	return nic.Path{Source: p.Source, IP: ip, MAC: p.MAC, VLAN: p.VLAN, Resolved: true}, err
}

// runWith runs the daemon with the server for its programs, which may be nil.
func (s *server) runWith(ctx context.Context, programs *uverbs.Server, log *slog.Logger) error {
	if programs == nil {
		return s.Run(ctx)
	}
	go func() {
		if err := programs.Serve(); err != nil && ctx.Err() == nil {
			log.Error("no programs are served", "reason", err)
		}
	}()
	err := s.Run(ctx)
	if e := programs.Close(); err == nil && e != nil {
		err = fmt.Errorf("verbs socket: %w", e)
	}
	return err
}
