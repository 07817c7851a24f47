package tidy

import (
	"slices"
	"strconv"
)

// layer is a row of the map of packages: who may be imported by whom.
type layer struct {
	name string
	pure []string // machines and their tools: no clock, no system, no goroutine
	rest []string // packages that touch the world
}

// layers are listed from the ground up. A package imports from its own layer and those below.
// An entry ending in /... means everything below it that has no entry of its own.
var layers = []layer{
	{name: "quantities",
		pure: []string{"dataplane/unit"},
		rest: []string{"dataplane/shm", "dataplane/netspace"}},
	{name: "wire", pure: []string{"dataplane/wire/...", "roce/ib"}},
	{name: "frame", pure: []string{"dataplane/frame"}},
	{name: "contract", pure: []string{"dataplane"}},
	{name: "parts",
		pure: []string{"dataplane/classify", "dataplane/fault", "dataplane/link",
			"dataplane/pfc", "ratelimit", "roce/...", "switchd/mmu", "switchd/qos",
			"switchd/fib", "switchd/deadlock"},
		rest: []string{"bpf/...", "dataplane/clock", "switchd/sonic"}},
	{name: "devices",
		pure: []string{"dataplane/conform", "switchd/pipeline", "switchd/thresholds", "nicd/nic",
			"nicd/app"}},
	{name: "drivers",
		pure: []string{"dataplane/engine", "dataplane/sim"},
		rest: []string{"dataplane/loop/...", "dataplane/xsk", "dataplane/capture",
			"nicd/host"}},
	{name: "daemons", rest: []string{"dataplane/daemon", "switchd", "nicd", "nicd/uverbs/...",
		"nicd/rdma/..."}},
	{name: "labs", rest: []string{"deploy/...", "nicd/perftest", "nicd/pingpong", "nicd/rping"}},
	{name: "commands", rest: []string{"cmd/...", "deploy/examples/aimd/cmd/...", "tests/..."}},
}

// pureImports is what a machine may use of the standard library. None of it reads a clock, the
// environment or a device, blocks, or keeps state of its own; fmt and time are narrowed further
// by bannedInPure.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "encoding", "encoding/binary", "encoding/hex", "errors",
	"fmt", "hash", "hash/crc32", "hash/fnv", "iter", "maps", "math", "math/bits", "math/rand",
	"math/rand/v2", "net/netip", "slices", "sort", "strconv", "strings", "time", "unicode",
	"unicode/utf8",
	// Longest prefix match. It holds no state but its tables, and imports only the above and io,
	// encoding/json and sync for what machines do not call.
	"github.com/gaissmai/bart",
}

// place is where a directory stands in the layers.
type place struct {
	level int
	pure  bool
	match string // the entry that named it
}

// locate finds the most exact entry for dir.
func locate(dir string) (best place, ok bool) {
	for level, l := range layers {
		for i, entries := range [][]string{l.pure, l.rest} {
			for _, e := range entries {
				if covers(e, dir) && len(e) >= len(best.match) {
					best, ok = place{level, i == 0, e}, true
				}
			}
		}
	}
	return best, ok
}

func covers(entry, dir string) bool {
	const tail = "/..."
	if len(entry) > len(tail) && entry[len(entry)-len(tail):] == tail {
		return under(dir, entry[:len(entry)-len(tail)])
	}
	return dir == entry
}

// Pure reports whether the package in a directory is a machine or one of its tools.
func Pure(dir string) bool {
	at, ok := locate(dir)
	return ok && at.pure
}

// imports refuses upward imports, roce/ below switchd/, switch and NIC importing each other, a
// pure package importing an impure one, and a package nobody has given a place. Tests of a
// package may import anything: they are the top of their own little world.
func (t *Tree) imports() (faults []Fault) {
	const rule = "import direction"
	for _, p := range t.Packages {
		from, ok := locate(p.Dir)
		if !ok {
			faults = append(faults, Fault{p.Files[0].Path, 1, rule,
				p.Dir + " has no place in the layers of tests/tidy/imports.go: give it one"})
			continue
		}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, spec := range f.AST.Imports {
				target, _ := strconv.Unquote(spec.Path.Value)
				if why := t.judgeImport(p.Dir, from, target); why != "" {
					faults = append(faults, t.fault(spec.Pos(), rule, "%s imports %s: %s", p.Dir,
						target, why))
				}
			}
		}
	}
	return faults
}

// judgeImport says what is wrong with dir importing target, or nothing.
func (t *Tree) judgeImport(dir string, from place, target string) string {
	to, local := t.local(target)
	if !local {
		if from.pure && !slices.Contains(pureImports, target) {
			return "it is pure, and this is not on the list of what machines may use"
		}
		return ""
	}
	at, ok := locate(to)
	switch {
	case !ok:
		return "" // reported where it is defined
	case from.pure && !at.pure:
		return "a pure package must not import one that touches the world"
	case at.level > from.level:
		return "layer " + layers[from.level].name + " is below layer " + layers[at.level].name
	case under(dir, "switchd") && under(to, "roce"):
		return "a switch knows frames, not RDMA"
	case under(dir, "switchd") && under(to, "nicd"), under(dir, "nicd") && under(to, "switchd"):
		return "switch and NIC meet on the wire only"
	}
	return ""
}
