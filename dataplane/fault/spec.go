package fault

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Kind is what goes wrong.
type Kind uint8

// The kinds. Those up to Mark act on frames by a rule, the others on the port. Zero is none.
const (
	None Kind = iota
	Loss
	Corrupt
	Duplicate
	Reorder
	Delay
	Mark
	Rate
	Down
	Freeze
	Storm
)

var kindNames = [...]string{"none", "loss", "corrupt", "dup", "reorder", "delay", "mark", "rate",
	"down", "freeze", "storm"}

func (k Kind) String() string { return kindNames[k] }

// effects are what rules do, by kind.
var effects = map[Kind]link.Effect{Loss: link.Lose, Corrupt: link.Corrupt,
	Duplicate: link.Duplicate, Reorder: link.Reorder, Delay: link.Delay, Mark: link.Mark}

// Spec is one fault. Specs may be compared; String and Parse are each other's inverse.
type Spec struct {
	Kind  Kind
	Rule  link.Rule // of the kinds that act on frames, without Faults
	Rate  unit.Rate // of Rate: what the wire carries
	Storm pfc.Set   // of Storm: the priorities held back
}

// OnFrames reports whether the fault acts on frames one by one.
func (s *Spec) OnFrames() bool { return s.Kind >= Loss && s.Kind <= Mark }

// Validate returns why the fault means nothing.
func (s *Spec) Validate() error {
	switch {
	case s.Kind == None || int(s.Kind) >= len(kindNames):
		return errors.New("no fault")
	case s.OnFrames() && s.Rule.Effect != effects[s.Kind]:
		return fmt.Errorf("%v: the rule does something else", s.Kind)
	case !s.OnFrames() && s.Rule != link.Rule{}:
		return fmt.Errorf("%v: acts on the port and chooses no frames", s.Kind)
	case (s.Kind == Rate) != (s.Rate > 0):
		return errors.New("rate: must be positive, as in rate 10Gb/s")
	case (s.Kind == Storm) != (s.Storm != 0):
		return errors.New("storm: wants priorities, as in storm 3,4")
	case s.Rule.Faults != 0:
		return errors.New("the set a rule is remembered by is the executor's")
	case s.OnFrames():
		return s.Rule.Validate()
	}
	return nil
}

// MarshalText is String, for configuration files and JSON.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is Parse.
func (s *Spec) UnmarshalText(b []byte) (err error) { *s, err = Parse(string(b)); return err }
