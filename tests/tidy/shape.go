package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"unicode/utf8"
)

// The sizes of STYLE: a file is one idea, a function one screen.
const (
	maxFileLines = 500
	maxFuncLines = 70
	maxColumns   = 100
	tabColumns   = 4
)

// shape refuses what is too long. Generated files have no shape, and tests may be long files and
// hold wide tables in raw strings.
func (t *Tree) shape() (faults []Fault) {
	t.each(func(_ *Package, f *File) {
		if f.Generated {
			return
		}
		if n := t.Fset.File(f.AST.Pos()).LineCount(); n > maxFileLines && !f.Test {
			faults = append(faults, Fault{f.Path, n, "size",
				fmt.Sprintf("%d lines, at most %d: split by idea", n, maxFileLines)})
		}
		faults = append(faults, t.longFuncs(f)...)
		faults = append(faults, t.wideLines(f)...)
	})
	return faults
}

func (t *Tree) longFuncs(f *File) (faults []Fault) {
	for _, decl := range f.AST.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := t.line(fn.End()) - t.line(fn.Pos()) + 1; n > maxFuncLines {
			faults = append(faults, t.fault(fn.Pos(), "size", "%s has %d lines, at most %d",
				fn.Name.Name, n, maxFuncLines))
		}
	}
	return faults
}

func (t *Tree) wideLines(f *File) (faults []Fault) {
	excused := map[int]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && f.Test && lit.Kind == token.STRING && lit.Value[0] == '`' {
			for line := t.line(lit.Pos()); line <= t.line(lit.End()); line++ {
				excused[line] = true
			}
		}
		return true
	})
	number := 0
	for line := range bytes.Lines(f.Source) {
		number++
		if n := columns(bytes.TrimRight(line, "\r\n")); n > maxColumns && !excused[number] {
			faults = append(faults, Fault{f.Path, number, "size",
				fmt.Sprintf("%d columns, at most %d (a tab counts %d)", n, maxColumns,
					tabColumns)})
		}
	}
	return faults
}

func columns(line []byte) (n int) {
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		line = line[size:]
		if r == '\t' {
			n += tabColumns - n%tabColumns
		} else {
			n++
		}
	}
	return n
}

func (t *Tree) line(p token.Pos) int { return t.Fset.Position(p).Line }

// docs wants every package to tell its story. A directory that holds only tests has none to tell.
func (t *Tree) docs() (faults []Fault) {
	for _, p := range t.Packages {
		told, first := false, ""
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			told = told || f.AST.Doc != nil
			if first == "" {
				first = f.Path
			}
		}
		if first != "" && !told {
			faults = append(faults, Fault{first, 1, "package comment",
				"no file of " + p.Dir + " has one"})
		}
	}
	return faults
}

// unfinished matches the words that promise work instead of doing it.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

// words refuses notes of unfinished work, in Go comments and anywhere in other source.
func (t *Tree) words() (faults []Fault) {
	const rule, why = "unfinished", "do it, or describe it in an issue"
	t.each(func(_ *Package, f *File) {
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				if unfinished.MatchString(c.Text) {
					faults = append(faults, t.fault(c.Pos(), rule, why))
				}
			}
		}
	})
	for _, text := range t.Texts {
		number := 0
		for line := range bytes.Lines(text.Source) {
			if number++; unfinished.Match(line) {
				faults = append(faults, Fault{text.Path, number, rule, why})
			}
		}
	}
	return faults
}
