package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
)

// globals refuses state in package-level variables. A variable is taken for a constant, as
// tables and errors are, if outside init no statement assigns to it or to a part of it, takes its
// address, or calls a pointer method on it. An element of a table may be used by address, which
// is how a large row is read without a copy. Not seen are a write through such an address and a
// slice or map handed to a function that changes it.
func (t *Tree) globals(f *File, info *types.Info) (faults []Fault) {
	report := func(e ast.Expr, what string) {
		if v := packageVar(e, info); v != nil {
			faults = append(faults, t.fault(e.Pos(), "purity",
				"package-level variable %s is state: it is %s", v.Name(), what))
		}
	}
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						report(e, "assigned")
					}
				}
			case *ast.IncDecStmt:
				report(n.X, "assigned")
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					report(n.Key, "assigned")
					report(n.Value, "assigned")
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND && !element(n.X) {
					report(n.X, "used by address")
				}
			case *ast.CallExpr:
				if changesArgument(n, info) {
					report(n.Args[0], "changed by a built-in")
				}
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && pointerMethod(sel, info) &&
					!element(sel.X) {
					report(sel.X, "changed by a method")
				}
			}
			return true
		})
	}
	return faults
}

// element says whether e is a row of a table.
func element(e ast.Expr) bool {
	_, ok := e.(*ast.IndexExpr)
	return ok
}

// packageVar returns the package-level variable whose memory e names: x, x.f, x[i], x[i:j], *x.
func packageVar(e ast.Expr, info *types.Info) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v := global(info.Uses[x.Sel]); v != nil {
				return v
			}
			e = x.X
		case *ast.Ident:
			return global(info.Uses[x])
		default:
			return nil
		}
	}
}

func global(o types.Object) *types.Var {
	v, ok := o.(*types.Var)
	if !ok || v.IsField() || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

// changesArgument knows the built-ins that write to their first argument.
func changesArgument(call *ast.CallExpr, info *types.Info) bool {
	switch builtin(call, info) {
	case "clear", "copy", "delete":
		return len(call.Args) > 0
	}
	return false
}

// pointerMethod says whether sel is a method with a pointer receiver.
func pointerMethod(sel *ast.SelectorExpr, info *types.Info) bool {
	s := info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	recv := s.Obj().(*types.Func).Signature().Recv()
	if recv == nil {
		return false
	}
	_, pointer := recv.Type().(*types.Pointer)
	return pointer
}
