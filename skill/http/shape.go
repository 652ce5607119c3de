package http

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
)

// The places of an argument in a request.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inBody   = "body"
)

// separators join the items of a list. Without one, the name is repeated for each item.
var separators = map[string]string{"": "", "comma": ",", "space": " ", "pipe": "|"}

// place is where an argument goes.
type place struct {
	in, name  string // a body without a name is the argument itself
	separator string
}

// shape says how the arguments of a call become a request.
type shape struct {
	plain    bool // the file says nothing of it: POST with the arguments as JSON
	method   string
	encoding string // json, form or multipart
	path     string // of the endpoint, with its names in braces
	braces   []string
	places   map[string]place  // by argument; others go where rest says
	files    map[string]string // the fields of form data that are files, with their content types
	rest     string
	fixed    url.Values // the query of the endpoint, which no argument changes
}

// braced matches a name in braces in a path, and bracedEscaped in an escaped one.
var (
	braced        = regexp.MustCompile(`\{([^{}]*)\}`)
	bracedEscaped = regexp.MustCompile(`%7B.*?%7D`)
)

// newShape reads how a skill's requests look. Braces that name no parameter are refused: the
// service would get them as they are.
func newShape(c *skill.Config, endpoint *url.URL) (*shape, error) {
	s := &shape{
		plain: c.Method == "" && c.Send == nil && c.Body == "" && c.Paging.IsZero() &&
			!strings.ContainsAny(endpoint.Path, "{}"),
		method: cmp.Or(c.Method, http.MethodPost), encoding: cmp.Or(c.Body, "json"),
		path: endpoint.Path, places: map[string]place{}, rest: inBody, fixed: endpoint.Query(),
	}
	if s.method == http.MethodGet || s.method == http.MethodDelete {
		s.rest = inQuery
	}
	var parameters value
	if len(c.Parameters) > 0 {
		if err := json.Unmarshal(c.Parameters, &parameters); err != nil {
			return nil, problem("parameters", "cannot be read: "+err.Error())
		}
	}
	names := slices.Sorted(maps.Keys(parameters.Properties))
	for _, argument := range slices.Sorted(maps.Keys(c.Send)) {
		p, reason := parsePlace(argument, c.Send[argument])
		_, known := parameters.Properties[argument]
		_, taken := s.fixed[p.name]
		switch {
		case !known:
			reason = "is no parameter" + nearest.Hint(
				argument,
				slices.Values(names),
			) + "; parameters.properties names them"
		case reason != "":
		case p.in == inPath && !strings.Contains(s.path, "{"+p.name+"}"):
			reason = fmt.Sprintf("goes to the path, but the endpoint's path has no {%s}", p.name)
		case p.in == inQuery && taken:
			reason = fmt.Sprintf("goes to the query as %s, which the endpoint sets already", p.name)
		case p.in == inHeader && hasHeader(c.Headers, p.name):
			reason = fmt.Sprintf("goes to the header %s, which headers sets already", p.name)
		case p.in == inBody && s.method == http.MethodGet:
			reason = "goes to the body, and a GET has none"
		}
		if reason != "" {
			return nil, problem("send."+argument, reason)
		}
		s.places[argument] = p
	}
	for _, found := range braced.FindAllStringSubmatch(s.path, -1) {
		name := found[1]
		if slices.Contains(s.braces, name) {
			continue
		}
		s.braces = append(s.braces, name)
		if slices.ContainsFunc(
			slices.Collect(maps.Values(s.places)),
			func(p place) bool { return p.in == inPath && p.name == name },
		) {
			continue
		}
		if _, known := parameters.Properties[name]; !known {
			return nil, problem(
				"endpoint",
				fmt.Sprintf(
					"has {%s} in its path, which is no parameter%s; declare it in parameters.properties, or say with send which one it is",
					name,
					nearest.Hint(name, slices.Values(names)),
				),
			)
		}
		s.places[name] = place{in: inPath, name: name}
	}
	if rest := braced.ReplaceAllString(s.path, ""); strings.ContainsAny(rest, "{}") {
		return nil, problem("endpoint", "has a brace in its path that belongs to no pair")
	}
	for name, values := range s.fixed {
		if braced.MatchString(name) ||
			slices.ContainsFunc(
				values,
				func(v string) bool {
					return slices.Contains(names, strings.Trim(v, "{}")) &&
						strings.HasPrefix(v, "{")
				},
			) {
			return nil, problem(
				"endpoint",
				"has braces in its query; leave them out and write send: {NAME: query} instead",
			)
		}
	}
	if s.encoding == "multipart" {
		s.findFiles(parameters)
	}
	return s, s.checkBody(c)
}

// value is what of a parameter's schema says how it is sent.
type value struct {
	Format           string
	ContentMediaType string
	Items            *value
	Properties       map[string]value
}

// findFiles notes which fields of the body are files: those whose schema says that they are binary, as
// OpenAPI 3.0 and 3.1 do, and lists of these. Services do not take them without a file name.
func (s *shape) findFiles(parameters value) {
	s.files = map[string]string{}
	for argument, v := range parameters.Properties {
		at, ok := s.places[argument]
		switch {
		case ok && at.in != inBody:
		case ok && at.name == "":
			s.findFiles(v)
			return
		default:
			if v.Items != nil {
				v = *v.Items
			}
			if v.Format == "binary" || v.ContentMediaType != "" {
				s.files[cmp.Or(at.name, argument)] = cmp.Or(v.ContentMediaType, "application/octet-stream")
			}
		}
	}
}

// checkBody refuses a body of which two arguments would be the whole.
func (s *shape) checkBody(c *skill.Config) error {
	whole := ""
	for _, argument := range slices.Sorted(maps.Keys(c.Send)) {
		if p := s.places[argument]; p.in != inBody || p.name != "" {
			continue
		}
		if whole != "" {
			return problem("send."+argument, "is the whole body, and so is "+whole+"; give them names, as in body NAME")
		}
		whole = argument
	}
	if whole != "" && s.rest == inBody {
		s.rest = inQuery // the body is taken
	}
	if c.Paging.IsZero() {
		return nil
	}
	if s.method != http.MethodGet {
		return problem("paging", "belongs to method: GET")
	}
	if c.Paging.Next == "" && c.Paging.Query == "" {
		return problem(
			"paging",
			"needs next, where an answer names the next page, or query, the parameter that counts pages",
		)
	}
	return nil
}

// parsePlace reads "query", "query NAME" or "query NAME comma".
func parsePlace(argument, text string) (p place, reason string) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 3 {
		return p, "must be a place and perhaps a name, as in query page_size"
	}
	p = place{in: words[0], name: argument}
	if len(words) > 1 {
		p.name = words[1]
	} else if p.in == inBody {
		p.name = ""
	}
	if len(words) > 2 {
		separator, ok := separators[words[2]]
		if !ok {
			return p, fmt.Sprintf("joins a list by %q; it must be comma, space or pipe", words[2])
		}
		p.separator = separator
	}
	switch p.in {
	case inPath, inQuery, inBody:
	case inHeader:
		if reason := skill.CheckHeaderName(p.name); reason != "" {
			return p, fmt.Sprintf("header %q %s", p.name, reason)
		}
		if fromFile[strings.ToLower(p.name)] {
			return p, fmt.Sprintf("may not set the header %s: only the file says what it is", p.name)
		}
	default:
		return p, fmt.Sprintf("goes to %q; it must be path, query, header or body", p.in)
	}
	return p, ""
}

// fromFile are headers that no argument sets: a model must not choose who etui is for a service.
var fromFile = map[string]bool{"authorization": true, "cookie": true, "content-type": true, "idempotency-key": true}

func hasHeader(headers map[string]skill.Secret, name string) bool {
	for h := range headers {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// parts are what the arguments of a call give to its request.
type parts struct {
	url    *url.URL
	header http.Header
	body   []byte
	kind   string // the body's content type; empty without a body
}

// fill makes the parts of a call's request. The error says what is wrong with the arguments.
func (s *shape) fill(endpoint *url.URL, raw json.RawMessage) (*parts, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if s.plain {
		return &parts{url: endpoint, body: raw, kind: "application/json"}, nil
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("%w: the arguments are not a JSON object", skill.ErrInvalidParams)
	}
	p, query := &parts{header: http.Header{}}, url.Values{}
	path, fields := map[string]string{}, map[string]json.RawMessage{}
	var whole json.RawMessage
	for _, argument := range slices.Sorted(maps.Keys(args)) {
		value := args[argument]
		at, ok := s.places[argument]
		if !ok {
			at = place{in: s.rest, name: argument}
		}
		if string(value) == "null" && at.in != inBody {
			continue // not given
		}
		wrong := ""
		switch at.in {
		case inPath:
			path[at.name], wrong = segment(value)
		case inHeader:
			text, ok := scalar(value, cmp.Or(at.separator, ","))
			if !ok || !httpguts.ValidHeaderFieldValue(text) {
				wrong = "cannot be a header: it must be one line of text"
			}
			p.header.Set(at.name, text)
		case inQuery:
			if _, fixed := s.fixed[at.name]; fixed {
				wrong = "is set by the skill and cannot be changed"
			}
			add(query, at, value)
		default:
			if at.name == "" {
				whole = value
			} else {
				fields[at.name] = value
			}
		}
		if wrong != "" {
			return nil, fmt.Errorf("%w: %s %s", skill.ErrInvalidParams, argument, wrong)
		}
	}
	u, err := s.address(endpoint, path, query)
	if err != nil {
		return nil, err
	}
	p.url = u
	return p, s.write(p, whole, fields)
}

// address is the endpoint with the arguments in its path and its query.
func (s *shape) address(endpoint *url.URL, path map[string]string, query url.Values) (*url.URL, error) {
	for _, name := range s.braces {
		if path[name] == "" {
			return nil, fmt.Errorf("%w: %s is missing, and the address needs it", skill.ErrInvalidParams, name)
		}
	}
	u := *endpoint
	// In one pass, so that an argument cannot hold the name of another one.
	u.RawPath = bracedEscaped.ReplaceAllStringFunc(endpoint.EscapedPath(), func(b string) string {
		name, _ := url.PathUnescape(b) // it comes from EscapedPath
		return url.PathEscape(path[name[1:len(name)-1]])
	})
	u.Path, _ = url.PathUnescape(u.RawPath)
	if more := query.Encode(); more != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+more, "&")
	}
	return &u, nil
}

// write writes the body. Encodings other than JSON take texts, numbers and lists of them as the
// query does.
func (s *shape) write(p *parts, whole json.RawMessage, fields map[string]json.RawMessage) error {
	if s.method == http.MethodGet || len(fields) == 0 && whole == nil && s.method == http.MethodDelete {
		return nil
	}
	if s.encoding == "json" {
		p.kind, p.body = "application/json", whole
		if whole == nil {
			p.body, _ = json.Marshal(fields) // raw JSON always marshals
		}
		return nil
	}
	if whole != nil {
		fields = nil
		if err := json.Unmarshal(whole, &fields); err != nil {
			return fmt.Errorf("%w: the body must be an object, to be sent as a form", skill.ErrInvalidParams)
		}
	}
	values := url.Values{}
	for name, value := range fields {
		if string(value) != "null" {
			add(values, s.fieldPlace(name), value)
		}
	}
	if s.encoding == "form" {
		p.kind, p.body = "application/x-www-form-urlencoded", []byte(values.Encode())
		return nil
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			if err := s.writeField(w, name, value); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	p.kind, p.body = w.FormDataContentType(), b.Bytes()
	return nil
}

// writeField writes a field of form data, which is a file, named like the field, where the schema says so.
func (s *shape) writeField(w *multipart.Writer, name, value string) error {
	kind, file := s.files[name]
	if !file {
		return w.WriteField(name, value)
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(name, name)}, "Content-Type": {kind},
	})
	if err == nil {
		_, err = io.WriteString(part, value)
	}
	return err
}

// fieldPlace is the place of a field of the body.
func (s *shape) fieldPlace(name string) place {
	for _, p := range s.places {
		if p.in == inBody && p.name == name {
			return p
		}
	}
	return place{in: inBody, name: name}
}

// add adds a value under a name: a list as several values or joined, and an object as
// name[key].
func add(values url.Values, at place, raw json.RawMessage) {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch text, ok := scalar(raw, at.separator); {
	case ok:
		values.Add(at.name, text)
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			add(values, at, item)
		}
	case json.Unmarshal(raw, &object) == nil:
		for key, value := range object {
			add(values, place{name: at.name + "[" + key + "]", separator: at.separator}, value)
		}
	}
}

// scalar writes a text, a number or a truth value as text, and a list of these if there is
// something to join it with.
func scalar(raw json.RawMessage, separator string) (text string, ok bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '{':
		return "", false
	case '[':
		var list []json.RawMessage
		if separator == "" || json.Unmarshal(raw, &list) != nil {
			return "", false
		}
		var items []string
		for _, item := range list {
			text, ok := scalar(item, "")
			if !ok {
				return "", false
			}
			items = append(items, text)
		}
		return strings.Join(items, separator), true
	case '"':
		return text, json.Unmarshal(raw, &text) == nil
	}
	return string(raw), true
}

// segment writes an argument for the path. One that leads to another path is refused: some
// services decode a segment before they look where it leads.
func segment(raw json.RawMessage) (text, wrong string) {
	text, ok := scalar(raw, ",")
	if !ok || text == "" {
		return "", "cannot be a part of the address: it must be text or a number that is not empty"
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return "", "cannot be a part of the address: it leads to another path"
		}
	}
	return text, ""
}
