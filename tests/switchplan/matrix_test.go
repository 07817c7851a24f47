package switchplan

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md")

// matrixFile is the pass matrix.
const matrixFile = "../../docs/conformance.md"

// plan is a test plan with what its cases found, in the order of the plan.
type plan struct {
	title  string
	source string
	cases  []string // in order; each has a row or an excuse
	absent map[string]string
	rows   map[string]*row
}

// row is one case.
type row struct {
	name, checks string
	ran, failed  [modes]bool
	figures      [modes][]figure
	digests      [modes][][]uint64 // of each bed that the case ran on
}

// figure is a number of ours beside the one that the configuration gives.
type figure struct{ what, want, got string }

func (p *plan) row(name, checks string) *row {
	if p.rows == nil {
		p.rows = make(map[string]*row)
	}
	if p.rows[name] == nil {
		p.rows[name] = &row{name: name, checks: checks}
	}
	return p.rows[name]
}

// begin forgets what an earlier run of the case found.
func (r *row) begin(m mode) {
	r.ran[m], r.failed[m], r.figures[m], r.digests[m] = true, false, nil, nil
}

func (r *row) note(m mode, f figure) { r.figures[m] = append(r.figures[m], f) }

func needReal(t *testing.T) {
	t.Helper()
	require.Root(t)
}

// TestMain compares the matrix after a run of everything, and takes the lab down.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if built != nil {
		if err := built.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if whole() {
		if err := compare(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// whole reports whether every case has run, in order, on both beds: nobody asked for some only, and
// the machine can do real frames and has what decodes them.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	// The kinds of frames that tshark is given are those of the cases before it.
	if f := flag.Lookup("test.shuffle"); f != nil && f.Value.String() != "off" {
		return false
	}
	_, err := exec.LookPath("tshark")
	return os.Geteuid() == 0 && err == nil
}

func compare() error {
	for _, p := range plans {
		for _, name := range p.cases {
			if p.rows[name] == nil && p.absent[name] == "" {
				return fmt.Errorf("%s: %s is listed, and has no test", p.title, name)
			}
		}
	}
	got := matrix()
	if *update {
		return os.WriteFile(matrixFile, []byte(got), 0o644)
	}
	want, err := os.ReadFile(matrixFile)
	if err != nil {
		return err
	}
	if got != string(want) {
		return fmt.Errorf("%s is not what this run found (go test ./tests/switchplan -update):\n%s",
			matrixFile, difference(string(want), got))
	}
	return nil
}

// difference is the lines that only one of two texts has.
func difference(want, got string) string {
	var out strings.Builder
	only := func(sign, a, b string) {
		has := make(map[string]bool)
		for line := range strings.Lines(b) {
			has[line] = true
		}
		for line := range strings.Lines(a) {
			if !has[line] {
				out.WriteString(sign + line)
			}
		}
	}
	only("-", want, got)
	only("+", got, want)
	return out.String()
}

const preamble = `# Conformance of the switch

Written by ` + "`go test ./tests/switchplan -update`" + `, and compared by every run of it: a run that finds
anything else fails. The cases are those of the test plans that vendors and operators run on
hardware, under the plans' own names. Each is one function that runs twice: in virtual time, and
on real frames over AF_XDP on veth, where the XDP program classifies. Expected values are computed
from the configuration of the case. After each case the ledgers of switch and tester are checked,
that all that one sent has reached the other, and that on real frames every frame came with the
bytes and at the nanosecond of virtual time (but for frames damaged on purpose).
`

func matrix() string {
	var b strings.Builder
	b.WriteString(preamble)
	for _, p := range plans {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", p.title, p.source)
		b.WriteString("| Case | What is checked | From the configuration | Virtual time" +
			" | Real frames |\n|---|---|---|---|---|\n")
		for _, name := range p.cases {
			if r := p.rows[name]; r != nil {
				b.WriteString(r.String())
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | | does not apply | does not apply |\n", name,
				p.absent[name])
		}
	}
	return b.String()
}

func (r *row) String() string {
	want := join(r.figures[inVirtualTime], func(f figure) (string, string) {
		return f.what, f.want
	})
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", r.name, r.checks, want,
		r.verdict(inVirtualTime), r.verdict(onRealFrames))
}

func (r *row) verdict(m mode) string {
	switch {
	case !r.ran[m]:
		return "not run"
	case r.failed[m]:
		return "**fail**: " + join(r.figures[m], func(f figure) (string, string) {
			return f.what, f.got
		})
	case len(r.figures[m]) == 0:
		return "pass"
	}
	got := join(r.figures[m], func(f figure) (string, string) { return f.what, f.got })
	var values []string
	for _, part := range strings.Split(got, "; ") {
		_, value, _ := strings.Cut(part, ": ")
		values = append(values, value)
	}
	return "pass: " + strings.Join(values, "; ")
}

// join writes figures as "name: value, value; name: value", each name where it came first. Values
// that are all the same are written once.
func join(figures []figure, pick func(f figure) (name, value string)) string {
	var names []string
	values := make(map[string][]string)
	for _, f := range figures {
		name, value := pick(f)
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], value)
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, name+": "+strings.Join(slices.Compact(values[name]), ", "))
	}
	return strings.Join(parts, "; ")
}

// Every row belongs to a case that its plan lists, so that none is left out of the matrix.
func TestEveryCaseHasAPlace(t *testing.T) {
	for _, p := range plans {
		listed := make(map[string]bool)
		for _, name := range p.cases {
			if listed[name] {
				t.Errorf("%s: %s is listed twice", p.title, name)
			}
			listed[name] = true
		}
		for name := range p.absent {
			if !listed[name] {
				t.Errorf("%s: %s does not apply, and is not listed", p.title, name)
			}
		}
	}
}
