package tidy

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// broken is a small source that breaks one rule once, at the line that ends in "// here", or
// at the line given. A want of "" means that the rule must find nothing.
type broken struct {
	name string
	path string
	src  string
	want string // part of the message
	line int    // when no line is marked
}

func TestImportRule(t *testing.T) {
	check(t, (*Tree).imports, []broken{
		{name: "a machine reads files", path: "roce/qp/a.go", want: "not on the list",
			src: "package qp\nimport \"os\" // here"},
		{name: "a machine takes a lock", path: "ratelimit/a.go", want: "not on the list",
			src: "package ratelimit\nimport \"sync\" // here"},
		{name: "a machine uses a library", path: "nicd/app/a.go", want: "not on the list",
			src: "package app\nimport \"example.org/x\" // here"},
		{name: "a machine maps memory", path: "dataplane/link/a.go", want: "touches the world",
			src: "package link\nimport \"example.org/m/dataplane/shm\" // here"},
		{name: "upwards", path: "dataplane/frame/a.go", want: "is below layer",
			src: "package frame\nimport \"example.org/m/switchd/mmu\" // here"},
		{name: "wire below frame", path: "dataplane/wire/a.go", want: "is below layer",
			src: "package wire\nimport \"example.org/m/dataplane/frame\" // here"},
		{name: "a switch that knows RDMA", path: "switchd/pipeline/a.go", want: "not RDMA",
			src: "package pipeline\nimport \"example.org/m/roce/ib\" // here"},
		{name: "a switch daemon that knows RDMA", path: "switchd/a.go", want: "not RDMA",
			src: "package switchd\nimport \"example.org/m/roce/ib\" // here"},
		{name: "a NIC that knows the switch", path: "nicd/nic/a.go", want: "on the wire only",
			src: "package nic\nimport \"example.org/m/switchd/qos\" // here"},
		{name: "a package without a place", path: "misc/a.go", want: "no place", line: 1,
			src: "package misc"},
		{name: "a daemon uses all", path: "nicd/a.go", src: "package nicd\nimport (\n" +
			"\"os\"\n\"example.org/m/nicd/nic\"\n\"example.org/m/dataplane/loop\"\n)"},
		{name: "a machine's test uses all", path: "roce/qp/a_test.go",
			src: "package qp\nimport (\n\"os\"\n\"example.org/m/dataplane/sim\"\n)"},
		{name: "a machine uses addresses", path: "roce/qp/a.go",
			src: "package qp\nimport \"net/netip\""},
	})
}

func TestPurityRule(t *testing.T) {
	in := func(body string) string { return "package qp\n" + body }
	check(t, (*Tree).purity, []broken{
		{name: "clock", want: "time.Now", path: "roce/qp/a.go",
			src: in("import \"time\"\nfunc f() time.Time { return time.Now() } // here")},
		{name: "clock under another name", want: "wall.Since", path: "roce/qp/a.go",
			src: in("import wall \"time\"\nfunc f(t wall.Time) { _ = wall.Since(t) } // here")},
		{name: "clock as a value", want: "time.Now", path: "roce/qp/a.go",
			src: in("import \"time\"\nvar clock = time.Now // here")},
		{name: "durations", path: "roce/qp/a.go",
			src: in("import \"time\"\nconst d = 55 * time.Microsecond")},
		{name: "global generator", want: "rand.IntN", path: "roce/qp/a.go",
			src: in("import \"math/rand/v2\"\nfunc f() int { return rand.IntN(3) } // here")},
		{name: "own generator", path: "roce/qp/a.go",
			src: in("import \"math/rand/v2\"\nfunc f(r *rand.Rand) int { return r.IntN(3) }")},
		{name: "print", want: "fmt.Println", path: "roce/qp/a.go",
			src: in("import \"fmt\"\nfunc f() { fmt.Println() } // here")},
		{name: "println", want: "prints nothing", path: "roce/qp/a.go",
			src: in("func f() { println() } // here")},
		{name: "goroutine", want: "no goroutine", path: "roce/qp/a.go",
			src: in("func f() { go f() } // here")},
		{name: "channel", want: "no channels", path: "roce/qp/a.go",
			src: in("type t struct { c chan int } // here")},
		{name: "select", want: "select", path: "roce/qp/a.go",
			src: in("func f() { select {} } // here")},
		{name: "map order", want: "range over a map", path: "roce/qp/a.go",
			src: in("type table map[int]int\nfunc f(m table) {\nfor range m { // here\n}\n}")},
		{name: "map order of a parameter", want: "range over a map", path: "roce/qp/a.go",
			src: in("func f[M ~map[int]int](m M) {\nfor range m { // here\n}\n}")},
		{name: "map order excused", path: "roce/qp/a.go",
			src: in("func f(m map[int]int) {\nfor k := range m { // order does not matter\n" +
				"delete(m, k)\n}\n}")},
		{name: "slice order", path: "roce/qp/a.go",
			src: in("func f(m []int) {\nfor range m {\n}\n}")},
		{name: "does not compile", want: "type check", path: "roce/qp/a.go",
			src: in("func f() int { return nothing } // here")},
		{name: "a test may", path: "roce/qp/a_test.go",
			src: in("import \"time\"\nfunc f() { go f(); _ = time.Now }")},
		{name: "a daemon may", path: "nicd/a.go",
			src: "package nicd\nfunc f(m map[int]int) { for range m { go f(m) } }"},
	})
}

// TestPuritySeesEachUseOfAChannel counts the ways in one source, as none comes without the type.
func TestPuritySeesEachUseOfAChannel(t *testing.T) {
	tree, err := Load(fstest.MapFS{
		"go.mod": {Data: []byte("module example.org/m\n")},
		"roce/qp/a.go": {Data: []byte("package qp\nfunc f(c chan int) {\nc <- 1\n<-c\n" +
			"select {}\n}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, f := range tree.purity() {
		lines = append(lines, f.Line)
	}
	if want := []int{2, 3, 4, 5}; !slices.Equal(lines, want) {
		t.Errorf("faults at lines %v, want %v", lines, want)
	}
}

func TestGlobalsRule(t *testing.T) {
	in := func(body string) string { return "package qp\n" + body }
	check(t, (*Tree).purity, []broken{
		{name: "counter", want: "n is state", path: "roce/qp/a.go",
			src: in("var n int\nfunc f() { n++ } // here")},
		{name: "field", want: "s is state", path: "roce/qp/a.go",
			src: in("var s struct{ a [2]int }\nfunc f() { s.a[1] = 2 } // here")},
		{name: "map element", want: "m is state", path: "roce/qp/a.go",
			src: in("var m = map[int]int{}\nfunc f() { m[1] = 2 } // here")},
		{name: "delete", want: "m is state", path: "roce/qp/a.go",
			src: in("var m = map[int]int{}\nfunc f() { delete(m, 1) } // here")},
		{name: "hook", want: "hook is state", path: "roce/qp/a.go",
			src: in("var hook = func() {}\nfunc Set(h func()) { hook = h } // here")},
		{name: "address", want: "by address", path: "roce/qp/a.go",
			src: in("var n int\nfunc f() *int { return &n } // here")},
		{name: "method", want: "by a method", path: "roce/qp/a.go",
			src: in("type c int\nfunc (p *c) add() { *p++ }\nvar n c\n" +
				"func f() { n.add() } // here")},
		{name: "row by address", path: "roce/qp/a.go",
			src: in("type r struct{}\nfunc (*r) size() int { return 1 }\nvar t [4]r\n" +
				"func f() *r { _ = t[0].size(); return &t[1] }")},
		{name: "generator", want: "by a method", path: "roce/qp/a.go",
			src: in("import \"math/rand/v2\"\nvar r = rand.New(rand.NewPCG(1, 2))\n" +
				"func f() int { return r.IntN(3) } // here")},
		{name: "table", path: "roce/qp/a.go",
			src: in("var t = [...]string{\"a\"}\nfunc f(i int) string { return t[i] }")},
		{name: "table filled by init", path: "roce/qp/a.go",
			src: in("var t [4]int\nfunc init() { for i := range t { t[i] = i } }")},
		{name: "error", path: "roce/qp/a.go",
			src: in("import \"errors\"\nvar E = errors.New(\"e\")\n" +
				"func f() string { return E.Error() }")},
		{name: "local of the same name", path: "roce/qp/a.go",
			src: in("var n int\nfunc f() int { n := 1; n++; return n }")},
	})
}

func TestCallsRule(t *testing.T) {
	check(t, (*Tree).calls, []broken{
		{name: "clock in a daemon", want: "time.Now", path: "switchd/a.go",
			src: "package switchd\nimport \"time\"\nvar t = time.Now() // here"},
		{name: "clock by system call", want: "unix.ClockGettime", path: "dataplane/xsk/a.go",
			src: "package xsk\nimport \"golang.org/x/sys/unix\"\n" +
				"var f = unix.ClockGettime // here"},
		{name: "clock with a dot", want: "with a dot", path: "switchd/a.go", line: 1,
			src: "package switchd\nimport . \"time\"\nvar t = Now()"},
		{name: "clock in the loop", path: "dataplane/loop/a.go",
			src: "package loop\nimport \"time\"\nvar t = time.Now()"},
		{name: "unsafe", want: "unsafe is imported", path: "dataplane/xsk/a.go", line: 1,
			src: "package xsk\nimport \"unsafe\"\nvar s = unsafe.Sizeof(0)"},
		{name: "unsafe at home", path: "dataplane/shm/a.go",
			src: "package shm\nimport \"unsafe\"\nvar s = unsafe.Sizeof(0)"},
		{name: "sleeping test", want: "time.Sleep", path: "cmd/x/a_test.go",
			src: "package main\nimport \"time\"\nfunc f() { time.Sleep(1) } // here"},
	})
}

func TestShapeRule(t *testing.T) {
	long := "package shm\nfunc f() { // here\n" + strings.Repeat("f()\n", 69) + "}"
	wide := strings.Repeat("x", 101)
	check(t, (*Tree).shape, []broken{
		{name: "long file", want: "501 lines", path: "dataplane/shm/a.go", line: 501,
			src: "package shm" + strings.Repeat("\n", 501)},
		{name: "long test", path: "dataplane/shm/a_test.go",
			src: "package shm" + strings.Repeat("\n", 501)},
		{name: "file of the right length", path: "dataplane/shm/a.go",
			src: "package shm" + strings.Repeat("\n", 500)},
		{name: "long function", want: "f has 71 lines", path: "dataplane/shm/a.go", src: long},
		{name: "function of the right length", path: "dataplane/shm/a.go",
			src: strings.Replace(long, "f()\nf()\n", "f()\n", 1)},
		{name: "long function, generated", path: "dataplane/shm/a.go",
			src: "// Code generated by x. DO NOT EDIT.\n\n" + long},
		{name: "wide line", want: "101 columns", path: "dataplane/shm/a.go", line: 2,
			src: "package shm\n//" + wide[2:]},
		{name: "wide by a tab", want: "103 columns", path: "dataplane/shm/a.go", line: 3,
			src: "package shm\nfunc f() {\n\t//" + wide[4:] + "\n}"},
		{name: "wide table in a test", path: "dataplane/shm/a_test.go",
			src: "package shm\nconst s = `\n" + wide + "\n`"},
		{name: "wide table elsewhere", want: "101 columns", path: "dataplane/shm/a.go", line: 3,
			src: "package shm\nconst s = `\n" + wide + "\n`"},
		{name: "wide in runes only", path: "dataplane/shm/a.go",
			src: "package shm\n// " + strings.Repeat("µ", 97)},
	})
}

func TestDocsRule(t *testing.T) {
	check(t, (*Tree).docs, []broken{
		{name: "no comment", want: "no file of cmd/x", path: "cmd/x/a.go", line: 1,
			src: "package main"},
		{name: "comment", path: "cmd/x/a.go", src: "// Command x.\npackage main"},
		{name: "tests only", path: "tests/x/a_test.go", src: "package x"},
	})
}

func TestWordsRule(t *testing.T) {
	for _, word := range []string{"TODO", "FIXME", "XXX", "HACK"} {
		check(t, (*Tree).words, []broken{
			{name: "comment", want: "unfinished", path: "cmd/x/a.go", line: 2,
				src: "package main\n// " + word + ": later"},
			{name: "C", want: "unfinished", path: "bpf/a.c", line: 1, src: "/* " + word + " */"},
			{name: "script", want: "unfinished", path: "deploy/a.sh", line: 1, src: "# " + word},
			{name: "part of a name", path: "deploy/a.sh", src: "mktemp a." + word + word},
		})
	}
}

func TestSkipsRule(t *testing.T) {
	check(t, (*Tree).skips, []broken{
		{name: "skip", want: "tests/require", path: "cmd/x/a_test.go",
			src: "package main\nimport \"testing\"\n" +
				"func TestX(t *testing.T) { t.Skip() } // here"},
		{name: "skip in a helper", want: "tests/require", path: "tests/x/a.go",
			src: "package x\nimport \"testing\"\n" +
				"func f(tb testing.TB) { tb.Skipf(\"x\") } // here"},
		{name: "skip in a closure", want: "tests/require", path: "cmd/x/a_test.go",
			src: "package main\nimport \"testing\"\nfunc TestX(t *testing.T) {\n" +
				"t.Run(\"\", func(s *testing.T) {\ns.SkipNow() // here\n})\n}"},
		{name: "a property rejects an example", path: "cmd/x/a_test.go",
			src: "package main\nimport (\"testing\"; \"pgregory.net/rapid\")\n" +
				"func TestX(t *testing.T) { rapid.Check(t, func(t *rapid.T) { t.Skip() }) }"},
		{name: "at home", path: "tests/require/a.go",
			src: "package require\nimport \"testing\"\nfunc f(tb testing.TB) { tb.Skip() }"},
	})
}

func TestLocateTakesTheMostExactEntry(t *testing.T) {
	for dir, want := range map[string]bool{
		"dataplane": true, "dataplane/wire/wiretest": true, "dataplane/loop": false,
		"switchd": false, "switchd/mmu": true, "roce/cc/dcqcn": true, "tests/tidy": false,
	} {
		if got := Pure(dir); got != want {
			t.Errorf("%s: pure %v, want %v", dir, got, want)
		}
	}
}

// check runs a rule over each source alone.
func check(t *testing.T, rule func(*Tree) []Fault, cases []broken) {
	t.Helper()
	for _, c := range cases {
		tree, err := Load(fstest.MapFS{
			"go.mod": {Data: []byte("module example.org/m\n")},
			c.path:   {Data: []byte(c.src)},
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		faults := rule(tree)
		switch {
		case c.want == "" && len(faults) > 0:
			t.Errorf("%s: refused: %v", c.name, faults)
		case c.want == "":
		case len(faults) != 1:
			t.Errorf("%s: %d faults, want one: %v", c.name, len(faults), faults)
		case !strings.Contains(faults[0].String(), c.want) || faults[0].Line != c.where():
			t.Errorf("%s: got %v, want %q at line %d", c.name, faults[0], c.want, c.where())
		}
	}
}

// where is the line of the fault.
func (c broken) where() int {
	before, _, found := strings.Cut(c.src, "// here")
	if !found {
		return c.line
	}
	return 1 + strings.Count(before, "\n")
}
