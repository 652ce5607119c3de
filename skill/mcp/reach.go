package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/printable"
)

// Resources and prompts are reached as tools of the server: its rights, its pins and the ranking
// hold for them as for its others.

// extra calls what is reached as a tool and is none.
type extra func(ctx context.Context, c *connection, args json.RawMessage) (*sdk.CallToolResult, error)

// listing is what a server lists.
type listing struct {
	tools   []*sdk.Tool
	leftOut int               // further tools than are taken
	tasks   map[string]bool   // tools that work only as tasks
	extras  map[string]extra  // tools that are resources or prompts
	about   map[string]string // for the ranking, what resources there are; by the tool that reads them
}

// The bounds of what is reached so. Anything above them is left out.
const (
	maxResources = 2000
	maxListed    = 100 // resources in one answer
	maxPrompts   = 64
	maxAbout     = 8 << 10 // bytes of it that the ranking reads
	reachTime    = 10 * time.Second
)

// add adds a tool of another kind, unless the skill's file leaves it out. The server's own tools
// keep their names.
func (l *listing) add(wanted func(string) bool, t *sdk.Tool, about string, call extra) {
	taken := func(other *sdk.Tool) bool { return folded(other.Name) == folded(t.Name) }
	if slices.ContainsFunc(l.tools, taken) {
		t.Name = "mcp_" + t.Name
	}
	if !wanted(t.Name) || slices.ContainsFunc(l.tools, taken) || len(l.tools) >= maxTools {
		return
	}
	l.tools = append(l.tools, t)
	l.extras[t.Name], l.about[t.Name] = call, about
}

// resource is a resource, or a template of one.
type resource struct{ uri, name, description string }

func (r resource) String() string {
	uri, name := printable.Line(r.uri, 1000), printable.Line(r.name, 200)
	return strings.TrimRight(fmt.Sprintf("%s (%s) %s", uri, name, printable.Line(r.description, 300)), " ")
}

// reach adds the resources and the prompts of the server. One that says it has them, and does
// not list them in time, is not asked again over this connection.
func (c *connection) reach(ctx context.Context, l *listing, wanted func(string) bool) error {
	can := c.session.InitializeResult().Capabilities
	if can == nil || c.unlisted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var all []resource
	if can.Resources != nil {
		err := errors.Join(c.missing(c.pages(ctx, func(cursor string) (string, error) {
			result, err := c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return "", err
			}
			for _, r := range result.Resources {
				if r != nil && r.URI != "" && len(all) < maxResources {
					all = append(all, resource{r.URI, cmp.Or(r.Title, r.Name), r.Description})
				}
			}
			return result.NextCursor, nil
		})), c.missing(c.pages(ctx, func(cursor string) (string, error) {
			result, err := c.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
			if err != nil {
				return "", err
			}
			for _, r := range result.ResourceTemplates {
				if r != nil && r.URITemplate != "" && len(all) < maxResources {
					all = append(all, resource{r.URITemplate, cmp.Or(r.Title, r.Name), r.Description})
				}
			}
			return result.NextCursor, nil
		})))
		if err != nil {
			return err
		}
	}
	if len(all) > 0 {
		var about strings.Builder
		for _, r := range all {
			if about.Len() > maxAbout {
				break
			}
			about.WriteString(r.String() + "\n")
		}
		l.add(wanted, &sdk.Tool{
			Name: "list_resources", Title: "List resources",
			Description: "List the resources of this server, such as files, tables and records, with their URIs. " +
				"words finds those that have all of them.",
			InputSchema: textSchema("words"),
		}, about.String(), listResources(all))
		l.add(wanted, &sdk.Tool{
			Name: "read_resource", Title: "Read a resource",
			Description: "Read a resource of this server by its URI, as list_resources shows it. " +
				"In a URI with {name}, write a value for it.",
			InputSchema: textSchema("uri", "uri"),
		}, about.String(), readResource)
	}
	if can.Prompts == nil {
		return nil
	}
	prompts := 0
	return c.missing(c.pages(ctx, func(cursor string) (string, error) {
		result, err := c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, p := range result.Prompts {
			if p != nil && p.Name != "" && prompts < maxPrompts {
				prompts++
				l.add(wanted, promptTool(p), "", getPrompt(p.Name))
			}
		}
		return result.NextCursor, nil
	}))
}

// textSchema is the schema of one text.
func textSchema(name string, required ...any) map[string]any {
	schema := map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": "string"}}}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// missing forgives a server that does not list what it says it has. Only a session that has
// expired ends the connection.
func (c *connection) missing(err error) error {
	if err == nil || expired(err) {
		return err
	}
	c.wire.Note("resources or prompts that it says it has and does not list")
	if answer := (*jsonrpc.Error)(nil); !errors.As(err, &answer) {
		c.unlisted = true
	}
	return nil
}

func listResources(all []resource) extra {
	return func(_ context.Context, _ *connection, args json.RawMessage) (*sdk.CallToolResult, error) {
		var asked struct{ Words string }
		if err := json.Unmarshal(args, &asked); err != nil {
			return nil, err
		}
		var found []string
		words := strings.Fields(strings.ToLower(asked.Words))
		for _, r := range all {
			line := r.String()
			lacks := func(word string) bool { return !strings.Contains(strings.ToLower(line), word) }
			if !slices.ContainsFunc(words, lacks) {
				found = append(found, line)
			}
		}
		text := strings.Join(found[:min(len(found), maxListed)], "\n")
		switch {
		case len(found) == 0:
			text = fmt.Sprintf("no resource has these words; the server has %s", printable.Count(len(all), "resource"))
		case len(found) > maxListed:
			text += fmt.Sprintf("\n(%d more: say words to find them)", len(found)-maxListed)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
}

func readResource(ctx context.Context, c *connection, args json.RawMessage) (*sdk.CallToolResult, error) {
	var asked struct{ URI string }
	if err := json.Unmarshal(args, &asked); err != nil {
		return nil, err
	}
	read, err := c.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: asked.URI})
	if err != nil {
		return nil, err
	}
	result := &sdk.CallToolResult{}
	for _, contents := range read.Contents {
		result.Content = append(result.Content, &sdk.EmbeddedResource{Resource: contents})
	}
	return result, nil
}

// promptTool is the tool that fetches a prompt. All arguments of prompts are texts.
func promptTool(p *sdk.Prompt) *sdk.Tool {
	properties, required := map[string]any{}, []any{}
	for _, a := range p.Arguments {
		if a == nil || a.Name == "" {
			continue
		}
		property := map[string]any{"type": "string"}
		if about := cmp.Or(a.Description, a.Title); about != "" {
			property["description"] = about
		}
		if properties[a.Name] = property; a.Required {
			required = append(required, a.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return &sdk.Tool{
		Name: "prompt_" + p.Name, Title: p.Title, InputSchema: schema,
		Description: "Fetch a prompt of this server, a text to work by. " + cmp.Or(p.Description, p.Title, p.Name),
	}
}

func getPrompt(name string) extra {
	return func(ctx context.Context, c *connection, args json.RawMessage) (*sdk.CallToolResult, error) {
		var given map[string]any
		if err := json.Unmarshal(args, &given); err != nil {
			return nil, err
		}
		texts := map[string]string{}
		for key, v := range given {
			if text, ok := v.(string); ok {
				texts[key] = text
			} else if raw, err := plainjson.Encode(v); err == nil {
				texts[key] = string(raw)
			}
		}
		prompt, err := c.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: texts})
		if err != nil {
			return nil, err
		}
		result := &sdk.CallToolResult{}
		for _, m := range prompt.Messages {
			if len(prompt.Messages) > 1 {
				result.Content = append(result.Content, &sdk.TextContent{Text: string(m.Role) + ":"})
			}
			result.Content = append(result.Content, m.Content)
		}
		return result, nil
	}
}
