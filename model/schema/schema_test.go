package schema_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/etui-run/etui/model/schema"
)

// params writes parameters with the given properties.
func params(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }

func TestAdapt(t *testing.T) {
	const anyValue = `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}`
	for _, c := range []struct{ name, dialect, in, want string }{
		{"good", "openai", params(`"a":{"type":"string","enum":["x"]}`), params(`"a":{"type":"string","enum":["x"]}`)},
		{"nothing", "openai", ``, params(``)},
		{"null", "openai", `null`, params(``)},
		{"a list", "openai", `[1]`, params(``)},
		{"no properties", "openai", `{"type":"object"}`, params(``)},
		{"no type",
			"openai", `{"properties":{"q":{"type":"string"}}}`, `{"properties":{"q":{"type":"string"}},"type":"object"}`},
		{"no items", "openai", params(`"a":{"type":"array"}`), params(`"a":{"type":"array","items":{}}`)},
		{"no items, or null",
			"openai", params(`"a":{"type":["array","null"]}`), params(`"a":{"type":["array","null"],"items":{}}`)},
		{"no items in a branch",
			"openai", params(`"a":{"oneOf":[{"type":"array"}]}`), params(`"a":{"oneOf":[{"type":"array","items":{}}]}`)},
		{"no items in a definition",
			"openai", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"array"}}}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"array","items":{}}}}`},
		{"a tuple of draft 7",
			"openai", params(`"a":{"type":"array","items":[{"type":"string"},{"type":"string"}],"additionalItems":false}`), params(`"a":{"type":"array","items":{"type":"string"}}`)},
		{"a tuple of two kinds",
			"openai", params(`"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}`), params(`"a":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}`)},
		{"top-level anyOf",
			"openai", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"],"properties":{"b":{"type":"integer"}}}]}`, params(`"a":{"type":"string"},"b":{"type":"integer"}`)},
		{"top-level oneOf, one of all",
			"openai", `{"type":"object","oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"a":{}},"required":["a","b"]}]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{"top-level allOf",
			"anthropic", `{"type":"object","allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`},
		{"top-level anyOf of references",
			"openai", `{"type":"object","anyOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"properties":{"a":{"type":"string"}}}}}`, `{"type":"object","$defs":{"A":{"properties":{"a":{"type":"string"}}}},"properties":{"a":{"type":"string"}}}`},
		{"top-level enum, not and if",
			"openai", `{"type":"object","properties":{},"enum":[{}],"not":{},"if":{},"then":{}}`, params(``)},
		{"types in capitals",
			"openai", `{"type":"OBJECT","properties":{"s":{"type":"STRING"},"l":{"type":["Int","NULL","int"]}}}`, params(`"s":{"type":"string"},"l":{"type":["integer","null"]}`)},
		{"an unknown type",
			"openai", params(`"s":{"type":"any"},"n":{"type":null},"f":{"type":"float"}`), params(`"s":{},"n":{},"f":{"type":"number"}`)},
		{"true and false", "openai", params(`"t":true,"f":false`), params(`"t":{}`)},
		{"required that is none",
			"openai", `{"type":"object","properties":{"s":{"type":"string","required":true}},"required":null}`, params(`"s":{"type":"string"}`)},
		{"required that is not there",
			"openai", `{"type":"object","properties":{"s":{}},"required":["s","z","s"]}`, `{"type":"object","properties":{"s":{}},"required":["s"]}`},
		{"draft 4",
			"openai", params(`"n":{"type":"integer","exclusiveMinimum":true,"minimum":0}`), params(`"n":{"type":"integer","exclusiveMinimum":0}`)},
		{"an empty enum", "openai", params(`"n":{"enum":[]}`), params(`"n":{}`)},
		{"a pattern for ECMA alone",
			"openai", params(`"n":{"type":"string","pattern":"^\\p{L}+$"}`), params(`"n":{"type":"string","description":"(pattern: \"^\\\\p{L}+$\")"}`)},
		{"a reference to nothing",
			"openai", params(`"n":{"$ref":"https://example.com/x"},"m":{"$ref":"#/$defs/X"}`), params(`"n":{},"m":{}`)},
		{"order and numbers stay",
			"openai", params(`"z":{"minimum":1e400,"type":"number"},"a":{}`), params(`"z":{"minimum":1e400,"type":"number"},"a":{}`)},

		{"names of properties",
			"anthropic", `{"type":"object","properties":{"$filter":{},"a b":{},"_filter":{}},"required":["$filter"]}`, `{"type":"object","properties":{"_filter_2":{},"a_b":{},"_filter":{}},"required":["_filter_2"]}`},

		{"no parameters", "gemini", `{"type":"object","properties":{}}`, ``},
		{"keywords",
			"gemini", `{"$schema":"x","type":"object","properties":{"a":{"type":"string","examples":["x"]}},"additionalProperties":false}`, params(`"a":{"type":"string"}`)},
		{"what is lost is said",
			"gemini", params(`"a":{"type":"integer","exclusiveMinimum":0,"multipleOf":5,"description":"Steps."}`), params(`"a":{"type":"integer","description":"Steps. (exclusiveMinimum: 0, multipleOf: 5)"}`)},
		{"formats",
			"gemini", params(`"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"}`), params(`"a":{"type":"string","description":"(format: \"uri\")"},"b":{"type":"string","format":"date-time"}`)},
		{"const", "gemini", params(`"a":{"const":"x"}`), params(`"a":{"enum":["x"],"type":"string"}`)},
		{"an enum of numbers",
			"gemini", params(`"a":{"enum":[1,2]}`), params(`"a":{"type":"integer","description":"(enum: [1,2])"}`)},
		{"an empty text in an enum",
			"gemini", params(`"a":{"type":"string","enum":["","x"]}`), params(`"a":{"type":"string","enum":["x"]}`)},
		{"or null",
			"gemini", params(`"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"type":["string","null"]}`), params(`"a":{"type":"integer","nullable":true},"b":{"type":"string","nullable":true}`)},
		{"several types",
			"gemini", params(`"a":{"type":["string","number","null"],"description":"A."}`), params(`"a":{"description":"A.","anyOf":[{"type":"string"},{"type":"number"}],"nullable":true}`)},
		{"oneOf",
			"gemini", params(`"a":{"oneOf":[{"type":"string"},{"type":"object","properties":{"b":{"type":"string"}}}]}`), params(`"a":{"anyOf":[{"type":"string"},{"type":"object","properties":{"b":{"type":"string"}}}]}`)},
		{"any value",
			"gemini", params(`"a":{"description":"Any."}`), params(`"a":{"description":"Any.","anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}`)},
		{"no items", "gemini", params(`"a":{"type":"array"}`), params(`"a":{"type":"array","items":` + anyValue + `}`)},
		{"a tuple",
			"gemini", params(`"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"string"}]}`), params(`"a":{"type":"array","items":{"type":"string"}}`)},
		{"a reference",
			"gemini", `{"type":"object","properties":{"a":{"$ref":"#/definitions/A","description":"Mine."}},"definitions":{"A":{"type":"string","description":"Its."}}}`, params(`"a":{"type":"string","description":"Mine."}`)},
		{"allOf of a reference",
			"gemini", `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/E"}],"description":"Which."}},"$defs":{"E":{"type":"string","enum":["x"]}}}`, params(`"a":{"description":"Which.","type":"string","enum":["x"]}`)},
		{"recursion",
			"gemini", `{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}}}`, params(`"n":{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object"}}}}}`)},
		{"properties of a text",
			"gemini", params(`"a":{"type":"string","properties":{"b":{}},"required":["b"]}`), params(`"a":{"type":"string"}`)},
		{"a map",
			"gemini", params(`"a":{"type":"object","additionalProperties":{"type":"string"}}`), params(`"a":{"type":"object","description":"(additionalProperties: {\"type\":\"string\"})"}`)},

		{"a type beside anyOf",
			"moonshot", params(`"a":{"type":"object","anyOf":[{"required":["x"]},{"type":"object"}],"properties":{"x":{"type":"string"}}}`), params(`"a":{"anyOf":[{"required":["x"],"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"string"}}}]}`)},

		{"patterns and large bounds",
			"local", params(`"a":{"type":"string","pattern":"\\d","maxLength":10000,"minLength":1}`), params(`"a":{"type":"string","minLength":1,"description":"(pattern: \"\\\\d\", maxLength: 10000)"}`)},
		{"not", "local", params(`"a":{"not":{}}`), params(`"a":{}`)},

		{"optional",
			"strict", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","description":"B."}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"description":"B.","anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["a","b"],"additionalProperties":false}`},
		{"a map cannot be strict",
			"strict", params(`"a":{"type":"object","additionalProperties":{"type":"string"}}`), params(`"a":{"type":"object","additionalProperties":{"type":"string"}}`)},

		{"all at once",
			"plain", params(`"a":{"type":["string","null"],"minLength":1,"default":"x"},"$b":{"oneOf":[{"const":1},{"const":"y"}]}`), params(`"a":{"type":"string","description":"(default: \"x\", minLength: 1)"},"_b":{"anyOf":[{"type":"integer","description":"(enum: [1])"},{"enum":["y"],"type":"string"}]}`)},
	} {
		t.Run(c.dialect+": "+c.name, func(t *testing.T) {
			d, ok := schema.ByName(c.dialect)
			if !ok {
				t.Fatal("no such dialect")
			}
			got := d.Adapt(json.RawMessage(c.in))
			if string(got.Parameters) != c.want {
				t.Errorf("got  %s (%s)\nwant %s", got.Parameters, strings.Join(got.Changes, "; "), c.want)
			}
			again := d.Adapt(json.RawMessage(c.in))
			if string(again.Parameters) != string(got.Parameters) || fmt.Sprint(again.Changes) != fmt.Sprint(got.Changes) {
				t.Errorf("the second time it is %s", again.Parameters)
			}
			if same := c.in == c.want; same != (len(got.Changes) == 0) && c.in != "" && c.dialect != "strict" && !strings.Contains(c.in, "$schema") {
				t.Errorf("it says %q of %s", got.Changes, c.in)
			}
		})
	}
}

func TestRestore(t *testing.T) {
	for _, c := range []struct{ dialect, schema, args, want string }{
		{"openai", params(`"$a":{}`), `{ "$a": 1 }`, `{ "$a": 1 }`},
		{"anthropic", params(`"$a":{},"l":{"type":"array","items":{"type":"object","properties":{"b c":{}}}}`), `{"_a":1,"l":[{"b_c":2}]}`, `{"$a":1,"l":[{"b c":2}]}`},
		{"anthropic", params(`"$a":{}`), `{"$a":1}`, `{"$a":1}`},
		{"anthropic", params(`"$a":{}`), `no JSON`, `no JSON`},
		{"strict", params(`"a":{"type":"string"},"b":{"type":["string","null"]}`), `{"a":null,"b":null}`, `{"b":null}`},
		{"strict", params(`"l":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}}`), `{"l":[{"a":null},{"a":"x"}]}`, `{"l":[{},{"a":"x"}]}`},
	} {
		d, _ := schema.ByName(c.dialect)
		if got := d.Adapt(json.RawMessage(c.schema)).Restore(json.RawMessage(c.args)); string(got) != c.want {
			t.Errorf("%s: %s of %s: got %s, want %s", c.dialect, c.args, c.schema, got, c.want)
		}
	}
}

// TestOf: the dialect follows from the server and the model.
func TestOf(t *testing.T) {
	for _, c := range []struct{ host, model, want string }{
		{"api.openai.com", "gpt-5.4", "openai"}, {"generativelanguage.googleapis.com", "x", "gemini"},
		{"openrouter.ai", "google/gemini-3-pro", "gemini"},
		{"openrouter.ai", "moonshotai/kimi-k2", "moonshot"}, {"api.moonshot.cn", "x", "moonshot"},
		{"litellm.example.com", "claude-sonnet-5-5", "anthropic"},
		{"127.0.0.1", "qwen3", "local"}, {"localhost", "x", "local"}, {"192.168.1.5", "x", "local"}, {"ollama", "x",
			"local"}, {"gpu.local", "x", "local"},
		{"api.deepseek.com", "deepseek-chat", "openai"}, {"8.8.8.8", "x", "openai"},
	} {
		if got := schema.Of(c.host, c.model).String(); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.host, c.model, got, c.want)
		}
	}
}

// TestBounds: no schema costs much, or leaves what the strictest providers refuse.
func TestBounds(t *testing.T) {
	double := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`
	for i := range 40 {
		double += fmt.Sprintf(`"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	double += `"d40":{}}}`
	self := `{"type":"object","properties":{"a":{"$ref":"#/properties/a"},"b":{"allOf":[{"$ref":"#/properties/b"}]}},"anyOf":[{"$ref":"#"}],"allOf":[{"$ref":"#"}]}`
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 90) + `{}` + strings.Repeat(`}}`, 90)
	wide := `{"type":"object","anyOf":[` + strings.Repeat(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},`, 50) + `{}]}`
	for name, in := range map[string]string{"double": double, "self": self, "deep": deep, "very deep": strings.Repeat(`{"a":[`, 5000), "wide": wide} {
		for _, dialect := range schema.Names() {
			d, _ := schema.ByName(dialect)
			got := d.Adapt(json.RawMessage(in))
			if got.Parameters != nil && !json.Valid(got.Parameters) {
				t.Errorf("%s, %s: no JSON: %.200s", name, dialect, got.Parameters)
			}
			if len(got.Parameters) > 4<<20 {
				t.Errorf("%s, %s: %d bytes", name, dialect, len(got.Parameters))
			}
			if forbidden := regexp.MustCompile(`"(\$ref|oneOf|allOf|const|\$defs|additionalProperties)":`); (dialect == "gemini" || dialect == "plain") && forbidden.Match(got.Parameters) {
				t.Errorf("%s, %s: %s", name, dialect, forbidden.Find(got.Parameters))
			}
		}
	}
}

// TestDescription: descriptions are cut where a server bounds them.
func TestDescription(t *testing.T) {
	long := strings.Repeat("Ünïcode words. ", 200)
	azure := schema.Of("x.openai.azure.com", "gpt-5")
	if got := azure.Description(long); len([]rune(got)) > 1024 || !strings.HasSuffix(got, "…") || azure.Description("short") != "short" {
		t.Errorf("%d characters", len([]rune(got)))
	}
	if got := schema.Of("api.openai.com", "gpt-5").Description(long); got != long {
		t.Error("OpenAI's own are not cut")
	}
}
