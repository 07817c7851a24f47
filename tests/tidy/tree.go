package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Tree is the parsed source of a module.
type Tree struct {
	Module   string
	Fset     *token.FileSet
	Packages []*Package // by directory
	Texts    []Text     // C, shell, make, YAML: searched for words only
}

// Package is the Go files of one directory, tests included.
type Package struct {
	Dir   string // relative to the module, with slashes, "." for the root
	Files []*File
}

// File is one Go file.
type File struct {
	Path      string
	Source    []byte
	AST       *ast.File
	Test      bool // name ends in _test.go
	Generated bool // says so in the customary line
}

// Text is a file in another language.
type Text struct {
	Path   string
	Source []byte
}

// Fault is one place where a rule is broken.
type Fault struct {
	Path string
	Line int // 0 for the whole file or package
	Rule string
	Text string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Text)
}

// Load parses every Go file below the root of fsys except testdata and hidden directories.
func Load(fsys fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read the module file: %w", err)
	}
	t := &Tree{Module: moduleName(mod), Fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base == "testdata"):
			return fs.SkipDir
		case d.IsDir() || base[0] == '.' || !d.Type().IsRegular():
			return nil
		}
		return t.add(fsys, name)
	})
	slices.SortFunc(t.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return t, err
}

func (t *Tree) add(fsys fs.FS, name string) error {
	ext := path.Ext(name)
	if ext != ".go" && !isText(name) {
		return nil
	}
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if ext != ".go" {
		t.Texts = append(t.Texts, Text{name, src})
		return nil
	}
	const mode = parser.ParseComments | parser.SkipObjectResolution
	file, err := parser.ParseFile(t.Fset, name, src, mode)
	if err != nil {
		return err
	}
	p := t.open(path.Dir(name))
	p.Files = append(p.Files, &File{
		Path: name, Source: src, AST: file,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(file),
	})
	return nil
}

// open returns the package of a directory, made when it is new.
func (t *Tree) open(dir string) *Package {
	if p := t.find(dir); p != nil {
		return p
	}
	p := &Package{Dir: dir}
	t.Packages = append(t.Packages, p)
	return p
}

func (t *Tree) find(dir string) *Package {
	for _, p := range t.Packages {
		if p.Dir == dir {
			return p
		}
	}
	return nil
}

// local returns the directory of an import path of this module.
func (t *Tree) local(importPath string) (dir string, ok bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// each calls visit for every Go file.
func (t *Tree) each(visit func(p *Package, f *File)) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			visit(p, f)
		}
	}
}

// fault makes a Fault at a position of the syntax tree.
func (t *Tree) fault(at token.Pos, rule, format string, a ...any) Fault {
	where := t.Fset.Position(at)
	return Fault{where.Filename, where.Line, rule, fmt.Sprintf(format, a...)}
}

func moduleName(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func isText(name string) bool {
	switch path.Ext(name) {
	case ".c", ".h", ".sh", ".yaml", ".yml":
		return true
	}
	return path.Base(name) == "Makefile"
}

// under says whether dir is root or below it.
func under(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, root+"/")
}
