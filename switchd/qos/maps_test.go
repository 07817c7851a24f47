package qos

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/pfc"
)

// TestManyToOne: two classes in one group and one queue pause together.
func TestManyToOne(t *testing.T) {
	m := Identity()
	m.Group[4], m.Queue[4] = 3, 3
	if got := m.Priorities(3); got != pfc.SetOf(3, 4) {
		t.Errorf("group 3 pauses %v", got)
	}
	if got := m.Priorities(4); got != 0 {
		t.Errorf("group 4 pauses %v", got)
	}
	if got := m.Queues(pfc.SetOf(4, 6)); got != QueueSet(0).With(3).With(6) {
		t.Errorf("queues %08b", got)
	}
	if got := QueueSet(0xff).Without(3); got.Has(3) || !got.Has(4) {
		t.Errorf("set %08b", got)
	}
}

func TestMapValidate(t *testing.T) {
	m := Identity()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	m.Queue[5] = 8
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "class 5: queue 8") {
		t.Error(err)
	}
	m = Identity()
	m.Group[2] = 9
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "2: priority group 9") {
		t.Error(err)
	}
}
