// Package mcp serves agents to clients of the Model Context Protocol: to coding agents,
// editors and chat programs that bring a model of their own. They see three tools, whatever
// an agent has: one finds tools for a task, one describes them, one calls them. So the
// client's model reads a few lines where it would read hundreds of definitions, and each
// caller finds what the rules let it use. Skills are prompts, and their files resources.
//
// The address names the agent, /mcp for the first one, and ?skill= a toolset of it. With
// ?tools=list the caller sees the tools themselves, up to [MaxListed], which suits toolsets.
// A client of the list hears of its changes. No session is kept: each request stands alone, with the key and the headers that
// [wire.Sender] reads.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// Path is the address of the first agent. Below it are the others by name.
const Path = "/mcp"

const (
	// maxDescribed is how many tools one call of describe_tools describes. It names those that it
	// leaves out, of the first maxNames.
	maxDescribed, maxNames = 20, 100
	// maxBatch is how many messages a request has at most.
	maxBatch = 20
)

// MaxListed is how many tools a list has at most. Clients send all of them to their model.
const MaxListed = 128

// Server is the handler of the protocol. It is safe for concurrent use.
type Server struct {
	engine    *engine.Engine
	inspector *inspect.Inspector
	protocol  http.Handler
	version   string
	log       *slog.Logger
	changes   changes
}

// New returns a server of an engine's agents, which says its version to clients.
func New(e *engine.Engine, version string, log *slog.Logger) *Server {
	s := &Server{engine: e, inspector: inspect.New(e), version: cmp.Or(version, "dev"), log: log}
	finds, lists := s.speaker(false), s.speaker(true)
	s.protocol = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		switch c, _ := r.Context().Value(senderKey{}).(caller); {
		case c.listens:
			return s.listener(c)
		case c.lists:
			return lists
		}
		return finds
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, Logger: log,
		MaxRequestBodyBytes:          -1,   // the server in front has a limit
		DisableLocalhostProtection:   true, // and checks names
		PropagateRequestCancellation: true,
	})
	return s
}

// speaker returns what speaks the protocol, with tools that are listed or found.
func (s *Server) speaker(lists bool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "etui", Title: "etui", Version: s.version}, &mcp.ServerOptions{
		Instructions: "The tools of this server are found by what they do. For each task call " + selection.FindTools +
			" with what you want to do, then " + selection.CallTool +
			" with the name and the arguments of the tool that fits.",
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: lists}, Prompts: &mcp.PromptCapabilities{},
			Resources: &mcp.ResourceCapabilities{},
		},
		Logger: s.log,
	})
	server.AddTool(findTools, s.find)
	server.AddTool(describeTools, s.describe)
	server.AddTool(callTool, s.call)
	server.AddPrompt(&mcp.Prompt{Name: anySkill}, s.prompt)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "file of a skill", URITemplate: scheme + "{name}/{+file}", MIMEType: markdown,
	}, s.resource)
	server.AddReceivingMiddleware(s.perCaller)
	return server
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, ok := wire.Query(w, r, "skill", "tools")
	if !ok {
		return
	}
	if as := query.Get("tools"); as != "" && as != "find" && as != "list" {
		wire.RefuseField(w, http.StatusBadRequest, "", "tools", fmt.Sprintf("tools=%s: it is find or list", as))
		return
	}
	sender := engine.Message{Agent: r.PathValue("agent"), Skill: query.Get("skill")}
	if err := wire.Sender(r, &sender); err != nil {
		wire.Fail(w, err)
		return
	}
	if _, err := s.engine.Agents().Get(sender.Agent); err != nil {
		wire.Fail(w, err)
		return
	}
	body, ok := wire.ReadRaw(w, r)
	if !ok {
		return
	}
	// Older versions of the protocol have lists of messages, which run at once.
	var batch []json.RawMessage
	if body = bytes.TrimSpace(body); bytes.HasPrefix(body, []byte("[")) && json.Unmarshal(body, &batch) == nil &&
		len(batch) > maxBatch {
		wire.Refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d messages", maxBatch))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	who := caller{Message: sender, lists: query.Get("tools") == "list", forOthers: wire.CallerOf(r).ForOthers,
		connection: r.Context()}
	if who.lists && listens(body) {
		leave, ok := s.changes.enter(sender)
		if !ok {
			wire.Refuse(w, http.StatusTooManyRequests, "too many streams wait for changes of the list")
			return
		}
		defer leave()
		who.listens = true
	}
	// Clients that accept anything, or name one form only, can read the form that they get.
	r.Header.Set("Accept", "application/json, text/event-stream")
	s.protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), senderKey{}, who)))
}

type senderKey struct{}

// caller is who sends a request, whether tools are listed to it, whether it waits for changes of that list,
// and how long its connection lasts.
type caller struct {
	engine.Message
	lists      bool
	listens    bool
	forOthers  bool
	connection context.Context //nolint:containedctx // of the request
}

// of returns the sender of a request, and a context that ends with its connection, too.
func of(ctx context.Context) (context.Context, caller, context.CancelFunc) {
	c, _ := ctx.Value(senderKey{}).(caller)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.connection, cancel)
	return ctx, c, func() { stop(); cancel() }
}

var findTools = &mcp.Tool{
	Name:  selection.FindTools,
	Title: "Find tools",
	Description: "Finds tools by what they do. Call it first for each new task, with one query for each thing to do. " +
		"The result has the tools that fit best, with their parameters.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},"minItems":1,"description":"what the tools should do, or their names"}},"required":["queries"]}`),
	Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)},
}

var describeTools = &mcp.Tool{
	Name:        "describe_tools",
	Title:       "Describe tools",
	Description: "Gets the descriptions and all parameters of tools by their names, as JSON.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"minItems":1}},"required":["names"]}`),
	Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)},
}

var callTool = &mcp.Tool{
	Name:        selection.CallTool,
	Title:       "Call a tool",
	Description: "Calls a tool that find_tools has found.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","description":"arguments as the tool's parameters say"}},"required":["name"]}`),
}

// find answers as the agent's own model is answered.
func (s *Server) find(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, sender, end := of(ctx)
	defer end()
	var in struct {
		Queries []string `json:"queries"`
		Query   string   `json:"query"` // as models write it that want one thing
	}
	if bad := read(r, &in); bad != nil {
		return bad, nil
	}
	if in.Query != "" {
		in.Queries = append(in.Queries, in.Query)
	}
	args, err := json.Marshal(map[string][]string{"queries": in.Queries})
	if err != nil {
		return nil, err
	}
	result, err := s.engine.Call(ctx, sender.Message, selection.FindTools, args)
	return answer(result, err), nil
}

// Description is a tool as describe_tools shows it.
type Description struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Risk        tool.Risk       `json:"risk"`
	Parameters  json.RawMessage `json:"parameters"`
}

func (s *Server) describe(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, sender, end := of(ctx)
	defer end()
	var in struct {
		Names []string `json:"names"`
		Name  string   `json:"name"`
	}
	if bad := read(r, &in); bad != nil {
		return bad, nil
	}
	if in.Name != "" {
		in.Names = append(in.Names, in.Name)
	}
	if len(in.Names) > maxNames {
		return refuse(fmt.Sprintf("%d names are too many; describe up to %d tools at once", len(in.Names),
			maxDescribed)), nil
	}
	seen, err := s.inspector.SeenBy(ctx, sender.Message)
	if err != nil {
		return answer(chat.Result{}, err), nil
	}
	var found struct {
		Tools   []Description `json:"tools"`
		Missing []string      `json:"missing,omitempty"`
	}
	found.Tools = []Description{}
	for at, name := range in.Names {
		e, ok := seen.Catalog().Get(name)
		if at >= maxDescribed || !ok || !seen.Stage(e).Usable() {
			found.Missing = append(found.Missing, name)
			continue
		}
		d := e.Definition
		found.Tools = append(found.Tools, Description{d.Name, d.Description, d.Risk, d.Schema()})
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text),
		IsError: len(found.Tools) == 0 && len(in.Names) > 0,
	}, nil
}

// callToolArguments are the arguments of call_tool.
type callToolArguments struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, sender, end := of(ctx)
	defer end()
	var in callToolArguments
	if bad := read(r, &in); bad != nil {
		return bad, nil
	}
	host := tool.Host{Asks: elicits(r)}
	if token := r.Params.GetProgressToken(); token != nil {
		last := 0.0
		host.Progress = func(p tool.Progress) {
			if p.Total > 0 && p.Done > last {
				last = p.Done
			} else {
				last += 0.001 // the protocol wants numbers that rise, and not every tool counts
			}
			// The client may have gone.
			_ = r.Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Text, Progress: last, Total: p.Total})
		}
	}
	if host.Asks {
		return s.ask(ctx, r, sender.Message, in, host)
	}
	return s.await(tool.WithHost(ctx, host), sender, in), nil
}

// read decodes the arguments of a call, which must mean one thing: a name twice, or in another case, is
// none of theirs. What cannot be read is a result for the model.
func read(r *mcp.CallToolRequest, into any) *mcp.CallToolResult {
	if len(r.Params.Arguments) == 0 {
		return nil
	}
	if err := jsonv2.Unmarshal(r.Params.Arguments, into); err != nil {
		return refuse(fmt.Sprintf("the arguments of %s cannot be read: %v", r.Params.Name, err))
	}
	return nil
}

func refuse(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}

// answer is the result of a call in the protocol's form: all of the text, the pictures and files,
// and the data that the tool gave. A call that failed, or was refused, says so to the model.
func answer(result chat.Result, err error) *mcp.CallToolResult {
	var mismatch *tool.Mismatch
	var refused *rules.Refusal
	if err != nil && !result.Failed && !errors.Is(err, turn.ErrNoTool) && !errors.As(err, &mismatch) &&
		!errors.As(err, &refused) && skill.Kind(err) == "" {
		_, problem := wire.ProblemOf(err)
		return refuse(problem.Error.Message)
	}
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Text}}, IsError: result.Failed}
	for _, image := range result.Images {
		out.Content = append(out.Content, &mcp.ImageContent{Data: image.Data, MIMEType: image.MediaType})
	}
	if result.View == nil {
		return out
	}
	for _, f := range result.View.Files {
		if strings.HasPrefix(f.MediaType, "audio/") {
			out.Content = append(out.Content, &mcp.AudioContent{Data: f.Data, MIMEType: f.MediaType})
			continue
		}
		out.Content = append(out.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "file:///" + f.Name, MIMEType: f.MediaType, Blob: f.Data,
		}})
	}
	if data := strings.TrimSpace(string(result.View.Data)); strings.HasPrefix(data, "{") {
		out.StructuredContent = json.RawMessage(data)
	}
	return out
}

// offered returns the skills with instructions that a sender may take up.
func (s *Server) offered(ctx context.Context, sender engine.Message) ([]catalog.Skill, error) {
	seen, err := s.inspector.SeenBy(ctx, sender)
	if err != nil {
		return nil, err
	}
	var list []catalog.Skill
	for name := range seen.OfferedSkills() {
		if sk, ok := seen.Catalog().Skill(name); ok && sk.Guide != nil {
			list = append(list, sk)
		}
	}
	return list, nil
}

const (
	// scheme begins the addresses of skills' files, and skillFile is the one with the instructions.
	scheme    = "skill://"
	skillFile = "SKILL.md"
	markdown  = "text/markdown"
)

// personal says that a client may not show an answer to anybody else.
func personal() mcp.Cacheable { return mcp.Cacheable{CacheScope: "private"} }

// perCaller answers what differs from caller to caller.
func (s *Server) perCaller(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		ctx, sender, end := of(ctx)
		defer end()
		switch p := r.GetParams().(type) {
		case *mcp.ListToolsParams:
			if sender.lists {
				return s.listTools(ctx, sender.Message)
			}
		case *mcp.CallToolParamsRaw:
			if sender.lists { // the library completes the results of tools that it knows
				args, err := json.Marshal(callToolArguments{p.Name, p.Arguments})
				if err != nil {
					return nil, invalid("%v", err)
				}
				p.Name, p.Arguments = selection.CallTool, args
			}
		case *mcp.ListPromptsParams:
			list, err := s.offered(ctx, sender.Message)
			prompts := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}, Cacheable: personal()}
			for _, sk := range list {
				prompts.Prompts = append(prompts.Prompts, &mcp.Prompt{Name: sk.Name, Description: sk.Description})
			}
			return prompts, failure(err)
		case *mcp.GetPromptParams: // the same
			ctx = context.WithValue(ctx, promptKey{}, p.Name)
			p.Name = anySkill
		case *mcp.ListResourcesParams:
			list, err := s.offered(ctx, sender.Message)
			resources := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, Cacheable: personal()}
			for _, sk := range list {
				resources.Resources = append(resources.Resources, &mcp.Resource{
					URI: scheme + sk.Name + "/" + skillFile, Name: sk.Name, Description: sk.Description,
					MIMEType: markdown,
				})
			}
			return resources, failure(err)
		}
		return next(ctx, method, r)
	}
}

// anySkill is the one prompt that the library knows, and promptKey the key of the name of the one
// that is asked for.
const anySkill = "skill"

type promptKey struct{}

func (s *Server) prompt(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	name, _ := ctx.Value(promptKey{}).(string)
	text, about, err := s.instructions(ctx, name, "")
	message := &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: text}}
	return &mcp.GetPromptResult{Description: about, Messages: []*mcp.PromptMessage{message}}, err
}

func (s *Server) resource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, file, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, scheme), "/")
	text, _, err := s.instructions(ctx, name, strings.TrimPrefix(file, skillFile))
	contents := []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: markdown, Text: text}}
	return &mcp.ReadResourceResult{Contents: contents, Cacheable: personal()}, err
}

// listTools lists the tools that a sender may see, each with its risk in the protocol's words.
func (s *Server) listTools(ctx context.Context, sender engine.Message) (mcp.Result, error) {
	seen, err := s.inspector.SeenBy(ctx, sender)
	if err != nil {
		return nil, failure(err)
	}
	list := &mcp.ListToolsResult{Tools: []*mcp.Tool{}, Cacheable: personal()}
	for _, e := range seen.Usable() {
		if len(list.Tools) == MaxListed {
			return nil, invalid("there are more than %d tools to list: narrow them down with ?skill= and a toolset, or let them be found, without ?tools=list", MaxListed)
		}
		d := e.Definition
		list.Tools = append(list.Tools, &mcp.Tool{
			Name: d.Name, Title: d.Original, Description: d.Description, InputSchema: d.Schema(),
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: d.Risk == tool.Read, DestructiveHint: new(d.Risk == tool.Destructive),
				IdempotentHint: d.Repeats() != tool.Never,
			},
		})
	}
	return list, nil
}

// instructions returns a file of a skill that the sender may take up, as the rules decide on a
// call, and what the skill is about.
func (s *Server) instructions(ctx context.Context, name, file string) (text, about string, err error) {
	ctx, c, end := of(ctx)
	defer end()
	sender := c.Message
	list, err := s.offered(ctx, sender)
	if err != nil {
		return "", "", failure(err)
	}
	for _, sk := range list {
		if sk.Name != name {
			continue
		}
		args, _ := json.Marshal(map[string]string{"name": name, "file": file}) // never fails for strings
		if j, err := s.inspector.Judge(ctx, sender, selection.UseSkill, args); err != nil || j.Effect != rules.Allow {
			return "", "", invalid("the skill %s may not be used here", name)
		}
		text, err := sk.Read(ctx, file)
		if err != nil {
			return "", "", invalid("%v", err)
		}
		return text, sk.Description, nil
	}
	return "", "", invalid("there is no skill %q", name)
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// failure is an error of the engine in the protocol's form.
func failure(err error) error {
	if err == nil {
		return nil
	}
	_, problem := wire.ProblemOf(err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: problem.Error.Message}
}
