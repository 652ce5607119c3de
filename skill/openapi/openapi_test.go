package openapi_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/skill"
	skillhttp "github.com/etui-run/etui/skill/http"
	"github.com/etui-run/etui/skill/openapi"
)

const head = `openapi: 3.1.0
info: {title: The Shop API v2, version: "1"}
servers: [{url: "https://{zone}.shop.example.com/v2/", variables: {zone: {default: eu}}}]
security: [{key: []}]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    query: {type: apiKey, in: query, name: k}
    login: {type: oauth2, flows: {}}
    user: {type: http, scheme: basic}
    digest: {type: http, scheme: digest}
  schemas:
    Node:
      type: object
      required: [id, label, next]
      properties:
        id: {type: string, readOnly: true}
        label: {type: string, example: a}
        example: {type: integer, exclusiveMinimum: 3}
        next: {$ref: "#/components/schemas/Node"}
paths:
`

// skillOf makes the skill of the one operation of a document, as a gateway reads it.
func skillOf(t *testing.T, paths string) (openapi.Skill, skill.Config, error) {
	t.Helper()
	d, err := openapi.Read([]byte(head+paths), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Skill(d.Operations()[0], openapi.Options{})
	if err != nil {
		return s, skill.Config{}, err
	}
	c, err := skill.ParseYAML(s.Name+".yaml", s.Text, skill.Variables{Lookup: func(name string) (string, bool) { return "(" + name + ")", true }})
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Text)
	}
	p, err := skillhttp.New(skillhttp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Load(c); err != nil {
		t.Fatalf("%v\n%s", err, s.Text)
	}
	return s, c, nil
}

// TestSkill: what becomes of the parts of an operation.
func TestSkill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ paths, want, parameters string }{
		{`  /pets/{id}: {get: {operationId: getPet, tags: [All Pets], summary: Get it., parameters: [{name: id, in: path, required: true, schema: {type: integer}}]}}`,
			`shop_getPet|Get it.|GET https://eu.shop.example.com/v2/pets/{id}|read|map[X-Key:(SKILL_SHOP_KEY)]|map[]||[shop all_pets]`,
			`{"properties":{"id":{"type":"integer"}},"required":["id"],"type":"object"}`},
		{`  /pets: {get: {security: [], parameters: [{name: "filter[a]", in: query, description: Which., schema: {type: array, items: {type: string}}, explode: false}, {name: X-T, in: header, schema: {}}, {name: Accept, in: header, schema: {}}, {name: sid, in: cookie, schema: {}}]}}`,
			`shop_get_pets|GET /pets|GET https://eu.shop.example.com/v2/pets|read|map[]|map[X-T:header X-T filter_a:query filter[a] comma]||[shop]`,
			`{"properties":{"X-T":{},"filter_a":{"description":"Which.","items":{"type":"string"},"type":"array"}},"type":"object"}`},
		{`  /pets: {post: {security: [{digest: []}, {login: [a]}], operationId: add, parameters: [{name: label, in: query, schema: {type: boolean}}], requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Node"}}}}}}`,
			`shop_add|POST /pets|POST https://eu.shop.example.com/v2/pets|write|map[Authorization:Bearer (SKILL_SHOP_TOKEN)]|map[body_label:body label label:query label]||[shop]`,
			`{"properties":{"body_label":{"type":"string"},"example":{"exclusiveMinimum":3,"type":"integer"},"label":{"type":"boolean"},"next":{}},"required":["body_label","next"],"type":"object"}`},
		{`  /a/{x-y}: {delete: {security: [{query: []}], operationId: drop, parameters: []}}`,
			`shop_drop|DELETE /a/{x-y}|DELETE https://eu.shop.example.com/v2/a/{x-y}?k=(SKILL_SHOP_KEY)|destructive|map[]|map[]||[shop]`,
			`{"properties":{"x-y":{"type":"string"}},"required":["x-y"],"type":"object"}`},
		{`  /a: {put: {operationId: set, security: [{user: []}], requestBody: {content: {application/x-www-form-urlencoded: {schema: {allOf: [{type: object, required: [a], properties: {a: {type: [string, "null"]}}}, {type: object, properties: {b: {enum: [1.5]}}}]}}}}}}`,
			`shop_set|PUT /a|PUT https://eu.shop.example.com/v2/a|write|map[Authorization:Basic (SKILL_SHOP_BASIC)]|map[]|form|[shop]`,
			`{"properties":{"a":{"type":["string","null"]},"b":{"enum":[1.5]}},"type":"object"}`},
		{`  /a: {patch: {operationId: list, requestBody: {required: true, content: {application/merge-patch+json: {schema: {type: array, items: {type: string}}}}}}}`,
			`shop_list|PATCH /a|PATCH https://eu.shop.example.com/v2/a|write|map[Content-Type:application/merge-patch+json X-Key:(SKILL_SHOP_KEY)]|map[body:body]||[shop]`,
			`{"properties":{"body":{"items":{"type":"string"},"type":"array"}},"required":["body"],"type":"object"}`},
		{"  /a:\n    get: {operationId: say, description: \"Says ${HOME} \\u202e and\\nmore.\"}",
			`shop_say|Says $ {HOME} and more.|GET https://eu.shop.example.com/v2/a|read|map[X-Key:(SKILL_SHOP_KEY)]|map[]||[shop]`, ``},
	} {
		s, got, err := skillOf(t, c.paths)
		if err != nil {
			t.Errorf("%s: %v", c.paths, err)
			continue
		}
		headers := map[string]string{}
		for name, value := range got.Headers {
			headers[name] = string(value)
		}
		is := strings.Join([]string{got.Name, got.Description, got.Method + " " + unescape(t, got.URL()), string(got.RiskLevel), show(headers), show(got.Send), got.Body, show(got.Groups)}, "|")
		if is != c.want || string(got.Parameters) != sorted(t, c.parameters) {
			t.Errorf("%s\ngot  %s\nwant %s\ngot  %s\nwant %s\n%s", c.paths, is, c.want, got.Parameters, c.parameters, s.Text)
		}
	}
}

func unescape(t *testing.T, address string) string {
	t.Helper()
	plain, err := url.PathUnescape(address)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func show(v any) string {
	switch v := v.(type) {
	case map[string]string:
		var list []string
		for name, value := range v {
			list = append(list, name+":"+value)
		}
		slices.Sort(list)
		return "map[" + strings.Join(list, " ") + "]"
	case []string:
		return "[" + strings.Join(v, " ") + "]"
	}
	return ""
}

// sorted is JSON with the keys in order, and numbers as they are.
func sorted(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestRefused: an operation that a file cannot express is refused, with the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	for paths, want := range map[string]string{
		`  /a: {post: {requestBody: {required: true, content: {text/xml: {}}}}}`:                                                    "it takes a body of text/xml only",
		`  /a: {get: {parameters: [{name: s, in: cookie, required: true, schema: {}}]}}`:                                            "it needs the parameter s, which is a cookie",
		`  /a: {get: {security: [{digest: []}]}}`:                                                                                   "http digest is not supported",
		`  /a: {get: {security: [{gone: []}]}}`:                                                                                     "does not describe gone",
		`  "/a?b=${HOME}": {get: {}}`:                                                                                               "its path is no path",
		`  /a: {get: {servers: [{url: "ftp://x"}]}}`:                                                                                "name it with --server",
		`  /a/{b}: {get: {parameters: [{name: b, in: path, style: matrix, required: true, schema: {}}]}}`:                           "the style matrix",
		`  /a: {get: {parameters: [{name: b, in: query, required: true, schema: {type: object, properties: {c: {}}}}]}}`:            "an object in the style form",
		`  /a: {post: {requestBody: {required: true, content: {application/json: {schema: {properties: {"a b ": {}, a b: {}}}}}}}}`: "has blanks in its name",
	} {
		if s, _, err := skillOf(t, paths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s\n%s", paths, err, want, s.Text)
		}
	}
}

// TestTitleChoosesNoSecret: the name of a variable begins with SKILL_, whatever a document's title is.
func TestTitleChoosesNoSecret(t *testing.T) {
	t.Parallel()
	text := strings.Replace(head, "The Shop API v2", "AWS Secret Access", 1) + "  /a: {get: {}}"
	d, err := openapi.Read([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Skill(d.Operations()[0], openapi.Options{})
	if err != nil || !slices.Equal(s.Variables, []string{"SKILL_AWS_SECRET_ACCESS_KEY"}) {
		t.Errorf("%v %v", s.Variables, err)
	}
}

// TestRead: a document in JSON, YAML or of Swagger 2.0 is read; others are refused within bounds.
func TestRead(t *testing.T) {
	t.Parallel()
	const swagger = `{"swagger":"2.0","info":{"title":"Old","version":"1"},"host":"old.example.com","basePath":"/v1","schemes":["https"],` +
		`"paths":{"/a":{"get":{"operationId":"a","tags":["x"],"parameters":[{"name":"q","in":"query","type":"array","items":{"type":"string"},"collectionFormat":"pipes"}],"responses":{"200":{"description":"ok"}}}}}}`
	d, err := openapi.Read([]byte(swagger), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Skill(d.Operations()[0], openapi.Options{Name: "mine", Server: "http://127.0.0.1:1/base?x=1"})
	var file struct {
		Name, Endpoint string
		Send           map[string]string
	}
	if err != nil || yaml.Load(s.Text, &file, yaml.WithKnownFields(false)) != nil || file.Name != "mine_a" || file.Endpoint != "http://127.0.0.1:1/base/a" || file.Send["q"] != "query q pipe" {
		t.Errorf("%+v %v\n%s", file, err, s.Text)
	}
	from, err := url.Parse("https://api.example.com/docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	relative := strings.NewReplacer("https://{zone}.shop.example.com/v2/", "../v3", `"1"`, "1.0", "3.1.0", "3.1").Replace(head) + "  /a: {get: {responses: {200: {description: ok}}}}"
	if d, err = openapi.Read([]byte(relative), from); err != nil {
		t.Fatal(err)
	}
	if s, err = d.Skill(d.Operations()[0], openapi.Options{}); err != nil || !strings.Contains(string(s.Text), "endpoint: https://api.example.com/v3/a\n") {
		t.Errorf("%v\n%s", err, s.Text)
	}
	for text, want := range map[string]string{
		"":             "no OpenAPI document",
		"[":            "line 2",
		"a: 1":         `no "openapi: 3.x"`,
		"openapi: 4.0": `no "openapi: 3.x"`,
		head + `  /a: {get: {parameters: [{$ref: "file:///etc/passwd"}]}}`: "disallowed external reference",
		"a: &a [x,x,x,x,x,x,x,x,x]\n" + bomb():                             "more than 2000000",
	} {
		if _, err := openapi.Read([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
}

// bomb is aliases of aliases.
func bomb() (text string) {
	for c := 'b'; c < 'k'; c++ {
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	return text
}
