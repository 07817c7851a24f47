package uverbs

import (
	"errors"
	"testing"

	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/cm"
)

// A connection counts towards the program's memory from when it is begun until it is forgotten,
// and one that does not come about not at all.
func TestConnectionsAreCharged(t *testing.T) {
	limits := abi.Limits{Memory: 2 * connectionBytes}
	p := newProgram(&Server{cfg: Config{Limits: limits}}, nil)
	c, fails := &p.connections, errors.New("no")
	for number, want := range []error{nil, nil, errLimit} {
		id, err := c.add(uint32(number), func() (cm.ID, error) { return cm.ID(number + 1), nil })
		if !errors.Is(err, want) || err == nil && id != cm.ID(number+1) {
			t.Errorf("connection %d: %v, want %v", number, err, want)
		}
	}
	for range 2 { // the second time there is nothing to forget
		c.forget(1)
		if got := p.memory.Load(); got != connectionBytes {
			t.Errorf("%d bytes are charged, want %d", got, connectionBytes)
		}
	}
	if _, err := c.add(1, func() (cm.ID, error) { return 0, fails }); !errors.Is(err, fails) ||
		p.memory.Load() != connectionBytes || len(c.ids) != 1 {
		t.Errorf("%v; %d connections, %d bytes", err, len(c.ids), p.memory.Load())
	}
}
