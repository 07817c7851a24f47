package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
)

// orderComment, at the end of a line, says that a range over a map gives the same result in
// every order.
const orderComment = "// order does not matter"

// purity refuses in pure packages what would make two runs differ: goroutines, channels, state
// in package-level variables, global generators, and the order of a map.
func (t *Tree) purity() (faults []Fault) {
	check := newChecker(t)
	for _, p := range t.Packages {
		if !Pure(p.Dir) {
			continue
		}
		_, errs := check.load(p.Dir)
		faults = append(faults, errs...)
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			faults = append(faults, t.uses(f, "purity", bannedInPure)...)
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if why := impure(n, check.info); why != "" && !t.excused(f, n, why) {
					faults = append(faults, t.fault(n.Pos(), "purity", "%s", why))
				}
				return true
			})
			faults = append(faults, t.globals(f, check.info)...)
		}
	}
	return faults
}

// whyMap is the one fault that a comment on the line excuses.
const whyMap = "range over a map: sort the keys, or end the line with " + orderComment

// impure says what is wrong with a node, looked at alone.
func impure(n ast.Node, info *types.Info) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a machine starts no goroutine"
	case *ast.SelectStmt:
		return "a machine waits for nothing: select"
	case *ast.SendStmt:
		return "a machine uses no channels: send"
	case *ast.ChanType:
		return "a machine uses no channels"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a machine uses no channels: receive"
		}
	case *ast.RangeStmt:
		if t := info.TypeOf(n.X); t != nil && isMap(t) {
			return whyMap
		}
	case *ast.CallExpr:
		switch name := builtin(n, info); name {
		case "print", "println":
			return "a machine prints nothing: " + name
		}
	}
	return ""
}

// isMap also sees through type parameters, whose core type counts.
func isMap(t types.Type) bool {
	if param, ok := t.(*types.TypeParam); ok {
		iface := param.Underlying().(*types.Interface)
		for i := range iface.NumEmbeddeds() {
			if isMap(iface.EmbeddedType(i)) {
				return true
			}
		}
		return false
	}
	if u, ok := t.(*types.Union); ok {
		return u.Len() > 0 && isMap(u.Term(0).Type())
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// builtin returns the name of the built-in function that is called, if one is.
func builtin(call *ast.CallExpr, info *types.Info) string {
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		return ""
	}
	if b, ok := info.Uses[id].(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

func (t *Tree) excused(f *File, n ast.Node, why string) bool {
	if why != whyMap {
		return false
	}
	line := t.Fset.Position(n.Pos()).Line
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			if t.Fset.Position(c.Pos()).Line == line && c.Text == orderComment {
				return true
			}
		}
	}
	return false
}
