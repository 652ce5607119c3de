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
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/tool/foreign"
)

// The bounds of a definition.
const (
	maxOwnName     = 256       // characters of the server's own name for a tool
	maxDescription = 1024      // characters that models are shown; the ranking reads the rest, too
	maxText        = 16 << 10  // bytes of a description that are read at all
	maxDefinition  = 256 << 10 // bytes of the whole definition; models read a part, see foreign.Reading
	maxDefinitions = 4 << 20   // bytes of all definitions of a server; further tools are refused
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
	// Parameters is the schema of the arguments, mended where it had to be.
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
	repairs    []string       // what was repaired in it
	refused    error          // why it cannot be used at all
}

// inspect checks and cleans a server's description of a tool.
func inspect(t *sdk.Tool, identity string) offer {
	o := offer{name: t.Name}
	if why, broken := t.Meta[wire.Broken]; broken {
		o.refused = fmt.Errorf("its definition cannot be read: %v", why)
		return o
	}
	if o.refused = checkOwnName(t.Name); o.refused == nil {
		o.definition, o.repairs, o.refused = define(t, identity)
	}
	if lost, ok := t.Meta[wire.Repaired].(string); ok {
		o.repairs = append(o.repairs, "parts that cannot be read were left out: "+
			cut.Words(printable.OneLine(lost), 100))
	}
	return o
}

// checkName refuses names that a server's file cannot give it.
func checkName(name string) error {
	if name == "" || foreign.Name(name, len(name)) != name {
		return errors.New("it may have letters, digits, '_' and '-' only")
	}
	return nil
}

// checkOwnName refuses names that calls cannot name, or that people cannot read.
func checkOwnName(name string) error {
	switch {
	case name == "":
		return errors.New("it has no name")
	case utf8.RuneCountInString(name) > maxOwnName:
		return fmt.Errorf("its name has more than %d characters", maxOwnName)
	case printable.Text(name) != name:
		return errors.New("its name has hidden characters")
	}
	return nil
}

// definitionParts returns the parts of a tool that make up its definition, as JSON.
type definitionParts struct {
	Server, Name, Title, Description string
	InputSchema, OutputSchema        any
	Annotations                      *sdk.ToolAnnotations
}

func define(t *sdk.Tool, identity string) (_ *Definition, repairs []string, _ error) {
	raw, err := plainjson.Encode(
		definitionParts{identity, t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations},
	)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxDefinition {
		return nil, nil, fmt.Errorf("its definition has %d bytes, at most %d are allowed", len(raw), maxDefinition)
	}
	hash := sha256.Sum256(raw)
	d := &Definition{
		size: len(raw), Hash: "sha256:" + hex.EncodeToString(hash[:]), Server: identity,
		Title: cut.Words(printable.Text(t.Title), 200),
		Description: strings.TrimSpace(printable.Text(strings.ToValidUTF8(t.Description[:min(len(t.Description),
			maxText)], ""))),
	}
	if t.Annotations != nil {
		if d.Annotations, err = plainjson.Encode(t.Annotations); err != nil {
			return nil, nil, err
		}
		if a, err := plainjson.Decode(d.Annotations); err == nil {
			d.Annotations, _ = plainjson.Encode(cleanValue(a))
		}
	}
	if d.Parameters, repairs, err = parameters(t.InputSchema); err != nil {
		return nil, nil, err
	}
	if d.Description == "" && d.Title == "" {
		d.Description = strings.ReplaceAll(t.Name, "_", " ")
	}
	if lost := len(t.Description) - maxText; lost > 0 {
		repairs = append(repairs, fmt.Sprintf("the last %d bytes of its description were left out", lost))
	}
	return d, repairs, nil
}

// hide removes the secrets that the server was given: neither models nor the file of
// pins may contain them.
func (d *Definition) hide(secrets skill.Redactor) {
	d.Title, d.Description = secrets.Text(d.Title), secrets.Text(d.Description)
	d.Parameters, d.Annotations = secrets.JSON(d.Parameters), secrets.JSON(d.Annotations)
}

// parameters checks, cleans and mends a schema.
func parameters(schema any) (_ json.RawMessage, repairs []string, _ error) {
	raw, err := plainjson.Encode(schema)
	if err != nil {
		return nil, nil, err
	}
	copied, err := plainjson.Decode(raw)
	if err != nil {
		return nil, nil, err
	}
	if err := visible(copied); err != nil {
		return nil, nil, err
	}
	mended, repairs := foreign.Mend(cleanValue(copied))
	_, _, notes := foreign.Reading(mended)
	return mended, append(repairs, notes...), nil
}

// visible refuses hidden characters in names and values that are sent to the server and so cannot
// just be removed.
func visible(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if printable.Text(name) != name {
				return fmt.Errorf("its inputSchema has the name %q with hidden characters",
					cut.Words(printable.Text(name), 80))
			}
			if name == "enum" || name == "const" {
				if raw, _ := plainjson.Encode(inner); hides(inner) {
					return fmt.Errorf("its inputSchema has the value %s with hidden characters",
						cut.Words(printable.Text(string(raw)), 80))
				}
			}
			if err := visible(inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := visible(inner); err != nil {
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
	d := scan.Definition{Name: t.Name, Title: t.Title, Description: t.Description, Input: t.InputSchema,
		Output: t.OutputSchema}
	if t.Annotations != nil {
		d.Annotation = t.Annotations.Title
	}
	return d
}

// fit converts the definition to a tool's; own is its name at the server. The same hash
// gives the same bytes.
func (d *Definition) fit(name, own string, like tool.Definition) tool.Definition {
	like.Name, like.Description = name, d.Description
	like.Parameters, like.Spellings, _ = foreign.Reading(d.Parameters)
	if !bytes.Equal(like.Parameters, d.Parameters) {
		like.Arguments = d.Parameters
	}
	if d.Title != "" && d.Title != d.Description {
		like.Aliases = []string{d.Title}
	}
	if like.Description == "" {
		like.Description = d.Title
	}
	if like.Original != "" {
		like.Aliases = append(like.Aliases, own)
		if unreadable := strings.ContainsFunc(own, func(r rune) bool { return r >= utf8.RuneSelf }); unreadable {
			like.Description = own + ": " + like.Description // the name that models read says less
		}
	}
	if short := cut.Words(like.Description, maxDescription); short != like.Description {
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
	schema, _ := plainjson.Decode(d.Parameters)
	return scan.Destroys(name, schema, d.Title, d.Description)
}
