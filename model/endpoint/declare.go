package endpoint

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/schema"
	"github.com/etui-run/etui/tool"
)

// Declarations say how the tools of a request are declared to the provider.
type Declarations struct {
	model.Names
	schemas map[string]schema.Adaptation // by the tool's own name
	dialect schema.Dialect
}

// Tool returns the description and the parameters of a tool as the provider accepts them.
func (d Declarations) Tool(t tool.Definition) (description string, parameters schema.Adaptation) {
	return d.dialect.Description(t.Description), d.schemas[t.Name]
}

// schemas are those of tools as the provider accepts them. They are the same for every request, so
// they are kept.
type schemas struct {
	mu      sync.Mutex // guards what follows
	dialect schema.Dialect
	known   map[string]schema.Adaptation // by the tool's parameters
	plain   bool                         // the provider has refused schemas of the dialect
}

// maxKnown bounds the schemas that are kept. With more, all are made again.
const maxKnown = 2000

// declare adapts the tools of a request.
func (e *Endpoint) declare(ctx context.Context, req model.Request) Declarations {
	s := &e.schemas
	s.mu.Lock()
	defer s.mu.Unlock()
	var changed []string
	d := Declarations{model.NewNames(req), make(map[string]schema.Adaptation, len(req.Tools)+len(req.Deferred)),
		s.dialect}
	for _, list := range [][]tool.Definition{req.Tools, req.Deferred} {
		for i := range list {
			t := &list[i]
			adapted, known := s.known[string(t.Parameters)]
			if !known {
				if len(s.known) >= maxKnown {
					clear(s.known)
				}
				adapted = s.dialect.Adapt(t.Parameters)
				s.known[string(t.Parameters)] = adapted
				if len(adapted.Changes) > 0 {
					changed = append(changed, t.Name)
					e.config.Log.DebugContext(ctx, "the parameters of a tool were adapted to the provider",
						slog.String("model", e.Name()), slog.String("tool", t.Name),
						slog.String("dialect", s.dialect.String()), slog.Any("changes", adapted.Changes))
				}
			}
			d.schemas[t.Name] = adapted
		}
	}
	if len(changed) > 0 {
		e.config.Log.InfoContext(ctx, "the parameters of tools were adapted to the provider; the log says how at level debug",
			slog.String("model", e.Name()), slog.String("dialect", s.dialect.String()),
			slog.String("tools", printable.List(changed)))
	}
	return d
}

// use changes the dialect, and returns that of before.
func (s *schemas) use(d schema.Dialect, plain bool) (before schema.Dialect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.dialect, s.plain = s.dialect, d, plain
	clear(s.known)
	return before
}

func (s *schemas) isPlain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plain
}

// begin asks for an answer. A provider that refuses the schemas of the tools is asked again with the
// plainest ones, and one whose model takes no tools without any; the next requests begin so.
func (e *Endpoint) begin(ctx context.Context, req model.Request, ask Ask) (io.ReadCloser, model.Request, Declarations,
	error) {
	if e.toolless.Load() {
		req = withoutTools(req)
	}
	d := e.declare(ctx, req)
	body, err := ask(ctx, req, d)
	if len(req.Tools) == 0 {
		return body, req, d, err
	}
	first := err
	if refuses(err, badSchema) && !refuses(err, noTools) && !e.schemas.isPlain() {
		plain, _ := schema.ByName("plain")
		before := e.schemas.use(plain, true)
		d = e.declare(ctx, req)
		if body, err = ask(ctx, req, d); err != nil {
			e.schemas.use(before, false)
		} else {
			e.config.Log.WarnContext(ctx, "the provider refused the parameters of a tool; it gets the plainest schemas from now on",
				slog.String("model", e.Name()), slog.Any("error", e.Describe(ctx, first)))
		}
	}
	if refuses(err, noTools) {
		without := withoutTools(req)
		declared := e.declare(ctx, without)
		answer, failed := ask(ctx, without, declared)
		if failed != nil {
			return nil, req, d, err
		}
		if !e.toolless.Swap(true) {
			e.config.Log.WarnContext(ctx, "the model takes no tools; it is asked without them from now on",
				slog.String("model", e.Name()), slog.Any("error", e.Describe(ctx, err)))
		}
		return answer, without, declared, nil
	}
	return body, req, d, err
}

// badSchema and noTools match the words of refusals.
var (
	badSchema = regexp.MustCompile(`(?i)schema|grammar|function_?declarations?\b|` +
		`\btools?(\[\d+\]|\.\d+\.|\.function)|function\.(parameters|description|name)|jinja|` +
		`pattern must start|unmarshal .{0,80}tool|chat template`)
	noTools = regexp.MustCompile(`(?i)(not|n't) (currently )?support(ed)? (the )?(use of )?(\W?tools?\b|tool[ _-]?(use|call(ing|s)?|choice)|function)|` +
		`support tool (use|calling)|` +
		`(tools?|tool[ _-]?(use|call(ing|s)?|choice)|function[ _-]?call(ing|s)?)\W{0,3}(is|are)? ?(not|un)[ -]?(supported|available|enabled|allowed)|` +
		`` +
		`(argument|field|parameter|inputs)[^.]{0,40}\W(tools|tool_choice|functions)\W?\s*$|no tool support|` +
		`not compatible with tools|functions (is|are) not|tool choice requires|tools? param requires|requires --(enable-auto-tool-choice|jinja)|` +
		`不支持.{0,12}(工具|函数|tool|function)|(工具|函数|tool|function).{0,12}不支持`)
)

// OfTools reports whether an error refuses the tools of a request, or their schemas.
func OfTools(err error) bool { return refuses(err, badSchema) || refuses(err, noTools) }

// refuses reports whether an error is a refusal in such words.
func refuses(err error, words *regexp.Regexp) bool {
	refused := (*model.Error)(nil)
	if !errors.As(err, &refused) || refused.Status < http.StatusBadRequest {
		return false
	}
	for _, other := range []error{model.ErrTooLong, model.ErrAuth, model.ErrBilling, model.ErrRateLimited} {
		if errors.Is(refused.Kind, other) {
			return false
		}
	}
	return words.MatchString(refused.Detail)
}

// withoutTools returns the request for a model that takes none: the calls so far are texts.
func withoutTools(req model.Request) model.Request {
	req.Tools, req.Deferred = nil, nil
	var said []chat.Message
	for _, m := range req.Messages {
		switch {
		case m.Role == chat.Tool && m.Result != nil:
			m = chat.Message{Role: chat.User, Text: "(Result of a tool: " + m.Result.Text + ")"}
			if n := len(said); n > 0 && strings.HasPrefix(said[n-1].Text, "(Result of a tool: ") &&
				said[n-1].Role == chat.User {
				said[n-1].Text += "\n" + m.Text
				continue
			}
		case len(m.Calls) > 0:
			parts := []string{}
			if m.Text != "" {
				parts = append(parts, m.Text)
			}
			for _, c := range m.Calls {
				parts = append(parts, "(Call of the tool "+c.Name+": "+string(c.Arguments)+")")
			}
			m = chat.Message{Role: chat.Assistant, Text: strings.Join(parts, "\n")}
		}
		said = append(said, m)
	}
	req.Messages = said
	return req
}

// restore gives a call the tool's own name and the names of its properties.
func (d Declarations) restore(c *chat.Call) {
	c.Name = d.Own(c.Name)
	if a, ok := d.schemas[c.Name]; ok {
		c.Arguments = a.Restore(c.Arguments)
	}
}
