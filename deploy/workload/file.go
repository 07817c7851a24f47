package workload

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
)

// File is a user's scenario. Times are virtual.
type File struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"` // a sentence; empty: the name

	// Fabric builds the network; Topology is a file that `rocelab up` reads, relative to this one.
	Fabric   Fabric    `yaml:"fabric"`
	Topology string    `yaml:"topology"`
	NIC      yaml.Node `yaml:"nic"`    // settings of all NICs, over the network's
	Switch   yaml.Node `yaml:"switch"` // of all switches

	Duration time.Duration `yaml:"duration"`
	Warmup   time.Duration `yaml:"warmup"`   // left out of rates
	Interval time.Duration `yaml:"interval"` // between samples; 0: a 500th of the duration

	Traffic []Traffic `yaml:"traffic"`
	Faults  []string  `yaml:"faults"` // as in `rocelab fault add`, with at and for
	Queues  []string  `yaml:"queues"` // to look at, as sw0:swp5:3
	Expect  []Expect  `yaml:"expect"`

	network lab.Topology
	queues  []scenario.Queue
	digest  uint32 // of the text, and of the network that it names
}

// Expect is what a number of the run must be. Number names: see Numbers.
type Expect struct {
	What string   `yaml:"what"`
	Min  *float64 `yaml:"min"`
	Max  *float64 `yaml:"max"`
}

// maxSamples bounds a run without an interval of its own.
const maxSamples = 500

// Load reads a file.
func Load(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Decode(path, text)
}

// Decode is Load on bytes; name stands for the file in errors and says where it is.
func Decode(name string, text []byte) (*File, error) {
	f := &File{}
	if err := daemon.Decode(name, text, f); err != nil {
		return nil, err
	}
	network, err := yaml.Marshal(f.network)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	h := fnv.New32a()
	h.Write(text)
	h.Write(network)
	f.digest = h.Sum32()
	return f, nil
}

// Resolve builds the network.
func (f *File) Resolve(src daemon.Source) (faults []daemon.Fault) {
	fault := func(path string, err error) {
		faults = append(faults, daemon.Fault{Path: path, Problem: err.Error()})
	}
	switch {
	case f.Topology != "" && f.Fabric.kind() != "":
		fault("topology", fmt.Errorf("there is a fabric, too: want one of the two"))
	case f.Topology != "":
		f.network = lab.Default()
		if err := daemon.Load(src.Path(f.Topology), &f.network); err != nil {
			fault("topology", err)
			f.network = lab.Topology{} // it has been judged
			return faults
		}
	default:
		t, err := f.Fabric.build(f.Name)
		if err != nil {
			fault("fabric", err)
			return faults
		}
		f.network = t
	}
	f.network.Name = f.Name
	if !f.NIC.IsZero() {
		if err := f.network.NIC.Merge("nic", &f.NIC); err != nil {
			fault("nic", err)
		}
	}
	if !f.Switch.IsZero() {
		if err := daemon.Merge("switch", &f.Switch, &f.network.Switch); err != nil {
			fault("switch", err)
		}
	}
	return faults
}

var queueText = regexp.MustCompile(`^([a-z0-9-]+):([A-Za-z0-9._-]+):([0-7])$`)

// Validate returns every fault.
func (f *File) Validate() (faults []daemon.Fault) {
	fault := func(path, format string, args ...any) {
		faults = append(faults, daemon.Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
	if len(f.network.Nodes) == 0 {
		return nil // there is no network to judge by, which Resolve has said
	}
	if f.Duration <= 0 {
		fault("duration", "must be positive, as 20ms")
	}
	if f.Warmup < 0 || f.Warmup >= f.Duration {
		fault("warmup", "%v is not shorter than the duration", f.Warmup)
	}
	if f.Interval < 0 || f.Interval > f.Duration {
		fault("interval", "%v: want 0 to the duration", f.Interval)
	}
	if len(f.Traffic) == 0 {
		fault("traffic", "is missing")
	}
	f.queues, f.network.Faults = nil, nil
	for i, text := range f.Queues {
		m := queueText.FindStringSubmatch(text)
		if m == nil {
			fault(fmt.Sprintf("queues[%d]", i), "%q: want switch:port:queue, as sw0:swp5:3", text)
			continue
		}
		f.queues = append(f.queues, scenario.Queue{Switch: m[1], Port: m[2],
			Queue: int(m[3][0] - '0')})
	}
	for i, text := range f.Faults {
		one, err := lab.ParseFault(text)
		if err != nil {
			fault(fmt.Sprintf("faults[%d]", i), "%v", err)
		}
		f.network.Faults = append(f.network.Faults, one)
	}
	for i, e := range f.Expect {
		if e.What == "" || e.Min == nil && e.Max == nil {
			fault(fmt.Sprintf("expect[%d]", i), "want what, and min or max")
		}
	}
	faults = append(faults, f.validateTraffic()...)
	for _, of := range f.network.Validate() {
		path := "fabric"
		for _, own := range []string{"nic.", "switch.", "faults["} {
			if strings.HasPrefix(of.Path, own) {
				path, of.Path = of.Path, ""
			}
		}
		fault(path, "%s", strings.TrimPrefix(of.Path+": "+of.Problem, ": "))
	}
	return faults
}

func (f *File) validateTraffic() (faults []daemon.Fault) {
	var names []string
	for i := range f.Traffic {
		t := &f.Traffic[i]
		at := fmt.Sprintf("traffic[%d]", i)
		if t.Name == "" {
			t.Name = fmt.Sprint("traffic", i+1)
		}
		if slices.Contains(names, t.Name) {
			faults = append(faults, daemon.Fault{Path: at + ".name",
				Problem: t.Name + " is there twice"})
		}
		names = append(names, t.Name)
		for _, one := range t.faults(f.hosts()) {
			faults = append(faults, daemon.Fault{Path: at + one.Path, Problem: one.Problem})
		}
	}
	return faults
}

// hosts are the names of the hosts in the order of the network.
func (f *File) hosts() (names []string) {
	for _, n := range f.network.Nodes {
		if n.Kind == lab.Host {
			names = append(names, n.Name)
		}
	}
	return names
}

// choose returns the hosts that one of the patterns matches (those of path.Match), in their order.
func choose(hosts []string, patterns Names) (chosen []string, err error) {
	for _, p := range patterns {
		found := false
		for _, h := range hosts {
			ok, err := filepath.Match(p, h)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", p, err)
			}
			found = found || ok
			if ok && !slices.Contains(chosen, h) {
				chosen = append(chosen, h)
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is none of the hosts", p)
		}
	}
	return chosen, nil
}

// Names is a list of patterns, or one.
type Names []string

// UnmarshalYAML reads a list or a single value.
func (n *Names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*n = Names{node.Value}
		return nil
	}
	return node.Decode((*[]string)(n))
}
