package tidy

import (
	"go/ast"
	"strconv"
)

// skipHome is the one package that may end a test early: its skips say what is lacking and turn
// into failures where the machine promised it.
const skipHome = "tests/require"

// skips refuses Skip, Skipf and SkipNow on a testing.T, B, F or TB anywhere else. The receiver is
// known by its declaration as a parameter, so a property's own Skip, which rejects an
// example, is left alone.
func (t *Tree) skips() (faults []Fault) {
	t.each(func(p *Package, f *File) {
		name, ok := importName(f.AST, "testing")
		if !ok || p.Dir == skipHome {
			return
		}
		for _, decl := range f.AST.Decls {
			ast.Walk(skipVisitor{t, name, nil, &faults}, decl)
		}
	})
	return faults
}

// skipVisitor walks with the names that are testing parameters at this depth.
type skipVisitor struct {
	tree    *Tree
	testing string // the file's name for package testing
	params  map[string]bool
	faults  *[]Fault
}

func (v skipVisitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return v.enter(n.Type)
	case *ast.FuncLit:
		return v.enter(n.Type)
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		switch sel.Sel.Name {
		case "Skip", "Skipf", "SkipNow":
			if x, ok := sel.X.(*ast.Ident); ok && v.params[x.Name] {
				*v.faults = append(*v.faults, v.tree.fault(n.Pos(), "skip", "%s",
					"say what is lacking through "+strconv.Quote(skipHome)))
			}
		}
	}
	return v
}

// enter returns the visitor for a function body: its parameters hide those outside.
func (v skipVisitor) enter(fn *ast.FuncType) ast.Visitor {
	inner := map[string]bool{}
	for name, is := range v.params {
		inner[name] = is
	}
	for _, field := range fn.Params.List {
		for _, name := range field.Names {
			inner[name.Name] = v.isTesting(field.Type)
		}
	}
	v.params = inner
	return v
}

func (v skipVisitor) isTesting(e ast.Expr) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == v.testing
}
