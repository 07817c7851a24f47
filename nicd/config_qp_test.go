package nicd

import (
	"strings"
	"testing"

	"github.com/rocelab/rocelab/roce/qp"
)

// What queue pairs have reaches the machine, and what they cannot have is told by its key.
func TestQPSettings(t *testing.T) {
	c, err := decode("qp: {read_depth: 3, resources: 0, max_inline: 64, credits: true, " +
		"pkey: 0x7fff, recovery: go_back_0}\n")
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	q := n.QP
	if q.ReadDepth != 3 || q.Resources != 0 || q.MaxInline != 64 || !q.Credits ||
		q.PKey != 0x7fff || q.Recovery != qp.GoBack0 {
		t.Errorf("%+v", q)
	}
	_, err = decode("qp: {read_depth: 256, resources: -1, max_inline: 1025, pkey: 0x8000}\n")
	for _, want := range []string{"qp.read_depth", "qp.resources", "qp.max_inline", "qp.pkey"} {
		if err == nil || !strings.Contains(err.Error(), want+": ") {
			t.Errorf("no fault of %s in %v", want, err)
		}
	}
	if _, err := decode("qp: {recovery: go_back_1}\n"); err == nil {
		t.Error("an unknown recovery is taken")
	}
}
