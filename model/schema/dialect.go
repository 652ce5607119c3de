package schema

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Dialect is the part of JSON Schema that a provider accepts. The zero value is that of most.
type Dialect struct {
	name string
	// maxDescription bounds the description of a tool, in characters; 0 means no bound.
	maxDescription int
	// inline writes the target of a reference in its place, and merges allOf.
	inline bool
	// branches moves a type beside anyOf into its branches, and writes oneOf as anyOf.
	branches bool
	// oneType writes several types as anyOf, and names a type everywhere.
	oneType bool
	// nullable says that null is allowed with a keyword instead of a type.
	nullable bool
	// noEmpty leaves out the parameters of a tool that has none.
	noEmpty bool
	// texts keeps an enum of texts only.
	texts bool
	// strict requires every property and allows no others.
	strict bool
	// sealed allows no other properties than those that are named.
	sealed bool
	// maxRepeat bounds how many characters or elements a schema may count; 0 means no bound.
	maxRepeat float64
	// maxEnum bounds the values of an enum, and maxDepth how deep objects are described; 0 means no
	// bound.
	maxEnum, maxDepth int
	// keywords are the only ones; nil means all.
	keywords []string
	// formats are the only ones by type; nil means all.
	formats map[string][]string
	// pattern reports whether a pattern is understood; nil means that all are.
	pattern func(string) bool
	// property matches the names of properties; nil means all.
	property *regexp.Regexp
}

func (d Dialect) String() string { return cmp.Or(d.name, "openai") }

// Names lists the dialects that [ByName] knows.
func Names() []string {
	return []string{"openai", "strict", "anthropic", "gemini", "moonshot", "local", "plain"}
}

// ByName returns a dialect by its name; false if there is none.
func ByName(name string) (Dialect, bool) {
	switch name {
	case "openai":
		return Dialect{name: name, pattern: python}, true
	case "strict":
		return strict(), true
	case "anthropic":
		return Dialect{name: name, property: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)}, true
	case "gemini":
		return gemini(), true
	case "moonshot":
		return Dialect{name: name, inline: true, branches: true, oneType: true, pattern: python}, true
	case "local":
		return local(), true
	case "plain":
		return plain(), true
	}
	return Dialect{}, false
}

// vendors are parts of the names of models, as gateways give them, whose makers have a dialect.
var vendors = [][2]string{{"gemini", "gemini"}, {"kimi", "moonshot"}, {"moonshot", "moonshot"}, {"claude", "anthropic"}}

// Of returns the dialect of a model behind OpenAI's API, by the name of its server and its own.
func Of(host, model string) Dialect {
	host, model = strings.ToLower(host), strings.ToLower(model)
	name := "openai"
	switch {
	case strings.HasSuffix(host, "googleapis.com"):
		name = "gemini"
	case strings.HasSuffix(host, "moonshot.ai"), strings.HasSuffix(host, "moonshot.cn"):
		name = "moonshot"
	case near(host):
		name = "local"
	}
	for _, v := range vendors {
		if strings.Contains(model, v[0]) {
			name = v[1]
			break
		}
	}
	d, _ := ByName(name)
	if strings.HasSuffix(host, ".azure.com") {
		d.maxDescription = 1024
	}
	return d
}

// near reports whether a server is on this machine or in its network: it is one of the programs that
// run a model by themselves.
func near(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// base are the keywords that each provider with a list of its own has.
var base = []string{
	"type", "description", "title", "properties", "required", "items", "enum", "anyOf", "format", "pattern",
	"minimum", "maximum", "minItems", "maxItems",
}

// gemini is Google's: a part of OpenAPI's schemas.
func gemini() Dialect {
	return Dialect{
		name: "gemini", inline: true, branches: true, oneType: true, nullable: true, noEmpty: true,
		texts: true, maxEnum: 200, maxDepth: 16,
		keywords: slices.Concat(base, []string{"nullable", "minLength", "maxLength", "minProperties", "maxProperties",
			"default"}),
		formats: map[string][]string{
			"string": {"date-time", "enum"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
		},
		pattern: python,
	}
}

// strict is OpenAI's for models that are held to a schema.
func strict() Dialect {
	return Dialect{
		name: "strict", inline: true, branches: true, oneType: true, strict: true, maxEnum: 500, maxDepth: 9,
		keywords: slices.Concat(base, []string{"additionalProperties", "const", "exclusiveMinimum", "exclusiveMaximum",
			"multipleOf"}),
		formats: map[string][]string{"string": {"date-time", "time", "date", "duration", "email", "hostname", "ipv4",
			"ipv6", "uuid"}},
		pattern: func(p string) bool { return python(p) && !strings.Contains(p, "(?") },
	}
}

// Structured returns Anthropic's dialect for the answers of models that are held to a schema. A schema whose
// [Adaptation.Strict] is false has objects with free names, which it cannot express.
func Structured() Dialect {
	return Dialect{
		name: "structured", inline: true, branches: true, sealed: true,
		keywords: []string{
			"type", "description", "title", "properties", "required", "items", "enum", "const", "anyOf", "format",
			"additionalProperties", "default",
		},
		formats: map[string][]string{"string": {
			"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
		}},
	}
}

// local is that of servers that turn schemas into a grammar, and show them to a template:
// llama.cpp, Ollama, LM Studio.
func local() Dialect {
	return Dialect{
		name: "local", inline: true, maxRepeat: 200, maxDepth: 16,
		keywords: slices.Concat(base, []string{
			"additionalProperties", "const", "oneOf", "allOf", "prefixItems", "minLength", "maxLength",
			"exclusiveMinimum", "exclusiveMaximum", "default",
		}),
		pattern: func(string) bool { return false },
	}
}

// plain is understood by all: it is tried after a refusal.
func plain() Dialect {
	return Dialect{
		name: "plain", maxDescription: 1024, inline: true, branches: true, oneType: true,
		texts: true, maxEnum: 100, maxDepth: 5,
		keywords: []string{"type", "description", "properties", "required", "items", "enum", "anyOf"},
		property: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	}
}

// ecmaOnly matches what ECMA's patterns have and Python's do not.
var ecmaOnly = regexp.MustCompile(`\\[pPu]\{|\(\?<[^=!]|\\[ck]|\[\^?\]`)

// python reports whether Python compiles a pattern, as far as that can be seen.
func python(pattern string) bool { return !ecmaOnly.MatchString(pattern) }
