package require

import (
	"strings"
	"testing"
)

// recorder is a testing.TB that notes how it was ended instead of ending.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Skipf(format string, a ...any)  { r.skipped = format }
func (r *recorder) Fatalf(format string, a ...any) { r.failed = format }

func TestFeature(t *testing.T) {
	for _, c := range []struct {
		name            string
		promise         string
		have            bool
		skipped, failed bool
	}{
		{"present", "", true, false, false},
		{"present and promised", "root,xdp", true, false, false},
		{"missing", "", false, true, false},
		{"missing, another promised", "root,xdpx", false, true, false},
		{"missing and promised", "root, xdp", false, false, true},
	} {
		t.Setenv(Env, c.promise)
		r := &recorder{}
		Feature(r, "xdp", c.have, "no xdp here")
		if (r.skipped != "") != c.skipped || (r.failed != "") != c.failed {
			t.Errorf("%s: skipped %q failed %q", c.name, r.skipped, r.failed)
		}
	}
}

func TestToolNamesWhatIsMissing(t *testing.T) {
	t.Setenv(Env, "")
	r := &recorder{}
	Tool(r, "no-such-program-anywhere")
	if !strings.Contains(r.skipped, "needs") {
		t.Errorf("a missing tool did not skip: %+v", r)
	}
}
