package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etui-run/etui/server"
)

// TestPaths: every path of the HTTP API that the commands name is one of a route.
func TestPaths(t *testing.T) {
	t.Parallel()
	var routes []string
	for _, r := range server.New(nil, server.Config{}).Routes() {
		_, pattern, _ := strings.Cut(r.Pattern, " ")
		routes = append(routes, pattern)
	}
	found := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			path, _ := strconv.Unquote(lit.Value) // the parser has read it
			if path, _, _ = strings.Cut(path, "?"); !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/admin/") || strings.Contains(path, " ") {
				return true
			}
			if found++; !routed(path, routes) {
				t.Errorf("%s names %s, which is no route", name, path)
			}
			return true
		})
		return nil
	})
	if err != nil || found < 40 {
		t.Errorf("%d paths were looked at (%v)", found, err)
	}
}

// routed reports whether a path, or the beginning of one that ends with a slash, is one of a route.
func routed(path string, routes []string) bool {
	parts := strings.Split(path, "/")
	for _, r := range routes {
		of := strings.Split(r, "/")
		if len(of) < len(parts) || len(of) > len(parts) && parts[len(parts)-1] != "" {
			continue
		}
		same := true
		for i, part := range parts {
			last := i == len(parts)-1 && part == ""
			same = same && (last || part == of[i] || strings.HasPrefix(of[i], "{"))
		}
		if same {
			return true
		}
	}
	return false
}
