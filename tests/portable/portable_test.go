package portable

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/tests/require"
	"github.com/rocelab/rocelab/tests/tidy"
)

const root = "../.."

// target is a processor other than the one that tests run on as they are built by default.
type target struct {
	env   []string
	fused *regexp.Regexp // its instructions that round a product and a sum once
	exec  []string       // what runs its programs here
}

var (
	arm64 = target{
		env:   []string{"GOARCH=arm64", "CGO_ENABLED=0"},
		fused: regexp.MustCompile(`\tFN?M(ADD|SUB)[SD]\t`),
		exec:  []string{"-exec", "qemu-aarch64"},
	}
	v3 = target{
		env:   []string{"GOARCH=amd64", "GOAMD64=v3", "CGO_ENABLED=0"},
		fused: regexp.MustCompile(`\tVFN?M(ADD|SUB)[0-9]+S[SD]\t`),
	}
)

// run runs the go command for a target in the root of the module.
func (p *target) run(t *testing.T, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir, c.Env = root, append(os.Environ(), p.env...)
	out, err := c.CombinedOutput()
	if err != nil {
		if len(out) > 4000 {
			out = out[len(out)-4000:]
		}
		t.Fatalf("%v go %v: %v\n%s", p.env, args, err, out)
	}
	return out
}

// pure lists the packages of machines, as arguments of the go command.
func pure(t *testing.T) (list []string) {
	t.Helper()
	tree, err := tidy.Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tree.Packages {
		if tidy.Pure(p.Dir) {
			list = append(list, "./"+p.Dir)
		}
	}
	if !slices.Contains(list, "./roce/cc") || !slices.Contains(list, "./switchd/pipeline") {
		t.Fatalf("not the machines: %v", list)
	}
	return list
}

// In what the compiler makes of the machines there is no fused multiplication and addition: the Go
// language allows it in x*y + z and forbids it in float64(x*y) + z. This sees every expression,
// also one that no golden table happens to touch.
func TestNothingIsFused(t *testing.T) {
	packages := pure(t)
	for _, p := range []*target{&arm64, &v3} {
		text := p.run(t, append([]string{"build", "-gcflags=-S"}, packages...)...)
		lines := 0
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); lines++ {
			if p.fused.MatchString(s.Text()) {
				t.Errorf("%v: %s", p.env, strings.TrimSpace(s.Text()))
			}
		}
		if lines < 100_000 {
			t.Errorf("%v: %d lines of assembly for %d packages", p.env, lines, len(packages))
		}
	}
}

// The pattern finds what it is for: a product and a sum that may be fused.
func TestFusedIsFound(t *testing.T) {
	file := t.TempDir() + "/fused.go"
	const source = "package fused\n\nfunc F(x, y, z float64) float64 { return x*y + z }\n"
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*target{&arm64, &v3} {
		if text := p.run(t, "build", "-gcflags=-S", file); !p.fused.Match(text) {
			t.Errorf("%v: nothing is fused in\n%s", p.env, text)
		}
	}
}

// golden are the tables that are compared to the last digit.
var golden = []string{"test", "-vet=off", "-count=1", "-run", "^(TestStories|TestFigure1[12]|" +
	"TestShortIncasts)$", "./roce/cc", "./roce/fluid", "./tests/scenarios"}

// The golden tables are what they are on a processor with fused instructions, which the compiler
// uses at GOAMD64=v3.
func TestGoldenV3(t *testing.T) {
	require.Feature(t, "amd64v3", hasV3(t), "the processor lacks instructions of x86-64-v3")
	v3.run(t, golden...)
}

// And on arm64, which has them always.
func TestGoldenARM64(t *testing.T) {
	if runtime.GOARCH != "arm64" {
		require.Tool(t, arm64.exec[1])
	}
	arm64.run(t, slices.Insert(slices.Clone(golden), 1, arm64.exec...)...)
}

// hasV3 looks for what the x86-64 psABI counts to the level v3, by the kernel's names.
func hasV3(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "flags" {
			continue
		}
		have := strings.Fields(flags)
		for _, f := range []string{"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe",
			"xsave"} {
			if !slices.Contains(have, f) {
				return false
			}
		}
		return true
	}
	return false
}
