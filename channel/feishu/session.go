package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
	self *account
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	s := &session{c, platform.NewIntake("Feishu", c.log, in, c.seen), self}
	return s.Intake.Run(ctx, func(ctx context.Context) error {
		if !c.pushed() {
			return s.connection(ctx)
		}
		c.open.Store(s)
		defer c.open.CompareAndSwap(s, nil)
		return s.Serve(ctx)
	})
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	// A press that comes again is placed, too: its answer must be the same.
	if err := s.place(ctx, a); err != nil && !a.Added {
		return err
	}
	m := a.Incoming
	return s.Hand(ctx, a.ID, &m, len(a.files) > 0 || a.parent != "", func(ctx context.Context) error {
		hoped := m
		hoped.Mentioned = m.Group
		if m.Group && !m.Mentioned && a.At.Thread != "" && a.At.Thread != a.ID && s.hopes(ctx, m) {
			m.Mentioned = s.began(ctx, m.At.Thread)
		}
		switch {
		case !s.Wants(ctx, hoped):
		case !s.Wants(ctx, m): // it may be overheard
			s.introduce(ctx, a, &m)
			m.Text = platform.Unread(m.Text, a.files, func(f file) string { return f.name })
		default:
			s.introduce(ctx, a, &m)
			s.cite(ctx, a, &m)
			m.Files = s.load(ctx, a)
		}
		return nil
	})
}

// person is what the platform knows about a member of the company.
type person struct {
	name    string
	manages bool // the whole company
}

// group is what the platform knows about a chat.
type group struct {
	direct   bool
	owner    string
	managers []string
	known    bool // owner and managers are known
}

var openID = url.Values{"user_id_type": {"open_id"}}

// place finds out whether several people read the chat in which a button was pressed, which
// the event does not say. An error means that it should arrive again.
func (s *session) place(ctx context.Context, a *arrival) error {
	if a.pressed == "" {
		if !a.Group {
			s.peers.Put(a.At.Chat, a.From.ID)
		}
		return nil
	}
	if _, direct := s.peers.Get(a.At.Chat); !direct {
		g := s.chats.Get(ctx, a.At.Chat, func() (group, bool) { return s.chat(ctx, a.At.Chat) })
		if !g.known {
			return fmt.Errorf("feishu tells nothing about the chat %s", platform.Word(a.At.Chat))
		}
		a.Group, a.Mentioned = !g.direct, !g.direct
	}
	return nil
}

// introduce adds what the platform knows about a sender. Somebody of another company is a
// guest, also as owner of a chat.
func (s *session) introduce(ctx context.Context, a *arrival, m *channel.Incoming) {
	if a.external {
		m.From.Roles = []string{"guest"}
		return
	}
	p := s.people.Get(ctx, m.From.ID, func() (person, bool) { return s.person(ctx, m.From.ID) })
	m.From.Name = p.name
	role := "member"
	if m.Group {
		switch g := s.chats.Get(ctx, m.At.Chat, func() (group, bool) { return s.chat(ctx, m.At.Chat) }); {
		case m.From.ID == g.owner:
			m.From.Roles = append(m.From.Roles, "owner")
			role = "administrator"
		case slices.Contains(g.managers, m.From.ID):
			role = "administrator"
		}
	}
	m.From.Roles = append(m.From.Roles, role)
	if p.manages {
		m.From.Roles = append(m.From.Roles, "tenant_administrator")
	}
}

// person asks about somebody (获取单个用户信息, contact-v3/user/get). Without the right to ask,
// nothing is known.
func (s *session) person(ctx context.Context, id string) (p person, known bool) {
	var answer struct {
		User struct {
			Name    string
			ID      string `json:"open_id"`
			Manages bool   `json:"is_tenant_manager"`
		}
	}
	err := errors.New("it is not an open_id")
	if isID(id, "ou_") {
		err = s.call(ctx, http.MethodGet, "contact/v3/users/"+id, openID, nil, &answer)
	}
	if err != nil {
		s.log.DebugContext(ctx, "feishu does not say who a sender is", "user", platform.Word(id), "error", err)
		var f *platform.Failure
		return person{}, errors.As(err, &f) && f.Code != "" // a code is about a right that is missing
	}
	if answer.User.ID == id {
		p = person{printable.Line(answer.User.Name, 100), answer.User.Manages}
	}
	return p, true
}

// chat asks about a chat (获取群信息, im-v1/chat/get).
func (s *session) chat(ctx context.Context, id string) (g group, known bool) {
	var answer struct {
		Mode     string   `json:"chat_mode"`
		Owner    string   `json:"owner_id"`
		Managers []string `json:"user_manager_id_list"`
	}
	err := errors.New("it is not a chat_id")
	if isID(id, "oc_") {
		err = s.call(ctx, http.MethodGet, "im/v1/chats/"+id, openID, nil, &answer)
	}
	if err != nil {
		s.log.WarnContext(ctx, "feishu tells nothing about a chat, whose owner and administrators are not known",
			"chat", platform.Word(id), "error", err)
		return group{}, false
	}
	return group{direct: answer.Mode == "p2p", owner: answer.Owner, managers: answer.Managers, known: true}, true
}
