package foreign_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/tool/foreign"
)

func TestName(t *testing.T) {
	fit, seen := regexp.MustCompile(`^[A-Za-z0-9_-]{1,20}$`), map[string]bool{}
	for _, c := range []struct{ original, want string }{
		{"get_user", "get_user"},
		{"Get-User_2", "Get-User_2"},
		{"get.user", "get_user_*"},
		{"get/user", "get_user_*"},
		{"get user", "get_user_*"},
		{" get_user ", "get_user_*"},
		{"get_user\n", "get_user_*"},
		{"Métier", "Metier_*"},
		{"查询天气", "tool_*"},
		{"查询 weather", "weather_*"},
		{"🔥", "tool_*"},
		{"", "tool_*"},
		{strings.Repeat("a", 20), strings.Repeat("a", 20)},
		{strings.Repeat("a", 21), "aaaaaaaaaaaaa_*"},
		{strings.Repeat("a", 22), "aaaaaaaaaaaaa_*"},
		{strings.Repeat("é", 400), "eeeeeeeeeeeee_*"},
	} {
		got := foreign.Name(c.original, 20)
		begin, cut := strings.CutSuffix(c.want, "*")
		if !fit.MatchString(got) || !strings.HasPrefix(got, begin) || !cut && got != c.want || seen[got] {
			t.Errorf("%q becomes %q, want %q", c.original, got, c.want)
		}
		seen[got] = true
	}
	for most := 1; most < 12; most++ {
		if got := foreign.Name("get.user", most); len(got) > most || got == "" {
			t.Errorf("%d: %q", most, got)
		}
	}
}

// TestMend holds what becomes of schemas, and that arguments are checked by the result. In fits and
// fails, quotes are left out around texts without spaces.
func TestMend(t *testing.T) {
	for _, c := range []struct{ name, schema, want, fits, fails string }{
		{"no schema", `null`, `{"type":"object"}`, `{"a":1}`, ``},
		{"an empty list", `[]`, `{"type":"object"}`, `{}`, ``},
		{"a truth value", `true`, `{"type":"object"}`, `{}`, ``},
		{"a number", `5`, `{"type":"object"}`, `{}`, ``},
		{"empty", `{}`, `{"type":"object"}`, `{"a":1}`, ``},
		{"only $schema", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"type":"object"}`, `{}`, ``},
		{"an unknown $schema", `{"$schema":"https://x.test/s","type":"object"}`, `{"type":"object"}`, `{}`, ``},
		{"no type", `{"properties":{"q":{"type":"string"}}}`, ``, `{"q":"a"}`, `{"q":1}`},
		{"a null type", `{"type":null,"properties":{"q":{"type":null}}}`, ``, `{"q":1}`, ``},
		{"another type", `{"type":"string"}`, `{"type":"object"}`, `{}`, ``},
		{"an object or null", `{"type":["object","null"],"properties":{"q":{"type":"string"}}}`, ``, `{"q":"a"}`, `{"q":1}`},
		{"a text", `"{\"type\":\"object\",\"required\":[\"q\"]}"`, ``, `{"q":1}`, `{}`},
		{"parameters", `{"q":{"type":"string"},"title":{"type":"string","required":true}}`, ``, `{"title":"a"}`, `{"q":"a"}`},
		{"a list of parameters", `[{"name":"q","type":"str","required":true},{"name":"n","type":"int|null"}]`, ``, `{"q":"a","n":null}`, `{"n":1}`},
		{"no properties", `{"type":"object"}`, `{"type":"object"}`, `{"a":1}`, ``},
		{"properties as a list", `{"type":"object","properties":[]}`, ``, `{"a":1}`, ``},
		{"null properties", `{"type":"object","properties":null}`, `{"type":"object"}`, `{"a":1}`, ``},
		{"draft 4 bounds", `{"properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`, ``, `{"n":9}`, `{"n":0}`},
		{"a bound alone", `{"properties":{"n":{"type":"integer","exclusiveMinimum":true}}}`, ``, `{"n":-9}`, ``},
		{"bounds as texts", `{"properties":{"n":{"type":"integer","minimum":"5","maxLength":"x","multipleOf":0}}}`, ``, `{"n":5}`, `{"n":4}`},
		{"required as truth", `{"properties":{"s":{"type":"string","required":true},"t":{"required":false}}}`, ``, `{"s":"a"}`, `{"t":1}`},
		{"required at the top", `{"type":"object","required":true}`, `{"type":"object"}`, `{}`, ``},
		{"null required", `{"type":"object","properties":{"s":{}},"required":null}`, ``, `{}`, ``},
		{"one required", `{"type":"object","properties":{"s":{}},"required":"s"}`, ``, `{"s":1}`, `{}`},
		{"required twice", `{"type":"object","properties":{"s":{}},"required":["s","s",null]}`, ``, `{"s":1}`, `{}`},
		{"required and impossible", `{"type":"object","properties":{"s":{}},"required":["s","x"],"additionalProperties":false}`, ``, `{"s":1}`, `{"s":1,"y":1}`},
		{"upper case", `{"type":"OBJECT","properties":{"s":{"type":"STRING"}}}`, ``, `{"s":"a"}`, `{"s":1}`},
		{"words of other languages", `{"properties":{"i":{"type":"int"},"f":{"type":"float"},"b":{"type":"bool"},"l":{"type":"list"},"d":{"type":"dict"},"a":{"type":"array<string>"}}}`, ``,
			`{"i":1,"f":1.5,"b":true,"l":[],"d":{},"a":["x"]}`, `{"l":{}}`},
		{"any", `{"properties":{"s":{"type":"any"},"t":{"type":"quux"}}}`, ``, `{"s":[1],"t":{}}`, ``},
		{"nullable", `{"properties":{"s":{"type":"string","nullable":true}}}`, ``, `{"s":null}`, `{"s":1}`},
		{"a schema as type", `{"properties":{"s":{"type":[{"type":"string"},"null"]}}}`, ``, `{"s":null}`, `{"s":1}`},
		{"a type as schema", `{"properties":{"s":"string","t":["string","null"],"u":null,"v":5}}`, ``, `{"s":"a","t":null,"u":1,"v":{}}`, `{"s":1}`},
		{"truth as schema", `{"properties":{"s":true,"t":false}}`, ``, `{"s":1}`, `{"t":1}`},
		{"enum of another type", `{"properties":{"a":{"type":"string","enum":[1,2,2]}}}`, ``, `{"a":2}`, `{"a":3}`},
		{"enum with null", `{"properties":{"a":{"type":"string","enum":["x",null]},"b":{"type":["string","null"],"enum":["x",null]}}}`, ``, `{"a":"x","b":null}`, `{"a":null}`},
		{"enum in a text", `{"properties":{"a":{"type":"string","enum":"x, y|z"}}}`, ``, `{"a":"y"}`, `{"a":"x, y|z"}`},
		{"a literal of JavaScript", `{"properties":{"a":{"pattern":"/^x+$/i"},"b":{"pattern":"/x/"}}}`, ``, `{"a":"XX","b":"/x/"}`, `{"a":"/xx/"}`},
		{"enum of one", `{"properties":{"a":{"enum":"x"},"b":{"enum":[]},"c":{"enum":null}}}`, ``, `{"a":"x","b":1,"c":1}`, `{"a":"y"}`},
		{"default of another type", `{"properties":{"a":{"type":"integer","default":"x"},"b":{"type":"integer","default":3}}}`,
			`{"properties":{"a":{"type":"integer"},"b":{"default":3,"type":"integer"}},"type":"object"}`, `{"a":1}`, `{"a":"x"}`},
		{"items as a list", `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}}}`, ``, `{"a":["x",1]}`, `{"a":[1,"x"]}`},
		{"odd items", `{"properties":{"a":{"type":"array","items":null},"b":{"type":"array","items":"string"},"c":{"type":"array","items":true}}}`, ``, `{"a":[1],"b":["x"],"c":[1]}`, `{"b":[1]}`},
		{"odd additionalProperties", `{"properties":{"a":{"type":"object","additionalProperties":"false"},"b":{"type":"object","additionalProperties":null},"c":{"type":"object","additionalProperties":[]}}}`,
			``, `{"b":{"x":1},"c":{"x":1}}`, `{"a":{"x":1}}`},
		{"odd alternatives", `{"properties":{"a":{"anyOf":{"type":"string"}},"b":{"oneOf":[]},"c":{"allOf":null},"d":{"anyOf":[null,{"type":"string"}]}}}`, ``, `{"a":"x","b":1,"c":1,"d":1}`, `{"a":1}`},
		{"lookahead", `{"properties":{"s":{"type":"string","pattern":"^(?!foo).*$"}}}`, ``, `{"s":"bar"}`, `{"s":"foo"}`},
		{"escapes of ECMAScript", `{"properties":{"s":{"type":"string","pattern":"^[\\w\\-\\/]+\\u{1F600}?$"}}}`, ``, `{"s":"a/b"}`, `{"s":"a b"}`},
		{"no pattern", `{"properties":{"s":{"type":"string","pattern":"(["},"t":{"pattern":5}},"patternProperties":{"([":{"type":"string"}}}`, ``, `{"s":"x","t":1}`, `{"s":1}`},
		{"odd formats", `{"properties":{"n":{"type":"integer","format":"uint64"},"d":{"type":"string","format":"date"},"f":{"format":7}}}`, ``, `{"n":1,"d":"no date","f":1}`, `{"n":"x"}`},
		{"odd texts", `{"title":5,"description":["x"],"properties":{"a":{"description":null,"title":{}}}}`, ``, `{"a":1}`, ``},
		{"dependencies", `{"properties":{"a":{},"b":{}},"dependencies":{"a":["b"],"b":{"required":["c"]}}}`, ``, `{"a":1,"b":1,"c":1}`, `{"a":1}`},
		{"definitions", `{"properties":{"p":{"$ref":"#/definitions/P"}},"definitions":{"P":{"type":"integer"}}}`, ``, `{"p":1}`, `{"p":"x"}`},
		{"definitions elsewhere", `{"properties":{"p":{"$ref":"#/components/schemas/P"},"q":{"$ref":"P"}},"$defs":{"P":{"type":"integer"}}}`, ``, `{"p":1,"q":2}`, `{"q":"x"}`},
		{"an anchor", `{"properties":{"p":{"$ref":"#word"}},"$defs":{"P":{"$anchor":"word","type":"integer"}}}`, ``, `{"p":1}`, `{"p":"x"}`},
		{"an identifier", `{"properties":{"p":{"$ref":"https://x.test/p"}},"$defs":{"P":{"$id":"https://x.test/p","type":"integer"}}}`, ``, `{"p":1}`, `{"p":"x"}`},
		{"a reference at the top", `{"$ref":"#/definitions/T","definitions":{"T":{"type":"object","required":["q"]}}}`, ``, `{"q":1}`, `{}`},
		{"a reference to itself", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"t":{"type":"string"},"next":{"$ref":"#/$defs/A"}}}}}`, ``,
			`{"a":{"next":{"next":{"next":{"next":{"t":"x"}}}}}}`, `{"a":{"next":{"next":{"next":{"next":{"t":1}}}}}}`},
		{"a reference to the top", `{"properties":{"and":{"type":"array","items":{"$ref":"#"}},"n":{"type":"integer"}}}`, ``, `{"and":[{"and":[{"n":1}]}]}`, `{"and":[{"and":[{"n":"x"}]}]}`},
		{"a remote reference", `{"properties":{"a":{"$ref":"https://x.test/s.json#/A"},"b":{"$ref":"#/nowhere"},"c":{"$ref":"file:///etc/passwd"},"d":{"$ref":5}}}`, ``, `{"a":1,"b":1,"c":1,"d":1}`, ``},
		{"a circle without an end", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/A"}}}`, ``, `{"a":1}`, ``},
		{"names like words", `{"properties":{"type":{"type":"string"},"required":{"type":"boolean"},"$ref":{"type":"string"},"id":{"type":"integer"},"items":{"type":"array"}}}`, ``,
			`{"type":"a","required":true,"$ref":"b","id":1,"items":[]}`, `{"id":"x"}`},
		{"draft 4 as a whole", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.test/s","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}},"required":["n"]}`, ``, `{"n":1}`, `{"n":0}`},
	} {
		var schema any
		if err := json.Unmarshal([]byte(c.schema), &schema); err != nil {
			t.Fatal(c.name, err)
		}
		got, repairs := foreign.Mend(schema)
		compiled, err := tool.CompileArguments(got)
		if err != nil {
			t.Errorf("%s: %s: %v", c.name, got, err)
			continue
		}
		if c.want != "" && string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if err := compiled.Validate(json.RawMessage(c.fits)); err != nil {
			t.Errorf("%s: %s does not take %s: %v (%q)", c.name, got, c.fits, err, repairs)
		}
		if c.fails != "" && compiled.Validate(json.RawMessage(c.fails)) == nil {
			t.Errorf("%s: %s takes %s (%q)", c.name, got, c.fails, repairs)
		}
		again, _ := foreign.Mend(schema)
		if string(again) != string(got) {
			t.Errorf("%s: %s, and then %s", c.name, got, again)
		}
		reading, _, _ := foreign.Reading(got)
		if _, err := tool.CompileSchema(reading); err != nil || (tool.Definition{Name: "t", Parameters: reading}).Check() != nil {
			t.Errorf("%s: %s, which models read, does not compile: %v", c.name, reading, err)
		}
	}
}

// TestRepairsAreSaid: what was repaired is said, and nothing is said of a schema without a fault.
func TestRepairsAreSaid(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"q":{"type":"string","pattern":"^a$","enum":["a"]}},"required":["q"],"additionalProperties":false}`: "",
		`{"type":"object","properties":{"q":{"$ref":"https://x.test/s"}}}`:                                                                  "references that lead nowhere or out of the schema are not followed",
		`{"type":"object","properties":{"q":{"pattern":"(["}}}`:                                                                             "patterns that no library here can compile are not checked",
		`{"type":"object","required":null}`:                                                                                                 "lists of required properties were null",
	} {
		var v any
		if err := json.Unmarshal([]byte(schema), &v); err != nil {
			t.Fatal(err)
		}
		if _, repairs := foreign.Mend(v); strings.Join(repairs, "; ") != want {
			t.Errorf("%s: %q, want %q", schema, repairs, want)
		}
	}
}

func TestReading(t *testing.T) {
	many := func(n int, text string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"p%d":{"type":"string","description":%q}`, i, text)
		}
		return `{"type":"object","properties":{` + strings.Join(list, ",") + fmt.Sprintf(`},"required":["p%d"]}`, n-1)
	}
	for _, c := range []struct{ name, schema, has, not string }{
		{"plain", `{"type":"object","properties":{"q":{"type":"string","default":"x"}}}`, `"default":"x"`, ``},
		{"references", `{"type":"object","properties":{"p":{"$ref":"#/$defs/P","description":"One."}},"$defs":{"P":{"type":"integer","description":"Two."}}}`, `{"description":"One.","type":"integer"}`, `$`},
		{"a circle", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"t":{"type":"string"},"next":{"$ref":"#/$defs/A"}}}}}`, `"next":{"type":"object"}`, `$ref`},
		{"circles that double", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"l":{"$ref":"#/$defs/B"},"r":{"$ref":"#/$defs/B"}}},"B":{"type":"object","properties":{"l":{"$ref":"#/$defs/A"},"r":{"$ref":"#/$defs/A"}}}}}`, `"l":`, `$ref`},
		{"odd names", `{"type":"object","properties":{"$filter":{"type":"string"},"名":{}},"required":["$filter"]}`, `"required":["filter_`, `$filter`},
		{"many", many(150, "short"), `"p149"`, ``},
		{"long", many(120, strings.Repeat("word ", 60)), `"p119"`, ``},
		{"huge", many(3000, strings.Repeat("word ", 60)), `"p2999"`, ``},
		{"texts", `{"type":"object","properties":{"q":{"description":"` + strings.Repeat("word ", 1000) + `"}}}`, `word…`, ``},
	} {
		got, spellings, _ := foreign.Reading(json.RawMessage(c.schema))
		if !strings.Contains(string(got), c.has) || c.not != "" && strings.Contains(string(got), c.not) || len(got) > foreign.MaxReading {
			t.Errorf("%s: %.600s (%d bytes)", c.name, got, len(got))
		}
		if _, err := tool.CompileSchema(got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for written, name := range spellings {
			if !strings.Contains(string(got), `"`+written+`"`) || !strings.Contains(c.schema, `"`+name+`"`) {
				t.Errorf("%s: %q is %q", c.name, name, written)
			}
		}
	}
}

// TestSpellings: a call with the names that models read reaches the tool with its own.
func TestSpellings(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"$filter":{"type":"string"},"list":{"type":"array","items":{"type":"object","properties":{"a b":{"type":"integer"}}}}},"required":["$filter"]}`)
	reading, spellings, _ := foreign.Reading(schema)
	d := tool.Definition{Name: "t", Parameters: reading, Arguments: schema, Spellings: spellings}
	compiled, err := d.Compile()
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{}
	for w, name := range spellings {
		written[name] = w
	}
	for args, ok := range map[string]bool{
		fmt.Sprintf(`{%q:"x","list":[{%q:1}]}`, written["$filter"], written["a b"]):   true,
		fmt.Sprintf(`{%q:"x","list":[{%q:"1"}]}`, written["$filter"], written["a b"]): false,
		`{"$filter":"x"}`: true,
		`{"list":[]}`:     false,
	} {
		respelled := d.Respell(json.RawMessage(args))
		if err := compiled.Validate(respelled); (err == nil) != ok || strings.Contains(string(respelled), written["a b"]) {
			t.Errorf("%s becomes %s: %v", args, respelled, err)
		}
	}
	// Both names at once: the tool's own counts, always.
	both := json.RawMessage(fmt.Sprintf(`{"$filter":"x",%q:"y"}`, written["$filter"]))
	for range 20 {
		var got map[string]string
		if err := json.Unmarshal(d.Respell(both), &got); err != nil || got["$filter"] != "x" {
			t.Fatalf("%v %v", got, err)
		}
	}
	if len(spellings) != 2 {
		t.Errorf("%v", spellings)
	}
}

// TestReferencesAreBounded: neither spellings of one reference nor references into one part write
// that part again and again, and models do not read a value once for each reference to it.
func TestReferencesAreBounded(t *testing.T) {
	refs := func(n int, target func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"$ref":%q}`, target(i))
		}
		return strings.Join(list, ",")
	}
	spelling := func(i int) string {
		var b strings.Builder
		for bit, r := range "abcdefghij" {
			if i>>bit&1 == 1 {
				fmt.Fprintf(&b, "%%%x", r)
			} else {
				b.WriteRune(r)
			}
		}
		return "#/$defs/" + b.String()
	}
	big := `"enum":[` + strings.Repeat(`"value",`, 2000) + `"last"],"const":"` + strings.Repeat("x", 20_000) + `"`
	deep := strings.Repeat(`{"properties":{"b":`, 30) + `{` + big + `}` + strings.Repeat(`}}`, 30)
	wide := `"enum":[` + refs(3000, func(i int) string { return fmt.Sprint(i) }) + `]`
	for _, c := range []struct {
		name, schema, repair string
		most                 int // bytes of the mended schema
	}{
		{"spellings", `{"type":"object","properties":{"a":{"anyOf":[` + refs(1000, spelling) + `]}},"$defs":{"abcdefghij":{` + big + `}}}`, "", 100_000},
		{"numbers", `{"type":"object","properties":{"a":{"anyOf":[` + refs(500, func(i int) string { return "#/$defs/l/" + strings.Repeat("0", i+1) }) +
			`]}},"$defs":{"l":[{` + big + `}]}}`, "", 100_000},
		{"nested", `{"type":"object","properties":{"a":{"description":"A.","anyOf":[` +
			refs(31, func(i int) string { return "#/$defs/a" + strings.Repeat("/properties/b", i) }) + `]}},"$defs":{"a":` +
			strings.Replace(deep, big, wide, 1) + `}}`, "not checked: the targets", 1000},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.schema), &v); err != nil {
			t.Fatal(c.name, err)
		}
		got, repairs := foreign.Mend(v)
		if said := strings.Join(repairs, "; "); len(got) > c.most || !strings.Contains(said, c.repair) ||
			c.repair == "" && strings.Contains(said, "arguments are not checked") {
			t.Errorf("%s: %d bytes of %d become %d, %.300q", c.name, len(c.schema), c.most, len(got), said)
		}
	}
	all := `{"type":"object","properties":{"a":{"anyOf":[` + refs(500, func(int) string { return "#/$defs/p" }) + `]}},"$defs":{"p":{` + big + `}}}`
	if n := allocated(func() { foreign.Reading(json.RawMessage(all)) }); n > 16<<20 {
		t.Errorf("a reading of %d bytes took %d", len(all), n)
	}
}

// allocated returns how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSlowPatternsAreBounded: patterns for the slower engine are few; the others stay.
func TestSlowPatternsAreBounded(t *testing.T) {
	var list []any
	for i := range 100 {
		list = append(list, map[string]any{"pattern": fmt.Sprintf("^(?!x)%d$", i)}, map[string]any{"pattern": fmt.Sprintf("^%d$", i)}, map[string]any{"pattern": "^(?!x)0$"})
	}
	got, repairs := foreign.Mend(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"anyOf": list}}})
	said := strings.Join(repairs, "; ")
	if said != "patterns with lookahead or back references, after the first 16, are not checked" {
		t.Error(said)
	}
	if all, slow := strings.Count(string(got), "pattern"), strings.Count(string(got), "(?!x)"); all-slow != 100 || slow != 116 {
		t.Errorf("%d patterns, %d of them slow", all, slow)
	}
}
