// Package openapi makes skills of the operations that an OpenAPI 3.x document describes; one of
// Swagger 2.0 is read as its 3.0 equivalent.
//
// An operation becomes the text of one YAML file with provider http: its parameters and the fields of
// its body are the arguments, the method gives the risk, and the headers of its security name
// variables of the environment. Parts that such a file cannot express are left out with a note; an operation
// that needs one of them is an error. A document is data: it is read within bounds, names no
// other document, and chooses no name of a variable beyond its own prefix.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/plainjson"
)

// The bounds of a document. One that exceeds them is refused.
const (
	MaxBytes = 16 << 20
	maxNodes = 2_000_000 // keys and values, aliases written out
	maxDepth = 200
)

// Document is an OpenAPI document. It is immutable.
type Document struct {
	doc  *openapi3.T
	from *url.URL // nil for a file
	root any      // the document as plain values, for references
}

// Read reads a document in JSON or YAML. It comes from an address, which its servers may be
// relative to; nil means a file.
func Read(text []byte, from *url.URL) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the document is longer than %d MiB", MaxBytes>>20)
	}
	node, bad := form.Parse(string(bytes.TrimPrefix(text, []byte("\ufeff"))), maxDepth)
	if bad != nil {
		return nil, fmt.Errorf("line %d: %w", bad.Line, bad)
	}
	bounded := form.Reader{Depth: maxDepth, Nodes: maxNodes, Most: 1}
	if node == nil || !bounded.Resolve(node) || len(bounded.Problems) > 0 {
		return nil, errors.Join(errors.New("this is no OpenAPI document"), problemOf(bounded.Problems))
	}
	all := values(node)
	quoteVersions(all)
	plain, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	d := &Document{from: from}
	if d.doc, err = load(plain, form.Get(node, "swagger") != nil); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(d.doc.OpenAPI, "3.") {
		return nil, errors.New(`this is no OpenAPI document: it has no "openapi: 3.x"`)
	}
	again, err := json.Marshal(d.doc)
	if err != nil {
		return nil, err
	}
	d.root, err = plainjson.Decode(again)
	return d, err
}

func problemOf(list []form.Problem) error {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// values turns nodes into what JSON has. Keys are texts, also where YAML reads a number, such as a
// status; so are dates.
func values(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for key, value := range form.Pairs(n) {
			m[key.Value] = values(value)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = values(item)
		}
		return list
	}
	var value any
	switch {
	case n.Tag == "!!timestamp" || n.Load(&value) != nil:
		return n.Value
	case n.Tag == "!!int" || n.Tag == "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		if _, err := json.Marshal(value); err != nil {
			return n.Value
		}
	}
	return value
}

// quoteVersions makes texts of the versions that people write without quotes.
func quoteVersions(all any) {
	top, _ := all.(map[string]any)
	info, _ := top["info"].(map[string]any)
	for key, m := range map[string]map[string]any{"openapi": top, "swagger": top, "version": info} {
		if number, ok := m[key].(json.Number); ok {
			m[key] = number.String()
		}
	}
}

func load(plain []byte, swagger bool) (*openapi3.T, error) {
	if swagger {
		var old openapi2.T
		if err := json.Unmarshal(plain, &old); err != nil {
			return nil, fmt.Errorf("reading Swagger 2.0: %w", err)
		}
		doc, err := openapi2conv.ToV3(&old)
		if err != nil {
			return nil, fmt.Errorf("reading Swagger 2.0: %w", err)
		}
		return doc, nil
	}
	doc, err := openapi3.NewLoader().LoadFromData(plain) // which reads no other document
	if err != nil {
		return nil, fmt.Errorf("reading OpenAPI: %w", err)
	}
	return doc, nil
}

// Operation is an operation of a document that can be a skill.
type Operation struct {
	ID      string   `json:"id"` // its operationId, or a name made of method and path
	Method  string   `json:"method"`
	Path    string   `json:"path"`
	Summary string   `json:"summary"`
	Tags    []string `json:"tags"`
	// Deprecated operations are chosen by their name only.
	Deprecated bool `json:"deprecated,omitempty"`

	item *openapi3.PathItem
	of   *openapi3.Operation
}

// Is reports whether a name chosen by a person is that of the operation: its id, or its method and path.
func (o *Operation) Is(name string) bool {
	return name == o.ID || strings.EqualFold(name, o.Method+" "+o.Path)
}

// methods are those that a skill can have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Operations lists the operations of the document by path and method.
func (d *Document) Operations() (list []Operation) {
	for _, path := range d.doc.Paths.Keys() {
		item := d.doc.Paths.Value(path)
		for _, method := range methods {
			of := item.GetOperation(method)
			if of == nil {
				continue
			}
			summary := cmp.Or(of.Summary, of.Description, item.Summary, item.Description)
			id := cmp.Or(of.OperationID, strings.ToLower(method)+path)
			list = append(list, Operation{id, method, path, summary, of.Tags, of.Deprecated, item, of})
		}
	}
	slices.SortStableFunc(list, func(a, b Operation) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// Tags lists the tags of the operations.
func (d *Document) Tags() (tags []string) {
	for _, o := range d.Operations() {
		tags = append(tags, o.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

var (
	notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	words     = regexp.MustCompile(`[A-Za-z0-9]+`)
)

// name makes a text a name of at most so many letters, digits, '_' and '-'.
func name(text string, most int) string {
	text = strings.Trim(notInName.ReplaceAllString(text, "_"), "_")
	return strings.TrimRight(text[:min(len(text), most)], "_")
}

// Name is a short name made of the document's title: the first words of it.
func (d *Document) Name() string {
	title := ""
	if d.doc.Info != nil {
		title = d.doc.Info.Title
	}
	made := ""
	for _, word := range words.FindAllString(strings.ToLower(title), -1) {
		if slices.Contains([]string{"api", "the", "openapi", "swagger", "rest", "service", "http"}, word) ||
			word[0] == 'v' && strings.Trim(word[1:], "0123456789") == "" {
			continue
		}
		if len(made)+len(word) > 16 && made != "" {
			break
		}
		made = strings.TrimPrefix(made+"_"+word, "_")
	}
	return cmp.Or(name(made, 20), "api")
}
