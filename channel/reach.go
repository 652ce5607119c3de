package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/contact"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/phrase"
)

var _ inquiry.Places = (*Host)(nil)

// note keeps where a person of the configuration writes directly, and in which language.
func (a *account) note(ctx context.Context, m Incoming, em string) {
	who := a.engine.Agents().Users().ByIdentity(a.traits.Platform + ":" + a.ids.Scoped(m.From.ID))
	if m.Group || who == nil {
		return
	}
	last, _, _ := a.contacts.Direct(ctx, a.Name, m.From.ID)
	d := contact.Direct{
		To: place{a.Name, Address{Chat: m.At.Chat}}.raw(), Time: time.Now(),
		Language: cmp.Or(last.Language, phrase.Match(m.From.Language)),
	}
	if !strings.HasPrefix(em, "/") { // a command says nothing of the language
		d.Language = a.language(m)
	}
	if err := a.contacts.Note(ctx, a.Name, m.From.ID, d); err != nil {
		a.log.WarnContext(ctx, "where somebody can be asked could not be kept", "channel", a.Name, "error", err)
	}
}

// Person implements [inquiry.Places]: where the person wrote last comes first, and then the platforms
// that reach somebody by their ID.
func (h *Host) Person(ctx context.Context, u identity.User) (list []inquiry.Place) {
	type written struct {
		inquiry.Place
		at time.Time
	}
	var places []written
	for _, id := range u.Identities {
		platform, user, _ := strings.Cut(id, ":")
		for _, a := range h.accounts {
			raw, own := a.ids.Unscoped(user)
			if !own || a.traits.Platform != platform {
				continue
			}
			d, ok, _ := a.contacts.Direct(ctx, a.Name, raw)
			if !ok && !a.traits.Direct {
				continue
			}
			to := cmp.Or(string(d.To), string(place{a.Name, Address{Chat: raw}}.raw()))
			language := cmp.Or(u.Language, d.Language, phrase.Match(a.Account.Language))
			places = append(places, written{inquiry.Place{To: json.RawMessage(to), Language: language,
				From: identity.Caller{
					Channel: platform, Account: a.Name, User: user, Direct: true,
					Attrs: map[string]string{"account": a.Name, "chat_kind": "direct"},
				}}, d.Time})
		}
	}
	slices.SortStableFunc(places, func(a, b written) int { return b.at.Compare(a.at) })
	for _, p := range places {
		list = append(list, p.Place)
	}
	return list
}

// Chat implements [inquiry.Places] for the name of an account and the platform's ID of a chat, or the
// chat's name.
func (h *Host) Chat(ctx context.Context, name string) (inquiry.Place, error) {
	account, id, _ := strings.Cut(name, ":")
	a, err := h.account(account)
	if err == nil {
		a.chats.Keep(id)
		id, err = a.chats.ID(ctx, id)
	}
	if err != nil || id == "" {
		return inquiry.Place{}, cmp.Or(err, ErrUnknown)
	}
	language := phrase.Match(a.Account.Language)
	return inquiry.Place{To: place{a.Name, Address{Chat: id}}.raw(), Language: language, From: identity.Caller{
		Channel: a.traits.Platform, Account: a.Name, Chat: a.ids.Scoped(cmp.Or(former(a.Channel, id), id)),
		Attrs: map[string]string{"account": a.Name, "chat_kind": "group"},
	}}, nil
}

// Language implements [inquiry.Places].
func (h *Host) Language(ctx context.Context, c identity.Caller, platform string) string {
	a, err := h.account(c.Account)
	if err != nil {
		return platform
	}
	user, _ := a.ids.Unscoped(c.User)
	d, _, _ := a.contacts.Direct(ctx, a.Name, user)
	return cmp.Or(d.Language, platform, phrase.Match(a.Account.Language))
}
