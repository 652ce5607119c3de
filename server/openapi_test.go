package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/wire"
)

var update = flag.Bool("update", false, "write openapi.json")

// TestGenerated holds openapi.json to the table of routes: their paths, parameters and bodies.
func TestGenerated(t *testing.T) {
	made, err := json.MarshalIndent(document(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(kept, made) {
		t.Errorf("openapi.json is not that of the routes (%v): go test -run Generated ./server -update", err)
	}
}

var (
	ofPath  = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)
	ofQuery = regexp.MustCompile(`\?(\w+)=`)
)

// document describes the routes. A parameter of a query is one that the table's text names.
func document() *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", nameOf)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "etui", Version: "1", Description: "The HTTP API of an etui gateway. docs/http-api.md says who may use which route."},
		Paths:      map[string]*huma.PathItem{},
		Components: &huma.Components{Schemas: schemas, SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", Description: "an API key, see etui keys"}}},
	}
	refused := &huma.Response{Description: "what is wrong", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(reflect.TypeFor[wire.Problem](), true, "Problem")}}}
	for _, route := range server.New(nil, server.Config{}).Routes() {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "{$}", ""), "...}", "}")
		op := &huma.Operation{
			OperationID: operation(method, pattern), Summary: route.Does, Tags: []string{route.Access.String()},
			Responses: map[string]*huma.Response{"default": refusals(refused, pattern)},
		}
		if route.Access != server.Open {
			op.Security = []map[string][]string{{"key": {}}}
		}
		text := &huma.Schema{Type: huma.TypeString}
		for _, name := range ofPath.FindAllStringSubmatch(pattern, -1) {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "path", Required: true, Schema: text})
		}
		for _, name := range ofQuery.FindAllStringSubmatch(route.Does, -1) {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "query", Schema: text})
		}
		if route.In != nil {
			op.RequestBody = &huma.RequestBody{Required: true, Content: content(schemas, "application/json", route.In, op.OperationID+"Request")}
		}
		ok := &huma.Response{Description: "what was asked for"}
		if route.Out != nil {
			ok.Content = content(schemas, route.Media(), route.Out, op.OperationID+"Answer")
		}
		if op.Responses["200"] = ok; method == "DELETE" && route.Out == nil {
			delete(op.Responses, "200")
			ok.Description = "it is done"
			op.Responses["204"] = ok
		}
		item := doc.Paths[pattern]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[pattern] = item
		}
		switch method {
		case "GET":
			item.Get = op
		case "POST":
			item.Post = op
		case "PUT":
			item.Put = op
		case "DELETE":
			item.Delete = op
		}
	}
	return doc
}

// refusals says how the route of a path refuses: as everywhere, or as its own protocol does.
func refusals(usual *huma.Response, pattern string) *huma.Response {
	switch {
	case strings.HasPrefix(pattern, "/v1/messages"):
		return &huma.Response{Description: "what is wrong, as Anthropic's API says it", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}
	case strings.HasPrefix(pattern, "/channels/"), strings.HasPrefix(pattern, "/mcp"), strings.HasPrefix(pattern, "/console"):
		more := &huma.Response{Description: usual.Description, Content: map[string]*huma.MediaType{"text/plain": {}, "text/html": {}}}
		maps.Copy(more.Content, usual.Content)
		return more
	}
	return usual
}

func content(schemas huma.Registry, media string, body any, hint string) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{media: {Schema: schemas.Schema(reflect.TypeOf(body), true, hint)}}
}

// operation names a route: GET /api/sessions/{key} is getApiSessionsKey.
func operation(method, pattern string) string {
	name := strings.ToLower(method)
	for _, part := range strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune("/{}._-", r) }) {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}

// nameOf names a type by its package, too, since several packages have a Status.
func nameOf(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return huma.DefaultSchemaNamer(t, hint)
	}
	from := path.Base(t.PkgPath())
	if slices.Contains([]string{"api", "server", "."}, from) {
		from = ""
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if from == "" {
		return name
	}
	return strings.ToUpper(from[:1]) + from[1:] + name
}
