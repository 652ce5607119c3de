package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

var update = flag.Bool("update", false, "write openapi.json")

// TestGenerated holds openapi.json to the table of routes: their paths, parameters and bodies.
func TestGenerated(t *testing.T) {
	made, err := json.MarshalIndent(document(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(kept, made) {
		t.Errorf("openapi.json is not that of the routes (%v): go test -run Generated ./server -update", err)
	}
}

var (
	ofPath  = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)
	ofQuery = regexp.MustCompile(`\?(\w+)=`)
)

// bodies are zero values of the types of a route's bodies, nil for none.
type bodies struct{ in, out any }

// jsonObject is a body of a protocol of others, html a page, and newTask a task without an ID.
type (
	newTask    schedule.Task
	jsonObject map[string]any
	html       string
)

// bodiesOf has the bodies of each route that has any.
func bodiesOf() map[string]bodies {
	return map[string]bodies{
		"GET /favicon.ico":                                    {},
		"POST /v1/completions":                                {jsonObject{}, jsonObject{}},
		"POST /v1/conversations":                              {jsonObject{}, jsonObject{}},
		"GET /v1/responses/{id}":                              {nil, jsonObject{}},
		"DELETE /v1/responses/{id}":                           {nil, jsonObject{}},
		"POST /v1/responses/{id}/cancel":                      {nil, jsonObject{}},
		"GET /v1/responses/{id}/input_items":                  {nil, jsonObject{}},
		"GET /.well-known/agent-card.json":                    {nil, jsonObject{}},
		"GET /a2a/{agent}/.well-known/agent-card.json":        {nil, jsonObject{}},
		"POST /a2a/{agent}":                                   {jsonObject{}, jsonObject{}},
		"POST /agui/{agent}":                                  {jsonObject{}, jsonObject{}},
		"GET /healthz":                                        {nil, server.Health{}},
		"GET /readyz":                                         {nil, server.Health{}},
		"GET /{$}":                                            {nil, html("")},
		"GET /console":                                        {nil, html("")},
		"GET /chat":                                           {nil, html("")},
		"GET /console/{view...}":                              {nil, html("")},
		"GET /console/session":                                {nil, server.SignedIn{}},
		"POST /console/session":                               {server.SignIn{}, console.Person{}},
		"DELETE /console/session":                             {nil, server.SignedOut{}},
		"POST /console/provider":                              {struct{}{}, server.ToProvider{}},
		"GET /admin/configuration":                            {nil, console.Text{}},
		"PUT /admin/configuration":                            {console.Edit{}, console.Text{}},
		"POST /admin/configuration/check":                     {console.Edit{}, console.Problems{}},
		"POST /admin/configuration/preview":                   {console.Edit{}, preview.Result{}},
		"GET /admin/turns":                                    {nil, []inspect.PastTurn{}},
		"POST /admin/configuration/undo":                      {console.Edit{}, console.Text{}},
		"POST /admin/tools/{name}/{change}":                   {server.ToolChange{}, console.Text{}},
		"POST /admin/console":                                 {server.ConsoleLink{}, server.MadeLink{}},
		"GET /openapi.json":                                   {nil, jsonObject{}},
		"GET /mcp/login":                                      {nil, html("")},
		"GET /mcp/client.json":                                {nil, jsonObject{}},
		"GET /.well-known/oauth-protected-resource":           {nil, jsonObject{}},
		"GET /.well-known/oauth-protected-resource/{path...}": {nil, jsonObject{}},
		"GET /v1/models":                                      {nil, jsonObject{}},
		"GET /v1/models/{id}":                                 {nil, jsonObject{}},
		"POST /v1/chat/completions":                           {jsonObject{}, jsonObject{}},
		"POST /v1/responses":                                  {jsonObject{}, jsonObject{}},
		"POST /v1/embeddings":                                 {jsonObject{}, jsonObject{}},
		"POST /v1/messages":                                   {jsonObject{}, jsonObject{}},
		"POST /v1/messages/count_tokens":                      {jsonObject{}, jsonObject{}},
		"POST /mcp":                                           {jsonObject{}, jsonObject{}},
		"POST /mcp/{agent}":                                   {jsonObject{}, jsonObject{}},
		"POST /api/chat":                                      {api.Message{}, api.Event{}},
		"POST /api/whoami":                                    {api.Message{}, api.Whoami{}},
		"POST /api/command":                                   {api.Message{}, api.Reply{}},
		"POST /api/select":                                    {api.Question{}, api.Answer{}},
		"POST /api/why":                                       {api.Look{}, []inspect.Turn{}},
		"GET /api/status":                                     {nil, api.Status{}},
		"GET /api/tools":                                      {nil, []api.Tool{}},
		"POST /api/tools/{name}":                              {api.CallRequest{}, api.CallReply{}},
		"POST /api/tools/{name}/judge":                        {api.CallRequest{}, turn.Judgement{}},
		"GET /api/skills":                                     {nil, api.Toolsets{}},
		"GET /api/workflows":                                  {nil, api.Workflows{}},
		"PUT /api/skills":                                     {api.Toolset{}, api.Toolsets{}},
		"GET /api/agents":                                     {nil, []agent.Status{}},
		"PUT /api/agents/{name}":                              {roster.Change{}, agent.Status{}},
		"GET /api/usage":                                      {nil, learning.Record{}},
		"DELETE /api/usage":                                   {nil, api.Forgotten{}},
		"GET /api/sessions":                                   {nil, api.SessionPage{}},
		"GET /api/sessions/{key}":                             {nil, inspect.Conversation{}},
		"DELETE /api/sessions/{key}":                          {nil, api.DeletedSession{}},
		"POST /api/sessions/{key}/stop":                       {struct{}{}, api.StoppedTurn{}},
		"POST /api/memory":                                    {api.MemoryLook{}, jsonObject{}},
		"PUT /api/memory":                                     {api.MemoryEdit{}, api.MemoryText{}},
		"GET /api/approvals":                                  {nil, []approval.Approval{}},
		"POST /api/approvals/{id}":                            {api.OwnAnswer{}, approval.Approval{}},
		"GET /admin/keys":                                     {nil, []server.KeyStatus{}},
		"POST /admin/keys":                                    {server.NewKey{}, server.MadeKey{}},
		"DELETE /admin/keys/{name}":                           {nil, server.RevokedKey{}},
		"GET /admin/channels":                                 {nil, server.ChannelStatus{}},
		"POST /admin/channels/pair":                           {server.Code{}, channel.Pairing{}},
		"DELETE /admin/channels/{name}/people/{user}":         {nil, channel.Pairing{}},
		"POST /admin/channels/{name}/send":                    {server.ChannelMessage{}, server.ChannelMessage{}},
		"POST /admin/channels/{name}/test":                    {struct{}{}, server.ChannelAccount{}},
		"GET /admin/sessions":                                 {nil, api.SessionPage{}},
		"GET /admin/sessions/{key}":                           {nil, inspect.Conversation{}},
		"DELETE /admin/sessions/{key}":                        {nil, api.DeletedSession{}},
		"POST /admin/sessions/{key}/stop":                     {struct{}{}, api.StoppedTurn{}},
		"GET /admin/files/{sha256}":                           {nil, chat.File{}},
		"GET /admin/approvals":                                {nil, api.Approvals{}},
		"POST /admin/approvals/{id}":                          {api.ApprovalAnswer{}, approval.Approval{}},
		"DELETE /admin/approvals/{id}":                        {nil, []approval.Grant{}},
		"GET /admin/ranking":                                  {nil, api.Ranking{}},
		"POST /admin/ranking/evaluate":                        {api.Questions{}, eval.Own{}},
		"POST /admin/ranking/examples":                        {api.Example{}, api.Texts{}},
		"GET /admin/registries":                               {nil, admin.FoundSkills{}},
		"POST /admin/skills/offer":                            {admin.Package{}, hub.Offer{}},
		"POST /admin/skills/install":                          {admin.Package{}, hub.Installation{}},
		"GET /admin/tasks":                                    {nil, []schedule.Task{}},
		"POST /admin/tasks":                                   {newTask{}, schedule.Task{}},
		"POST /admin/tasks/{id}/{change}":                     {struct{}{}, schedule.Task{}},
		"DELETE /admin/tasks/{id}":                            {nil, schedule.Task{}},
		"GET /admin/running":                                  {nil, []live.Turn{}},
		"GET /admin/inbox":                                    {nil, []inbox.Item{}},
		"GET /admin/inbox/{id}":                               {nil, inbox.Item{}},
		"POST /admin/inbox/{id}/retry":                        {struct{}{}, inbox.Item{}},
		"DELETE /admin/inbox/{id}":                            {nil, inbox.Item{}},
		"GET /admin/people":                                   {nil, []server.PersonStatus{}},
		"DELETE /admin/users/{user}":                          {nil, jsonObject{}},
		"GET /admin/skills":                                   {nil, admin.SkillList{}},
		"GET /admin/skills/{name}":                            {nil, admin.SkillStatus{}},
		"POST /admin/skills/reload":                           {admin.Change{}, jsonObject{}},
		"POST /admin/skills/{name}/{change}":                  {admin.Change{}, admin.SkillStatus{}},
		"DELETE /admin/skills/{name}":                         {admin.Change{}, admin.SkillStatus{}},
		"GET /admin/skills/{name}/calls":                      {nil, []audit.Record{}},
		"GET /admin/calls":                                    {nil, []audit.Record{}},
		"GET /admin/audit":                                    {nil, []audit.Decision{}},
		"GET /admin/audit/verify":                             {nil, audit.Verdict{}},
	}
}

// media is the media type of what goes out.
func media(out any) string {
	switch out.(type) {
	case html:
		return "text/html"
	case api.Event:
		return "application/x-ndjson"
	}
	return "application/json"
}

// document describes the routes. A parameter of a query is one that the table's text names.
func document(t *testing.T) *huma.OpenAPI {
	all := bodiesOf()
	schemas := huma.NewMapRegistry("#/components/schemas/", nameOf)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "etui", Version: "1", Description: "The HTTP API of an etui gateway. docs/http-api.md says who may use which route."},
		Paths:      map[string]*huma.PathItem{},
		Components: &huma.Components{Schemas: schemas, SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", Description: "an API key, see etui keys"}}},
	}
	refused := &huma.Response{Description: "what is wrong", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(reflect.TypeFor[wire.Problem](), true, "Problem")}}}
	given, gateway := examples(t), newServer(t, server.Config{}, nil)
	for _, route := range server.New(nil, server.Config{}).Routes() {
		of, known := all[route.Pattern]
		delete(all, route.Pattern)
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		if bare := strings.HasPrefix(pattern, "/channels/") || method == "DELETE" || pattern == "/metrics"; !known && !bare {
			t.Errorf("bodiesOf does not have %s", route.Pattern)
		}
		pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "{$}", ""), "...}", "}")
		op := &huma.Operation{
			OperationID: operation(method, pattern), Summary: route.Does, Tags: []string{route.Access.String()},
			Responses: map[string]*huma.Response{"default": refusals(refused, pattern)},
		}
		if route.Access != server.Open {
			op.Security = []map[string][]string{{"key": {}}}
		}
		text := &huma.Schema{Type: huma.TypeString}
		for _, name := range ofPath.FindAllStringSubmatch(pattern, -1) {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "path", Required: true, Schema: text})
		}
		for _, name := range ofQuery.FindAllStringSubmatch(route.Does, -1) {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "query", Schema: text})
		}
		if of.in != nil {
			op.RequestBody = &huma.RequestBody{Required: true, Content: content(schemas, "application/json", of.in, op.OperationID+"Request")}
			optional(schemas, reflect.TypeOf(of.in))
		}
		ok := &huma.Response{Description: "what was asked for"}
		if of.out != nil {
			ok.Content = content(schemas, media(of.out), of.out, op.OperationID+"Answer")
		}
		if streams(pattern) && method == "POST" {
			ok.Content["text/event-stream"] = &huma.MediaType{} // its objects are those of the JSON
		}
		if op.Responses["200"] = ok; (known || method == "DELETE") && of.out == nil {
			delete(op.Responses, "200")
			ok.Description = "it is done"
			op.Responses["204"] = ok
		}
		if body := op.RequestBody; body != nil {
			body.Content["application/json"].Example = given[route.Pattern].Request
		}
		if m := ok.Content["application/json"]; m != nil {
			m.Example = given[route.Pattern].Response
		} else if m := ok.Content["application/x-ndjson"]; m != nil {
			m.Example = given[route.Pattern].Response
		}
		op.Responses["default"].Content["application/json"].Example = refusal(t, gateway, method, pattern)
		if pattern == "/readyz" {
			_, answer := ask(t.Context(), gateway, method, "http://localhost"+pattern+"?channel=telegram", "")
			not := &huma.Response{Description: "it cannot, and why", Content: content(schemas, "application/json", of.out, "")}
			not.Content["application/json"].Example = json.RawMessage(answer)
			op.Responses["503"] = not
		}
		item := doc.Paths[pattern]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[pattern] = item
		}
		switch method {
		case "GET":
			item.Get = op
		case "POST":
			item.Post = op
		case "PUT":
			item.Put = op
		case "DELETE":
			item.Delete = op
		}
	}
	for pattern := range all {
		t.Errorf("bodiesOf has %s, which is no route", pattern)
	}
	return doc
}

// streams reports whether the route of a path answers with a stream of the documented objects, where a client asks for
// that.
func streams(pattern string) bool {
	return slices.Contains([]string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/mcp", "/mcp/{agent}", "/a2a/{agent}", "/agui/{agent}"}, pattern)
}

// refusals says how the route of a path refuses: as everywhere, or as its own protocol does.
func refusals(usual *huma.Response, pattern string) *huma.Response {
	own := *usual.Content["application/json"] // with an example of its own
	usual = &huma.Response{Description: usual.Description, Content: map[string]*huma.MediaType{"application/json": &own}}
	switch {
	case strings.HasPrefix(pattern, "/v1/messages"):
		return &huma.Response{Description: "what is wrong, as Anthropic's API says it", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}
	case strings.HasPrefix(pattern, "/mcp"):
		return &huma.Response{Description: "what is wrong, as JSON-RPC says it", Content: map[string]*huma.MediaType{
			"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}, "text/plain": {}, "text/html": {}}}
	case strings.HasPrefix(pattern, "/channels/"), strings.HasPrefix(pattern, "/a2a"), strings.HasPrefix(pattern, "/agui"), strings.HasPrefix(pattern, "/console"):
		more := &huma.Response{Description: usual.Description, Content: map[string]*huma.MediaType{"text/plain": {}, "text/html": {}}}
		maps.Copy(more.Content, usual.Content)
		return more
	}
	return usual
}

// optional takes from the fields that a request needs those that the server does without: the text of a message that
// only says who asks, and the ID of a new task.
func optional(schemas huma.Registry, in reflect.Type) {
	name := ""
	if in == reflect.TypeFor[newTask]() {
		name = "id"
	} else if in.Kind() == reflect.Struct {
		if _, message := in.FieldByName("StopWithConnection"); message {
			name = "text"
		}
	}
	if name != "" {
		s := schemas.SchemaFromRef(schemas.Schema(in, true, "").Ref)
		s.Required = slices.DeleteFunc(slices.Clone(s.Required), func(field string) bool { return field == name })
	}
}

// exchange has examples of the bodies of a route.
type exchange struct {
	Request  any `json:"request,omitempty"`
	Response any `json:"response,omitempty"`
}

// examples are those that a gateway gave, which TestGeneratedExamples of cmd/etui sends, and those that are written
// in examples_written.json, since they take another service or a channel.
func examples(t *testing.T) map[string]exchange {
	t.Helper()
	all := map[string]exchange{}
	for _, name := range []string{"examples.json", "examples_written.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return all
}

// refusal is how a route refuses a request that is wrong, or that names another host.
func refusal(t *testing.T, s *server.Server, method, pattern string) (says any) {
	t.Helper()
	path := ofPath.ReplaceAllString(pattern, "nope")
	for _, host := range []string{"localhost", "evil.example"} {
		status, body := ask(t.Context(), s, method, "http://"+host+path+"?nope=1", "{")
		if status >= 400 && json.Unmarshal([]byte(body), &says) == nil {
			return says
		}
	}
	t.Errorf("%s %s refuses nothing as JSON", method, pattern)
	return nil
}

func content(schemas huma.Registry, media string, body any, hint string) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{media: {Schema: schemas.Schema(reflect.TypeOf(body), true, hint)}}
}

// operation names a route: GET /api/sessions/{key} is getApiSessionsKey.
func operation(method, pattern string) string {
	name := strings.ToLower(method)
	for _, part := range strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune("/{}._-", r) }) {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}

// nameOf names a type by its package, too, since several packages have a Status.
func nameOf(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return huma.DefaultSchemaNamer(t, hint)
	}
	from := path.Base(t.PkgPath())
	if slices.Contains([]string{"api", "server", "server_test", "."}, from) {
		from = ""
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if from == "" {
		return name
	}
	return strings.ToUpper(from[:1]) + from[1:] + name
}
