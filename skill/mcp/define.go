package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
	"github.com/etui-run/etui/tool"
)

// The bounds of a definition.
const (
	maxDescription = 1024     // characters that models are shown; the ranking reads the rest, too
	maxText        = 16 << 10 // bytes of a description that are read at all
	maxSchema      = 16 << 10 // bytes of the parameters; tools with more are refused
	maxDefinition  = 64 << 10 // bytes of the whole definition
	maxDefinitions = 1 << 20  // bytes of all definitions of a server; further tools are refused
	maxDepth       = 32       // of the parameters
	maxProperties  = 128      // parameters, also those of objects within them; tools with more are refused
)

// Definition is a tool as its server describes it, cleaned.
type Definition struct {
	// Hash is the hash of the server's own words and of its command line or endpoint.
	Hash string `json:"hash"`
	// Server is the command line or endpoint.
	Server string `json:"server"`
	// Program identifies the program or package that the command line runs, by a hash or
	// a version; empty for a service.
	Program     string `json:"program,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Parameters is the schema of the arguments.
	Parameters json.RawMessage `json:"parameters"`
	// Annotations are hints of the server about what a call does. They can raise
	// the risk of a tool, and never lower it.
	Annotations json.RawMessage `json:"annotations,omitempty"`

	size int // bytes of the server's own words
}

// offer is a tool that a server offers.
type offer struct {
	name       string
	definition *Definition
	findings   []scan.Finding // why a person must look at it
	like       string         // the accepted tool of the server whose name looks like this one's
	refused    error          // why it cannot be used at all
}

// inspect checks and cleans a server's description of a tool.
func inspect(t *sdk.Tool, identity string) offer {
	o := offer{name: t.Name}
	if why, broken := t.Meta[wire.Broken]; broken {
		o.refused = fmt.Errorf("its definition cannot be read: %v", why)
		return o
	}
	if o.refused = checkName(t.Name); o.refused == nil {
		o.definition, o.refused = define(t, identity)
	}
	return o
}

func checkName(name string) error {
	bad := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	switch {
	case name == "":
		return errors.New("it has no name")
	case bad >= 0:
		return fmt.Errorf("its name %q has other characters than letters, digits, '_' and '-'", cut(printable.Text(name), 80))
	}
	return nil
}

// said returns the parts of a tool that make up its definition, as JSON.
type said struct {
	Server, Name, Title, Description string
	InputSchema, OutputSchema        any
	Annotations                      *sdk.ToolAnnotations
}

func define(t *sdk.Tool, identity string) (*Definition, error) {
	raw, err := marshal(said{identity, t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return nil, err
	}
	if len(raw) > maxDefinition {
		return nil, fmt.Errorf("its definition has %d bytes, at most %d are allowed", len(raw), maxDefinition)
	}
	hash := sha256.Sum256(raw)
	d := &Definition{size: len(raw), Hash: "sha256:" + hex.EncodeToString(hash[:]), Server: identity, Title: cut(printable.Text(t.Title), 200), Description: strings.TrimSpace(printable.Text(strings.ToValidUTF8(t.Description[:min(len(t.Description), maxText)], "")))}
	if t.Annotations != nil {
		if d.Annotations, err = marshal(t.Annotations); err != nil {
			return nil, err
		}
		if a, err := decode(d.Annotations); err == nil {
			d.Annotations, _ = marshal(cleanValue(a))
		}
	}
	if d.Parameters, err = parameters(t.InputSchema); err != nil {
		return nil, err
	}
	if d.Description == "" && d.Title == "" {
		d.Description = strings.ReplaceAll(t.Name, "_", " ")
	}
	return d, nil
}

// hide removes the secrets that the server was given: neither models nor the file of
// pins may contain them.
func (d *Definition) hide(secrets skill.Redactor) {
	d.Title, d.Description = secrets.Text(d.Title), secrets.Text(d.Description)
	d.Parameters, d.Annotations = secrets.JSON(d.Parameters), secrets.JSON(d.Annotations)
}

// parameters checks and cleans a schema.
func parameters(schema any) (json.RawMessage, error) {
	switch s := schema.(type) {
	case nil:
		return nil, errors.New("it has no inputSchema")
	case map[string]any:
		if s["type"] != "object" {
			return nil, errors.New(`its inputSchema is not of type "object"`)
		}
	default:
		return nil, errors.New("its inputSchema is no object")
	}
	raw, err := marshal(schema)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its inputSchema has %d bytes, at most %d are allowed", len(raw), maxSchema)
	}
	copied, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if n := properties(copied); n > maxProperties {
		return nil, fmt.Errorf("it has %d parameters, at most %d are allowed", n, maxProperties)
	}
	if err := visible(copied, 0); err != nil {
		return nil, err
	}
	cleaned, err := marshal(cleanValue(copied))
	if err != nil {
		return nil, err
	}
	if _, err := tool.CompileSchema(cleaned); err != nil {
		return nil, fmt.Errorf("its inputSchema is %s", cut(printable.Text(err.Error()), 300))
	}
	return cleaned, nil
}

// properties counts the properties in a schema.
func properties(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			n += properties(inner)
		}
	case map[string]any:
		if named, ok := v["properties"].(map[string]any); ok {
			n += len(named)
		}
		for _, inner := range v {
			n += properties(inner)
		}
	}
	return n
}

// visible refuses schemas that are too deep, and hidden characters in names and values
// that are sent to the server and so cannot just be removed.
func visible(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("its inputSchema is more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if printable.Text(name) != name {
				return fmt.Errorf("its inputSchema has the name %q with hidden characters", cut(printable.Text(name), 80))
			}
			if name == "enum" || name == "const" {
				if raw, _ := marshal(inner); hides(inner) {
					return fmt.Errorf("its inputSchema has the value %s with hidden characters", cut(printable.Text(string(raw)), 80))
				}
			}
			if err := visible(inner, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := visible(inner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// hides reports whether a value contains hidden characters.
func hides(v any) bool {
	switch v := v.(type) {
	case string:
		return printable.Text(v) != v
	case []any:
		return slices.ContainsFunc(v, hides)
	}
	return false
}

// words returns what the server says of a tool.
func words(t *sdk.Tool) scan.Definition {
	d := scan.Definition{Name: t.Name, Title: t.Title, Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema}
	if t.Annotations != nil {
		d.Annotation = t.Annotations.Title
	}
	return d
}

// fit converts the definition to a tool's; own is its name at the server. The same hash
// gives the same bytes.
func (d *Definition) fit(name, own string, like tool.Definition) tool.Definition {
	like.Name, like.Description, like.Parameters = name, d.Description, d.Parameters
	if d.Title != "" && d.Title != d.Description {
		like.Aliases = []string{d.Title}
	}
	if like.Description == "" {
		like.Description = d.Title
	}
	if short := cut(like.Description, maxDescription); short != like.Description {
		like.Description, like.Body = short, like.Description
	}
	if d.destroys(own) {
		like.Risk = tool.Destructive
	}
	return like
}

// destroys reports whether a call may be impossible to undo, as the server's hints or its words say.
func (d *Definition) destroys(name string) bool {
	var hints struct{ DestructiveHint, ReadOnlyHint bool }
	if json.Unmarshal(d.Annotations, &hints) == nil && hints.DestructiveHint && !hints.ReadOnlyHint {
		return true
	}
	schema, _ := decode(d.Parameters)
	return scan.Destroys(name, schema, d.Title, d.Description)
}

// marshal writes canonical JSON: sorted names, no needless escapes.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// decode parses JSON and keeps numbers as they are written.
func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
