package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etui-run/etui/server"
)

const httpPage = `# The HTTP API

A gateway listens at ` + "`listen`" + `, 127.0.0.1:3884 by default. Any client of OpenAI's chat completions can talk to it:

<!-- test: skip, a minimal system has no curl; the script gateway_serves_clients and OpenAI's own client send the same -->
` + "```" + `console
$ curl http://127.0.0.1:3884/v1/chat/completions -d '{"model": "main", "messages": [{"role": "user", "content": "weather in Berlin tomorrow?"}]}'
$ curl http://127.0.0.1:3884/v1/chat/completions -H "Authorization: Bearer $ETUI_API_KEY" -H "X-Etui-Session: mine" \
    -d '{"model": "main", "stream": true, "messages": [{"role": "user", "content": "and in Paris?"}]}'
` + "```" + `

` + "`model`" + ` names the agent. Without the header ` + "`X-Etui-Session`" + ` the conversation is what the client sends; with it, etui keeps the conversation, and the client sends
only the new message.

## Who may call what

| access | who |
|---|---|
| open | everybody who reaches the address |
| person | with any key, as ` + "`Authorization: Bearer KEY`" + `; a message with a person's key is from that person |
| client | with a key that may speak for others, or an operator's |
| operator | with an operator's key, and only programs on the same machine: at a loopback address, by a name for it, and not through a proxy. If ` + "`listen`" + ` is no loopback address, these routes are at ` + "`admin`" + `, 127.0.0.1:3885 by default |

Each kind may also do what those above it may. Where no key is configured, every program that reaches the address may use all routes but those of operators.

A request that addresses the gateway by a name that is not its own (` + "`api.hosts`" + `) is refused with 421, and one from another site's page with 403.

## Headers

| header | meaning |
|---|---|
`

// headerMeans describes the headers that the server reads.
var headerMeans = map[string]string{
	"Authorization":           "`Bearer` and the key",
	"X-Etui-Session":          "the stored conversation that the message belongs to; without it the client sends the whole conversation",
	"X-Etui-User":             "the user whom the message is from; without it OpenAI's field `user`",
	"X-Etui-Roles":            "the user's roles, separated by commas",
	"X-Etui-Channel":          "the channel; `api` by default",
	"X-Etui-Chat":             "the chat or group in the channel",
	"Idempotency-Key":         "a text of the client's choice, at most 200 bytes: a request that repeats it gets the answer of the first one, see [reliability](reliability.md)",
	"X-Stainless-Retry-Count": "more than 0: the client sends the request again, as the SDKs of OpenAI and Anthropic say by themselves, see [reliability](reliability.md#if-the-connection-breaks)",
	"X-Etui-Skill":            "the skill that is active for this message",
}

const routesPage = `
Only a key that may speak for others, or a gateway without keys, lets a client say who the user is. Rules see these facts, see [visibility](visibility.md).

## Routes

| route | access | what comes in and goes out |
|---|---|---|
`

const errorsPage = `
Bodies and answers are JSON. ` + "`POST /api/chat`" + ` answers with a line of JSON for each event; ` + "`/v1/chat/completions`" + ` streams in OpenAI's form. The types are
documented with the packages [server/api](../server/api), [server/admin](../server/admin) and [server/openai](../server/openai). ` + "`GET /openapi.json`" + ` describes every route for
programs, with an example of each body and each refusal that a real gateway gave; generators of clients read it.

Answers that need a key say to browsers that no page may show them in a frame, and that nothing of them is kept.

## Approvals

` + "`GET /api/approvals`" + ` lists what a person may answer, and with ` + "`theirs`" + ` the person's own calls that others answer (` + "`asked`" + `). Each has an ` + "`id`" + `, the ` + "`tool`" + `, its ` + "`risk`" + `, the ` + "`arguments`" + ` without secrets, who asks (` + "`user`" + `), where (` + "`channel`" + `, ` + "`chat`" + `, ` + "`session`" + `) and when it
expires (` + "`until`" + `); a question has ` + "`question`" + ` and ` + "`choices`" + ` instead. ` + "`POST /api/approvals/{id}`" + ` takes one decision, and refuses a body without one:

| body | means |
|---|---|
| ` + "`{\"approved\": true}`" + ` | the call runs; with ` + "`\"lasts\": \"session\"`" + ` or ` + "`\"always\"`" + `, later ones do, too |
| ` + "`{\"approved\": false, \"reason\": \"not today\"}`" + ` | it does not; the model reads the reason |
| ` + "`{\"answer\": \"red\"}`" + ` | the answer to a question |
| ` + "`{\"withdrawn\": true}`" + ` | the one who asked takes the call back |

Beside that, the body may say who answers, as a Message does: ` + "`{\"user\": \"lena\", \"approved\": true}`" + `. The answer is what was answered; 403 means that this person may not decide, and 404 that nothing
waits under the ID any more. ` + "`POST /admin/approvals/{id}`" + ` takes the same decisions as an operator's, without a sender.

## Limits

**Wrong keys.** An address may present ten wrong keys; each further one is answered only after a second. While 16 such answers wait, etui refuses all requests with a key from
that address, right ones too, with 429 and ` + "`Retry-After: 1`" + `, unread. An address begins anew ten minutes after its last wrong key; nothing needs to be reset. A right key is
otherwise never slowed down. The addresses of one IPv6 network (/64) count as one, and all clients behind one proxy, too: let the proxy limit its clients. Requests without a key
do not count. etui remembers 4,096 addresses; of more, it forgets the one whose last wrong key is the oldest.

**Slow clients.** The head of a request must arrive within 10 seconds, and its body within 30 seconds plus one for every 32 KiB that came; otherwise the connection ends, with 408
if the request was good so far. A client that takes nothing of an answer for 30 seconds loses its connection.

**Sizes.** A body may have some 30 MB with the default ` + "`limits.message`" + `, and 100,000 values; more is a 413. Of bodies beyond 1 MiB, eight are
read at a time, two of one key; the others wait, 30 seconds at most. Names of users, channels, sessions, agents, tools and skills have at most 200 bytes, attributes 1,024; there are at most 64 roles and 64 attributes, and 4,096 tools or skills in a list. More is refused with 400.

**Twice.** A repeated field or ` + "`X-Etui-*`" + ` header is a 400, two ` + "`Authorization`" + ` headers are a wrong key. The connection ends after a request with ` + "`Transfer-Encoding`" + `.

## Errors

A request that fails is answered with ` + "`{\"error\": {\"message\": \"...\", \"type\": \"...\"}}`" + `, under one of these statuses:

| status | when |
|---|---|
| 400 | the request cannot be read, or a field is unknown |
| 401 | the key is missing or wrong |
| 403 | the route or the call is not for this caller |
| 404 | there is no such agent, tool, skill or conversation, or the caller may not know of it |
| 408 | the body arrived too slowly |
| 413 | the message, or the request that it makes, is too long |
| 421 | the name is not one of the gateway's: ` + "`api.hosts`" + ` |
| 422 | another request had this ` + "`Idempotency-Key`" + ` |
| 429 | too many messages of this conversation wait, too many wrong keys came from this address, or the model's provider limits the rate |
| 503 | etui is stopping, or its database is unavailable; ` + "`Retry-After`" + ` says when to try again |
| 500, 502, 504 | etui, the model's provider, or a service failed or took too long |
`

// httpReference is the page of the HTTP API: every route of the server, and every
// header that its packages read.
func httpReference(t *testing.T) string {
	var b strings.Builder
	b.WriteString(httpPage)
	for _, name := range headersRead(t) {
		if headerMeans[name] == "" {
			t.Errorf("the server reads the header %s, which headerMeans does not describe", name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, headerMeans[name])
	}
	b.WriteString(routesPage)
	for _, r := range server.New(nil, server.Config{}).Routes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Pattern, r.Access, r.Does)
	}
	return b.String() + errorsPage
}

// headersRead returns the names of headers that the server's source reads, sorted by
// first use.
func headersRead(t *testing.T) (names []string) {
	seen := map[string]bool{}
	err := filepath.WalkDir("../../server", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`"(X-Etui-[A-Za-z-]+|Authorization|Idempotency-Key|X-Stainless-Retry-Count)"`).FindAllSubmatch(source, -1) {
			if name := string(found[1]); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
