package wire

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// Caller is what the server's guard knows of the client of a request.
type Caller struct {
	// Key is the name of the API key; empty when none was needed, or for api.key.
	Key string `json:"key,omitempty"`
	// User is the person to whom the key belongs; empty means nobody.
	User string `json:"user,omitempty"`
	// ForOthers says that the client may say whom a message is from.
	ForOthers bool `json:"for_others"`
	// Operator says that the client has the powers of an operator.
	Operator bool `json:"operator"`
	// Role is that of a person who signed in to the console; empty for every other client.
	Role string `json:"role,omitempty"`
	// NoClientTools says that the client may bring no tools.
	NoClientTools bool `json:"no_client_tools,omitempty"`
}

// Name says who the client is, in the log.
func (c Caller) Name() string { return cmp.Or(c.User, c.Key, "an operator") }

type callerKey struct{}

// WithCaller returns a context that says who the client is.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the client of a request. Without a guard in front of the handler the
// program vouches for it, and it may do all.
func CallerOf(r *http.Request) Caller {
	if c, ok := r.Context().Value(callerKey{}).(Caller); ok {
		return c
	}
	return Caller{ForOthers: true, Operator: true}
}

// Joins makes a message the same as one that its client sends again without a key, see
// [engine.Message.Received]. Call sent when the answer is written.
func Joins(r *http.Request, m *engine.Message) (sent func()) {
	var arrived atomic.Bool
	m.Received = arrived.Load
	// The clients of OpenAI, Anthropic and others count in it.
	again, err := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	m.Repeated = err == nil && again > 0
	return func() {
		if r.Context().Err() == nil { // it ends with the connection
			arrived.Store(true)
		}
	}
}

// ErrForbidden says that the client may not do what it asks for.
var ErrForbidden = errors.New("this API key may not do that")

// header begins the names of the headers that describe a message.
const header = "X-Etui-"

var headers = []string{"X-Etui-User", "X-Etui-Roles", "X-Etui-Channel", "X-Etui-Chat", "X-Etui-Session", "X-Etui-Skill"}

// Sender completes a message with who sends it. Headers say what its body leaves open.
// Only a client that may speak for others can say whom it is from, and where: the
// messages of any other are from the person to whom its key belongs.
func Sender(r *http.Request, m *engine.Message) error {
	for name, values := range r.Header {
		switch {
		case !strings.HasPrefix(name, header):
		case !slices.Contains(headers, name):
			return phrase.Errorf("%w: there is no header %s%s", engine.ErrInvalid, name,
				phrase.Near(name, slices.Values(headers)))
		case len(values) > 1: // a proxy may have meant another one than the first
			return phrase.Errorf("%w: the header %s appears twice", engine.ErrInvalid, name)
		}
	}
	said := r.Header.Get
	m.User, m.Channel, m.Chat = cmp.Or(m.User, said("X-Etui-User")), cmp.Or(m.Channel, said("X-Etui-Channel")),
		cmp.Or(m.Chat, said("X-Etui-Chat"))
	m.Session, m.Skill = cmp.Or(m.Session, said("X-Etui-Session")), cmp.Or(m.Skill, said("X-Etui-Skill"))
	m.IdempotencyKey = cmp.Or(m.IdempotencyKey, said("Idempotency-Key"))
	m.Language = phrase.Match(m.Language, said("Accept-Language"))
	for role := range strings.SplitSeq(said("X-Etui-Roles"), ",") {
		if role = strings.TrimSpace(role); role != "" {
			m.Roles = append(m.Roles, role)
		}
	}
	c := CallerOf(r)
	if c.NoClientTools && len(m.Offer.Tools) > 0 {
		return phrase.Errorf("%w: it may bring no tools; leave them out", ErrForbidden)
	}
	m.Client, m.Channel, m.Trusted = c.Key, cmp.Or(m.Channel, "api"), c.Operator
	switch {
	case len(m.PlatformRoles) > 0 && !c.Operator:
		return phrase.Errorf("%w: roles of a platform come from its channel; only an operator may try them out",
			ErrForbidden)
	case m.Background && !c.Operator: // its answer goes to the chat where the conversation is
		return phrase.Errorf("%w: only an operator sends in the background", ErrForbidden)
	case c.ForOthers:
		if !c.Operator { // nobody else says who gave an answer
			m.Answers = signed(m.Answers, "")
		}
		if m.Channel == "cli" && !c.Operator { // that is the operator's terminal; etui's own commands say cli
			m.Channel = "api"
		}
		if strings.HasPrefix(m.As, "cli:") && !c.Operator {
			return phrase.Errorf("%w: cli is the terminal of operators; name the user without it", ErrForbidden)
		}
		if m.User == "" && m.As == "" && m.Chat == "" && identity.Direct(m.Channel) {
			m.User = c.User // it says nothing of anybody else
		}
		return nil
	}
	for _, claim := range []struct {
		what string
		made bool
	}{
		{"user", m.User != ""}, {"as", m.As != ""}, {"roles", len(m.Roles) > 0},
		{"channel", m.Channel != "api" && m.Channel != "cli"}, {"chat", m.Chat != ""},
		{"account", m.Account != ""}, {"attrs", len(m.Attrs) > 0},
	} {
		if claim.made {
			return phrase.Errorf("%w: it may not speak for others, so leave %s out of the body and the headers; etui keys add --for-others makes a key that may", ErrForbidden, claim.what)
		}
	}
	m.User, m.Channel = c.User, "api" // etui's own commands say cli
	m.Answers = signed(m.Answers, c.User)
	return nil
}

// signed returns answers of somebody; empty means the sender of their message.
func signed(answers []session.Answer, by string) []session.Answer {
	answers = slices.Clone(answers)
	for i := range answers {
		answers[i].By = by
	}
	return answers
}
