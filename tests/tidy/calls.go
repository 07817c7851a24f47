package tidy

import (
	"go/ast"
	"slices"
	"strconv"
)

// ban is a set of names of one package that may not be used.
type ban struct {
	path  string
	names []string // what is banned, or with allow what alone is not
	allow bool
	why   string
}

func (b ban) hits(name string) bool { return slices.Contains(b.names, name) != b.allow }

// bannedInPure narrows packages that machines may import.
var bannedInPure = []ban{
	{path: "time", why: "a machine is told the time and never waits",
		names: []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer",
			"NewTicker", "Tick", "Timer", "Ticker"}},
	{path: "fmt", why: "a machine prints and reads nothing", names: []string{"Print", "Printf",
		"Println", "Scan", "Scanf", "Scanln"}},
	{path: "math/rand", why: "draw from the generator you are handed", allow: true,
		names: []string{"New", "NewSource", "NewZipf", "Rand", "Source", "Source64", "Zipf"}},
	{path: "math/rand/v2", why: "draw from the generator you are handed", allow: true,
		names: []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG",
			"ChaCha8", "Zipf"}},
}

// clockReads are the ways to ask what time it is.
var clockReads = []ban{
	{path: "time", why: "only drivers and tools read a clock",
		names: []string{"Now", "Since", "Until"}},
	{path: "golang.org/x/sys/unix", why: "only drivers and tools read a clock",
		names: []string{"ClockGettime", "Gettimeofday", "Time"}},
	{path: "syscall", why: "only drivers and tools read a clock",
		names: []string{"Gettimeofday", "Time"}},
}

// clockHomes are the directories that may read a clock.
var clockHomes = []string{"dataplane/clock", "dataplane/loop", "cmd", "deploy", "tests"}

// unsafeHome is the one package that may import unsafe: it maps shared memory.
const unsafeHome = "dataplane/shm"

// calls refuses reads of the clock, unsafe and sleeping tests outside their homes.
func (t *Tree) calls() (faults []Fault) {
	t.each(func(p *Package, f *File) {
		home := slices.ContainsFunc(clockHomes, func(h string) bool { return under(p.Dir, h) })
		if !f.Test && !home {
			faults = append(faults, t.uses(f, "clock", clockReads)...)
		}
		if f.Test {
			faults = append(faults, t.uses(f, "sleeping test", []ban{{path: "time",
				names: []string{"Sleep"}, why: "wait for the event itself, with a deadline"}})...)
		}
		if name, ok := importName(f.AST, "unsafe"); ok && p.Dir != unsafeHome && !f.Generated {
			faults = append(faults, t.fault(f.AST.Package, "unsafe",
				"%s is imported; only %s may", name, unsafeHome))
		}
	})
	return faults
}

// uses finds selectors of banned names, whatever the package is called in the file.
func (t *Tree) uses(f *File, rule string, bans []ban) (faults []Fault) {
	for _, b := range bans {
		name, ok := importName(f.AST, b.path)
		if !ok {
			continue
		}
		if name == "." {
			faults = append(faults, t.fault(f.AST.Package, rule, "%s is imported with a dot",
				b.path))
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && b.hits(sel.Sel.Name) {
				faults = append(faults, t.fault(sel.Pos(), rule, "%s.%s: %s", name,
					sel.Sel.Name, b.why))
			}
			return true
		})
	}
	return faults
}

// importName returns the name under which a file imports a package.
func importName(f *ast.File, path string) (string, bool) {
	for _, spec := range f.Imports {
		if got, _ := strconv.Unquote(spec.Path.Value); got != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name, spec.Name.Name != "_"
		}
		return baseName(path), true
	}
	return "", false
}

// baseName is the package name of the paths in the ban lists.
func baseName(path string) string {
	if path == "math/rand/v2" {
		return "rand"
	}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
