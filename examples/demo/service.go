package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxArguments is the maximum size of a call's arguments in bytes.
const maxArguments = 256 << 10

// Config sets up a [Handler]. The zero value works.
type Config struct {
	// Now is the service's clock; nil means time.Now. Dates in answers are
	// relative to it.
	Now func() time.Time
	// Step is the duration of each step of a long-running tool: zero means 600
	// milliseconds, a negative value no delay.
	Step time.Duration
}

// Handler is the service behind the tools: POST /tools/{name} with a JSON
// object of arguments is answered with {"text": ..., "data": ...}, or with
// {"error": ...} and status 400, 404, 405, 413 or 415. Long-running tools send
// {"progress": ...} before it, each value on a line of its own.
//
// POST /execute searches the log of a pod: {"namespace", "pod", "keyword"} is answered
// with {"namespace", "pod", "keyword", "lines": [...]}. The example skill search_logs
// calls it.
//
// Every handler has its own company; changes live as long as the handler.
func Handler(c Config) http.Handler {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Step == 0 {
		c.Step = 600 * time.Millisecond
	}
	s := &service{world: newWorld(), now: c.Now, step: c.Step, tools: map[string]endpoint{}}
	for _, e := range entries() {
		s.tools[e.Name] = newEndpoint(e)
	}
	return s
}

var _ http.Handler = (*service)(nil)

type service struct {
	world *world
	tools map[string]endpoint
	now   func() time.Time
	step  time.Duration
}

// endpoint is the service's view of a tool.
type endpoint struct {
	name       string
	verb       string
	object     string
	required   []string
	properties map[string]property
}

type property struct {
	Enum   []string `json:"enum"`
	Format string   `json:"format"`
}

func newEndpoint(e entry) endpoint {
	var schema struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(e.Parameters, &schema); err != nil {
		panic(fmt.Sprintf("demo: parameters of %s: %v", e.Name, err))
	}
	verb, object, _ := strings.Cut(e.Answer, " ")
	return endpoint{e.Name, verb, object, schema.Required, schema.Properties}
}

// refusal is a failure that the caller can correct.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path == executePath {
		out, err := s.execute(w, r)
		write(w, out, err)
		return
	}
	c, err := s.read(w, r)
	if err == nil && c.tool.verb == "later" {
		s.work(r.Context(), w, c)
		return
	}
	var out reply
	if err == nil {
		out, err = c.answer()
	}
	write(w, out, err)
}

// write sends a value or an error.
func write(w http.ResponseWriter, out any, err error) {
	var no *refusal
	if errors.As(err, &no) {
		w.WriteHeader(no.status)
		out = reply{Error: no.text}
	}
	_ = json.NewEncoder(w).Encode(out) // fails only if the caller has disconnected
}

// read turns a request into a call of a tool, or refuses it.
func (s *service) read(w http.ResponseWriter, r *http.Request) (*call, error) {
	name, ok := strings.CutPrefix(r.URL.Path, "/tools/")
	t, known := s.tools[name]
	if !ok || !known {
		return nil, refuse(http.StatusNotFound, "unknown tool %q", name)
	}
	return s.readCall(w, r, t)
}

// readCall turns a request's arguments into a call of a tool. Requiring the JSON media
// type keeps web pages from calling the service across origins.
func (s *service) readCall(w http.ResponseWriter, r *http.Request, t endpoint) (*call, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, refuse(http.StatusMethodNotAllowed, "use POST, not %s", r.Method)
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		return nil, refuse(http.StatusUnsupportedMediaType, "send the arguments as application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArguments))
	if err != nil {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the arguments are larger than %d bytes or cut off", maxArguments)
	}
	var args map[string]any
	if err := json.Unmarshal(data, &args); err != nil {
		return nil, refuse(http.StatusBadRequest, "the arguments are not a JSON object: %v", err)
	}
	c := &call{tool: t, world: s.world, now: s.now(), args: map[string]string{}}
	for name, value := range args {
		// Unknown arguments are dropped: nothing would limit their size.
		if _, known := t.properties[name]; !known {
			continue
		}
		if text := plain(value); text != "" {
			c.args[name] = text
		}
	}
	return c, c.check()
}

// plain formats an argument as text; the items of a list are separated by commas.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = plain(v[i])
		}
		return strings.Join(parts, ", ")
	default:
		data, _ := json.Marshal(v) // it was JSON before
		return string(data)
	}
}

// check refuses calls with invalid arguments, and replaces names of records by their
// ids.
func (c *call) check() error {
	for _, name := range c.tool.required {
		if c.args[name] == "" {
			return refuse(http.StatusBadRequest, "%s needs the argument %q", c.tool.name, name)
		}
	}
	for name, value := range c.args {
		if enum := c.tool.properties[name].Enum; enum != nil && !slices.Contains(enum, value) {
			return refuse(http.StatusBadRequest, "%s: %q is not possible; use one of %s", name, value, strings.Join(enum, ", "))
		}
	}
	return c.resolve()
}
