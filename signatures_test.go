package etui_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"testing"
)

// TestPublicSignatures: an embedder can name every type in the signatures of public
// packages.
func TestPublicSignatures(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .GoFiles}} {{$.Dir}}/{{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name := local(words[0])
		if strings.Contains(name, "internal/") || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "bench") {
			continue
		}
		for _, file := range words[1:] {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			internal := map[string]bool{}
			for _, i := range parsed.Imports {
				if p, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(p, module) && strings.Contains(p, "/internal/") {
					internal[path.Base(p)] = true
					if i.Name != nil {
						internal[i.Name.Name] = true
					}
				}
			}
			ast.FileExports(parsed)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if v, ok := n.(*ast.ValueSpec); ok {
					v.Values = nil
				}
				if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil && !ast.IsExported(receiver(f)) {
					return false // an interface asks for its name
				}
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] {
						t.Errorf("%s: a public signature has %s.%s, which is internal", name, x.Name, s.Sel.Name)
					}
				}
				_, body := n.(*ast.BlockStmt)
				return !body
			})
		}
	}
}

// receiver returns the name of the type of a method.
func receiver(f *ast.FuncDecl) (name string) {
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}
