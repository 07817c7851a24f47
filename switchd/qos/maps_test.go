package qos

import (
	"strings"
	"testing"
)

func TestQueueSet(t *testing.T) {
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
