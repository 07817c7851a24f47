package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
)

// checker type-checks pure packages, each once, in the order of their imports.
type checker struct {
	tree   *Tree
	info   *types.Info
	others types.Importer // of what is not ours
	done   map[string]*types.Package
	faults map[string][]Fault
}

func newChecker(t *Tree) *checker {
	return &checker{
		tree: t,
		info: &types.Info{
			Types:      map[ast.Expr]types.TypeAndValue{},
			Defs:       map[*ast.Ident]types.Object{},
			Uses:       map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
		others: importer.ForCompiler(t.Fset, "gc", exported()),
		done:   map[string]*types.Package{},
		faults: map[string][]Fault{},
	}
}

// exported finds the compiler's export data of what pure code may import, and of what that imports.
// The importer finds the standard library's by itself, but no module's.
func exported() importer.Lookup {
	files := make(map[string]string)
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"},
		pureImports...)
	out, err := exec.Command("go", args...).Output()
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return func(name string) (io.ReadCloser, error) {
		if err != nil {
			return nil, fmt.Errorf("go list -export: %w", err)
		}
		if files[name] == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(files[name])
	}
}

// load checks the package of a directory. Source that does not type-check is a fault, because
// the rules on types would be blind in it.
func (c *checker) load(dir string) (*types.Package, []Fault) {
	if p, ok := c.done[dir]; ok {
		return p, c.faults[dir]
	}
	importPath := c.tree.Module + "/" + dir
	c.done[dir] = blank(importPath) // an import cycle ends here
	var files []*ast.File
	if p := c.tree.find(dir); p != nil {
		for _, f := range p.Files {
			if !f.Test {
				files = append(files, f.AST)
			}
		}
	}
	conf := types.Config{Importer: c, FakeImportC: true, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && !e.Soft {
			c.faults[dir] = append(c.faults[dir],
				c.tree.fault(e.Pos, "purity", "type check: %s", e.Msg))
		}
	}}
	p, _ := conf.Check(importPath, c.tree.Fset, files, c.info)
	c.done[dir] = p
	return p, c.faults[dir]
}

// Import serves the packages that pure code may import. Any other is empty: that it is imported
// at all is reported by the import rule.
func (c *checker) Import(importPath string) (*types.Package, error) {
	if dir, ok := c.tree.local(importPath); ok {
		if !Pure(dir) {
			return blank(importPath), nil
		}
		p, _ := c.load(dir)
		return p, nil
	}
	if p, err := c.others.Import(importPath); err == nil {
		return p, nil
	}
	return blank(importPath), nil
}

func blank(importPath string) *types.Package {
	p := types.NewPackage(importPath, path.Base(importPath))
	p.MarkComplete()
	return p
}
