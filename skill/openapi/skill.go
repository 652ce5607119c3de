package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"
)

// Options say how operations become skills.
type Options struct {
	// Name begins the names of the skills, and of the variables of the environment. Empty means [Document.Name].
	Name string
	// Server is the address of the service. Empty means the first one of the document.
	Server string
	// Variable is the variable of the environment with the key of the service. Empty means SKILL_, Name
	// and the kind of key: the title of a document must not lead to another secret.
	Variable string
}

// Skill is the file of an operation.
type Skill struct {
	Name string `json:"name"`
	Text []byte `json:"-"`
	// Variables are those of the environment that the file names.
	Variables []string `json:"variables,omitempty"`
	// Notes say what was left out.
	Notes []string `json:"notes,omitempty"`
}

// file is the YAML of a skill, in the order in which people read it.
type file struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Provider    string            `yaml:"provider"`
	Endpoint    string            `yaml:"endpoint"`
	Method      string            `yaml:"method"`
	Headers     map[string]string `yaml:"headers,omitempty"`
	Send        map[string]string `yaml:"send,omitempty"`
	Body        string            `yaml:"body,omitempty"`
	Risk        string            `yaml:"risk_level"`
	Groups      []string          `yaml:"groups,omitempty"`
	Parameters  map[string]any    `yaml:"parameters,omitempty"`
}

// risks are those of the methods.
var risks = map[string]string{
	http.MethodGet: "read", http.MethodPost: "write", http.MethodPut: "write", http.MethodPatch: "write",
	http.MethodDelete: "destructive",
}

// The sizes of what a model reads of an operation.
const (
	maxDescription = 1000     // characters
	maxSchema      = 12 << 10 // bytes; a longer one is opened at its inner parts
)

// Skill makes the file of an operation.
func (d *Document) Skill(o Operation, opts Options) (Skill, error) {
	opts.Name = name(cmp.Or(opts.Name, d.Name()), 24)
	server, err := d.server(o, opts.Server)
	if err != nil {
		return Skill{}, err
	}
	if strings.Contains(o.Path, "${") || strings.Contains(o.Path, "#") {
		return Skill{}, errors.New("its path is no path: it has ${ or #")
	}
	for _, depth := range []int{12, 5, 3, 2, 1} {
		b := &builder{inliner: inliner{root: d.root, depth: depth}, properties: map[string]any{}, file: file{
			Name: name(
				opts.Name+"_"+o.ID,
				64,
			), Description: describe(o), Provider: "http", Endpoint: server + o.Path, Method: o.Method,
			Risk: risks[o.Method], Groups: groups(opts.Name, o.Tags), Headers: map[string]string{},
			Send: map[string]string{},
		}}
		if err := b.arguments(o); err != nil {
			return Skill{}, err
		}
		raw, err := json.Marshal(b.properties)
		if err != nil {
			return Skill{}, err
		}
		if len(raw) > maxSchema && depth > 1 {
			continue
		}
		if err := b.secure(d.doc, o, opts); err != nil {
			return Skill{}, err
		}
		return b.write()
	}
	return Skill{}, errors.New("its parameters are too large")
}

// server is the base address of an operation.
func (d *Document) server(o Operation, given string) (string, error) {
	if given == "" {
		list := d.doc.Servers
		if len(o.item.Servers) > 0 {
			list = o.item.Servers
		}
		if o.of.Servers != nil && len(*o.of.Servers) > 0 {
			list = *o.of.Servers
		}
		if len(list) > 0 {
			given = list[0].URL
			for name, v := range list[0].Variables {
				given = strings.ReplaceAll(given, "{"+name+"}", v.Default)
			}
		}
	}
	u, err := url.Parse(cmp.Or(given, "/"))
	if err == nil && d.from != nil {
		u = d.from.ResolveReference(u)
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the document does not say at which address the service is; name it with --server URL")
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimSuffix(u.String(), "/"), nil
}

var blanks = regexp.MustCompile(`[\s\p{Cc}\p{Cf}]+`)

// describe says what an operation does, in one paragraph.
func describe(o Operation) string {
	text := strings.TrimSpace(o.of.Summary)
	if more := strings.TrimSpace(cmp.Or(o.of.Description, o.item.Description)); more != "" && more != text {
		text = strings.TrimSpace(strings.TrimSuffix(text, ".") + ". " + more)
		text = strings.TrimPrefix(text, ". ")
	}
	text = blanks.ReplaceAllString(cmp.Or(text, o.Method+" "+o.Path), " ")
	if runes := []rune(text); len(runes) > maxDescription {
		text = string(runes[:maxDescription]) + "…"
	}
	return strings.ReplaceAll(text, "${", "$ {") // no variable of the environment
}

func groups(of string, tags []string) []string {
	list := []string{of}
	for _, tag := range tags {
		if g := name(strings.ToLower(tag), 40); g != "" && !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// builder makes the file of one operation.
type builder struct {
	inliner
	file       file
	properties map[string]any
	required   []string
	variables  []string
	notes      []string
}

// add adds an argument and returns its name, which differs from that of the service where it has to.
func (b *builder) add(known, place string, schema map[string]any, required bool) string {
	argument := cmp.Or(name(known, 64), "value")
	for _, other := range []string{argument, name(place+"_"+argument, 64)} {
		if argument = other; b.properties[argument] == nil {
			break
		}
	}
	b.properties[argument] = schema
	if required {
		b.required = append(b.required, argument)
	}
	return argument
}

// arguments makes arguments of the parameters and the body.
func (b *builder) arguments(o Operation) error {
	type key struct{ in, name string }
	seen := map[key]bool{}
	for _, ref := range slices.Concat(o.of.Parameters, o.item.Parameters) {
		p := ref.Value
		if p == nil || seen[key{p.In, p.Name}] {
			continue
		}
		seen[key{p.In, p.Name}] = true
		if p.In == "header" &&
			slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
			continue // OpenAPI has other places for them
		}
		separator, reason := separatorOf(p)
		if reason != "" && p.Required {
			return fmt.Errorf("it needs the parameter %s, %s", p.Name, reason)
		}
		if reason != "" {
			b.notes = append(b.notes, fmt.Sprintf("the parameter %s was left out: %s", p.Name, reason))
			continue
		}
		schema := b.schema(p.Schema)
		if p.Description != "" && schema["description"] == nil {
			schema["description"] = p.Description
		}
		argument := b.add(p.Name, p.In, schema, p.Required || p.In == "path")
		if separator != "" || argument != p.Name || p.In == "header" ||
			p.In == "query" && o.Method != http.MethodGet && o.Method != http.MethodDelete {
			b.file.Send[argument] = strings.TrimSpace(p.In + " " + p.Name + " " + separator)
		}
	}
	for _, found := range regexp.MustCompile(`\{([^{}]+)\}`).FindAllStringSubmatch(o.Path, -1) {
		if !seen[key{"path", found[1]}] {
			seen[key{"path", found[1]}] = true
			if argument := b.add(found[1], "path", map[string]any{"type": "string"}, true); argument != found[1] {
				b.file.Send[argument] = "path " + found[1]
			}
		}
	}
	return b.bodyOf(o)
}

// separatorOf returns how a parameter's list is joined, or why a file cannot send it.
func separatorOf(p *openapi3.Parameter) (separator, reason string) {
	how, err := p.SerializationMethod()
	switch {
	case err != nil || p.In == "cookie":
		return "", "which is a cookie"
	case len(p.Content) > 0:
		return "", "which is a document within the address"
	case strings.ContainsAny(p.Name, " \t\r\n"):
		return "", "whose name has blanks"
	case p.In != "query" && how.Style != "simple":
		return "", "which is written in the style " + how.Style
	case p.In != "query":
		return "", ""
	}
	object := p.Schema != nil && p.Schema.Value != nil && p.Schema.Value.Type.Is("object")
	switch {
	case object && how.Style != "deepObject":
		return "", "which is an object in the style " + how.Style
	case how.Style == "spaceDelimited":
		return "space", ""
	case how.Style == "pipeDelimited":
		return "pipe", ""
	case how.Style == "form" && !how.Explode:
		return "comma", ""
	}
	return "", ""
}

// bodyOf makes arguments of the body: its fields, or, where that is not possible, the argument body.
func (b *builder) bodyOf(o Operation) error {
	if o.of.RequestBody == nil || o.of.RequestBody.Value == nil || o.Method == http.MethodGet {
		return nil
	}
	body := o.of.RequestBody.Value
	kind, encoding := encodingOf(body.Content)
	if kind == "" {
		offered := strings.Join(slices.Sorted(maps.Keys(body.Content)), ", ")
		if offered != "" && body.Required {
			return fmt.Errorf("it takes a body of %s only", offered)
		}
		b.notes = append(
			b.notes,
			fmt.Sprintf("the body of %s %s was left out: it takes %s only", o.Method, o.Path, offered),
		)
		return nil
	}
	if encoding == "json" && kind != "application/json" && !strings.ContainsAny(kind, "*$") {
		b.file.Headers["Content-Type"] = kind
	}
	if encoding != "json" {
		b.file.Body = encoding
	}
	b.body = true
	schema := merged(b.schema(body.Content[kind].Schema))
	properties, ok := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	if !ok || schema["oneOf"] != nil || schema["anyOf"] != nil || schema["allOf"] != nil || len(properties) == 0 {
		if schema["description"] == nil && body.Description != "" {
			schema["description"] = body.Description
		}
		b.file.Send[b.add("body", "request", schema, body.Required)] = "body"
		return nil
	}
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		part, ok := properties[field].(map[string]any)
		if !ok {
			part = map[string]any{}
		}
		argument := b.add(field, "body", part, body.Required && slices.Contains(required, any(field)))
		if argument != field || o.Method == http.MethodDelete {
			if strings.ContainsAny(field, " \t\r\n") {
				return fmt.Errorf("the field %q of its body has blanks in its name", field)
			}
			b.file.Send[argument] = "body " + field
		}
	}
	return nil
}

// encodingOf chooses one of the content types of a body.
func encodingOf(content openapi3.Content) (kind, encoding string) {
	kinds := slices.Sorted(maps.Keys(content))
	for _, try := range []struct {
		fits     func(string) bool
		encoding string
	}{
		{func(k string) bool { return k == "application/json" }, "json"},
		{func(k string) bool {
			return strings.HasPrefix(k, "application/json") || strings.HasSuffix(k, "+json") || k == "*/*"
		}, "json"},
		{func(k string) bool { return k == "application/x-www-form-urlencoded" }, "form"},
		{func(k string) bool { return k == "multipart/form-data" }, "multipart"},
	} {
		if i := slices.IndexFunc(kinds, try.fits); i >= 0 && content[kinds[i]] != nil {
			return kinds[i], try.encoding
		}
	}
	return "", ""
}

// secure adds the headers of the operation's security, with variables of the environment.
func (b *builder) secure(doc *openapi3.T, o Operation, opts Options) error {
	ways := doc.Security
	if o.of.Security != nil {
		ways = *o.of.Security
	}
	var reasons []string
	for _, way := range ways {
		trial := *b
		trial.file.Headers = maps.Clone(b.file.Headers)
		reason := ""
		for _, scheme := range slices.Sorted(maps.Keys(way)) {
			if reason = trial.authorize(doc, scheme, opts); reason != "" {
				break
			}
		}
		if reason == "" {
			*b = trial
			return nil
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) > 0 {
		return fmt.Errorf("etui cannot log in there: %s", strings.Join(reasons, "; "))
	}
	return nil
}

// authorize adds what one security scheme needs, or says why it cannot.
func (b *builder) authorize(doc *openapi3.T, scheme string, opts Options) (reason string) {
	var s *openapi3.SecurityScheme
	if doc.Components != nil {
		if ref := doc.Components.SecuritySchemes[scheme]; ref != nil {
			s = ref.Value
		}
	}
	if s == nil {
		return "the document does not describe " + scheme
	}
	variable := func(kind string) string {
		v := cmp.Or(opts.Variable, "SKILL_"+strings.ToUpper(strings.ReplaceAll(opts.Name, "-", "_"))+"_"+kind)
		if !slices.Contains(b.variables, v) {
			b.variables = append(b.variables, v)
		}
		return "${" + v + "}"
	}
	switch kind := strings.ToLower(s.Type); {
	case kind == "apikey" && notInName.MatchString(s.Name):
		return "the name of its key has unusual characters"
	case kind == "http" && strings.EqualFold(s.Scheme, "bearer"), kind == "oauth2", kind == "openidconnect":
		b.file.Headers["Authorization"] = "Bearer " + variable("TOKEN")
	case kind == "http" && strings.EqualFold(s.Scheme, "basic"):
		b.file.Headers["Authorization"] = "Basic " + variable("BASIC")
		b.notes = append(
			b.notes,
			"the variable holds the user and the password as base64: printf '%s' 'USER:PASSWORD' | base64",
		)
	case kind == "apikey" && s.In == "header":
		b.file.Headers[s.Name] = variable("KEY")
	case kind == "apikey" && s.In == "query":
		b.file.Endpoint += string(
			"?&"[min(strings.Count(b.file.Endpoint, "?"), 1)],
		) + url.QueryEscape(
			s.Name,
		) + "=" + variable(
			"KEY",
		)
	case kind == "apikey" && s.In == "cookie":
		b.file.Headers["Cookie"] = s.Name + "=" + variable("KEY")
	default:
		return strings.TrimSpace(s.Type+" "+s.Scheme) + " is not supported"
	}
	return ""
}

// write returns the text of the file.
func (b *builder) write() (Skill, error) {
	if len(b.properties) > 0 {
		b.file.Parameters = map[string]any{"type": "object", "properties": b.properties}
		if len(b.required) > 0 {
			slices.Sort(b.required)
			b.file.Parameters["required"] = b.required
		}
	}
	raw, err := json.Marshal(b.file.Parameters)
	if err != nil {
		return Skill{}, err
	}
	// Numbers keep their spelling, and no text of the document is a variable.
	node, err := nodes(strings.ReplaceAll(string(raw), "${", "$ {"))
	if err != nil {
		return Skill{}, err
	}
	b.file.Parameters = nil
	head, err := yaml.Dump(b.file)
	if err != nil {
		return Skill{}, err
	}
	if node != nil {
		tail, err := yaml.Dump(map[string]any{"parameters": node})
		if err != nil {
			return Skill{}, err
		}
		head = append(head, tail...)
	}
	return Skill{Name: b.file.Name, Text: head, Variables: b.variables, Notes: b.notes}, nil
}

// nodes reads JSON as YAML in its usual style; nil for null.
func nodes(raw string) (*yaml.Node, error) {
	if raw == "null" {
		return nil, nil
	}
	var doc yaml.Node
	if err := yaml.Load([]byte(raw), &doc); err != nil {
		return nil, err
	}
	var block func(n *yaml.Node)
	block = func(n *yaml.Node) {
		n.Style = 0
		for _, inner := range n.Content {
			block(inner)
		}
	}
	block(&doc)
	return doc.Content[0], nil
}
