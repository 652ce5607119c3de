// Package inquiry asks the people who may decide about calls that wait, wherever they are: when a call
// begins to wait, again after a time, and others if nobody answers. It tells all of them, and the
// audit, what became of the call.
//
// It keeps a record of each request until that is done, and does what is missing whenever it looks: so
// nothing is lost when a process ends, and nobody is asked twice.
package inquiry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Host says whom a program asks, and where they are. Its zero value asks nobody.
type Host struct {
	// Circles returns the circles of the rules that are in effect. A person of the configuration
	// who may answer, and whom a circle names, is asked.
	Circles func(a rules.Attempt) []Circle
	// Places knows where people can be asked; nil means nowhere.
	Places Places
	// Audit stores what becomes of requests, before it returns; nil stores nothing.
	Audit func(ctx context.Context, d audit.Decision, args json.RawMessage) error
}

// Circle is those who may decide about a tool by one rule.
type Circle struct {
	// Decides reports whether an answer counts by this rule.
	Decides func(ctx context.Context, a rules.Attempt) bool
	// Chats are names of chats, see [Places], that are asked as a whole.
	Chats []string
	// After is how long the call has to wait before they are asked, and Remind how often they are
	// asked again; 0 means at once, and not again.
	After, Remind time.Duration
}

// Places knows where people can be asked.
type Places interface {
	// Person returns the places that only a person reads, the one where they are best asked first.
	Person(ctx context.Context, u identity.User) []Place
	// Chat returns a chat by the name that the configuration has for it.
	Chat(ctx context.Context, name string) (Place, error)
	// Language returns the language in which somebody wrote last, or else the one of their platform, which
	// may be empty, or of its account; empty if none is known.
	Language(ctx context.Context, c identity.Caller, platform string) string
}

// Place is where somebody can be asked.
type Place struct {
	// To is where a letter goes, see [message.Mail.Reply], and From who is asked there.
	To   json.RawMessage
	From identity.Caller
	// Language is that of those who read there, see [session.Await.Language]; empty if it is not known.
	Language string
}

// Config says what inquiries depend on. All of it is needed.
type Config struct {
	Host
	Approvals *approval.Approvals
	People    *people.People
	Inbox     *inbox.Inbox
	Outbox    *outbox.Outbox
	Store     store.Store
	Catalog   func() *catalog.Catalog
	// Background does something while the host goes on.
	Background func(doing string, f func())
	Now        func() time.Time
	Log        *slog.Logger
}

// Inquiries ask people. They are safe for concurrent use.
type Inquiries struct {
	config Config
	looks  sync.Mutex // one look at a time

	mu      sync.Mutex
	waiting bool // a look will begin

	unreached *recent.Cache[string, string] // why chats cannot be asked, as the log has it
}

// New returns what asks people.
func New(cfg Config) *Inquiries {
	return &Inquiries{config: cfg, unreached: recent.New[string, string](maxUnreached)}
}

// request is the record of a call that waits.
type request struct {
	approval.Approval
	Since  time.Time        `json:"since"`
	People []person         `json:"people,omitempty"`
	Ending *approval.Ending `json:"ending,omitempty"`
	// Noted says that the audit has the request, and Told that it has the ending.
	Noted bool `json:"noted,omitempty"`
	Told  bool `json:"told,omitempty"`

	erased bool // nobody may learn any more who asked for what
}

// person is somebody, or a chat, who was asked.
type person struct {
	Name     string          `json:"name"`
	Session  session.Key     `json:"session"`
	From     identity.Caller `json:"from"`
	To       json.RawMessage `json:"to"`
	Language string          `json:"language,omitempty"`
	Last     time.Time       `json:"last"`
	Reminded int             `json:"reminded,omitempty"`
	Remind   time.Duration   `json:"remind,omitempty"`
	// Lost is why the question cannot be delivered there, and Said that this was told.
	Lost string `json:"lost,omitempty"`
	Said bool   `json:"said,omitempty"`
}

// at finds somebody who was asked; a place as well, unless it is nil. Only one at a place can be lost.
func (r *request) at(name string, to json.RawMessage) int {
	return slices.IndexFunc(r.People, func(p person) bool {
		return p.Name == name && (to == nil && p.Lost == "" || to != nil && string(p.To) == string(to))
	})
}

const (
	// kind is that of the records.
	kind = "inquiry"
	// maxAsked is how many are asked about one call, and maxReminders how often each is reminded.
	maxAsked, maxReminders = 50, 10
	// maxUnreached is how many chats are remembered that cannot be reached.
	maxUnreached = 1000
)

// Look looks at what waits in the background: soon after something begins to wait, or ends.
func (q *Inquiries) Look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting {
		return
	}
	q.waiting = true
	q.config.Background("asking people", func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := q.Attend(ctx); err != nil {
			q.config.Log.WarnContext(ctx, "people could not be asked about a call; etui tries again", "error", err)
		}
	})
}

// Attend does for all requests what is to be done now. However many processes do, people are asked
// once.
func (q *Inquiries) Attend(ctx context.Context) error {
	q.looks.Lock()
	defer q.looks.Unlock()
	q.mu.Lock()
	q.waiting = false
	q.mu.Unlock()
	kept, err := q.requests(ctx) // first: one that ends meanwhile is not taken for one that has ended
	if err != nil {
		return err
	}
	list, err := q.config.Approvals.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		r, known := kept[a.ID]
		delete(kept, a.ID)
		if r.Ending != nil { // its turn is about to go on
			continue
		}
		if !known {
			r = request{Since: q.config.Now()}
		}
		r.Approval = a
		err = errors.Join(err, q.ask(ctx, r))
	}
	if len(kept) > 0 {
		err = errors.Join(err, q.config.Approvals.Forget(ctx))
	}
	for id := range kept {
		now, failed := q.requests(ctx, id) // how it ended was kept before it waited no more
		if r, there := now[id]; failed == nil && there {
			failed = q.conclude(ctx, r)
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (q *Inquiries) requests(ctx context.Context, ids ...string) (map[string]request, error) {
	records, err := q.config.Store.Records(ctx, kind, ids...)
	list := map[string]request{}
	for _, rec := range records {
		var r request
		if failed := json.Unmarshal(rec.Value, &r); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		list[rec.Key] = r
	}
	return list, err
}

// put stores a request, unless it has ended meanwhile.
func (q *Inquiries) put(ctx context.Context, r request) error {
	return q.config.Store.Change(ctx, kind, r.ID, func(value json.RawMessage) (json.RawMessage, error) {
		var now request
		if value != nil && json.Unmarshal(value, &now) == nil {
			r.Ending = cmp.Or(r.Ending, now.Ending)
			for _, p := range now.People { // another process may have tried to deliver it
				if i := r.at(p.Name, p.To); i >= 0 && r.People[i].Lost == "" {
					r.People[i].Lost = p.Lost
				} else if i < 0 && p.Lost != "" {
					r.People = append(r.People, p)
				}
			}
		}
		return json.Marshal(r)
	})
}

// ask asks those who are to be asked by now and were not.
func (q *Inquiries) ask(ctx context.Context, r request) error {
	if !r.Noted {
		if err := q.note(ctx, &r); err != nil {
			return err
		}
	}
	now, asked := q.config.Now(), ""
	for _, p := range q.circle(ctx, r, now.Sub(r.Since)) {
		i := r.at(p.Name, nil)
		switch {
		case i < 0 && len(r.People) < maxAsked:
			if p.Language == "" { // they have never written: they read that of the one who asks
				asked = cmp.Or(asked, r.Language, q.Language(ctx, message.Mail{}, r.Place(), ""))
				p.Language = asked
			}
			if err := q.send(ctx, r.Approval, p, approval.Request, 0); err != nil {
				return err
			}
			p.Last = now
			r.People = append(r.People, p)
			if err := q.audit(ctx, r, "asked", p.Name+" was asked", true); err != nil {
				return err
			}
		case i >= 0 && p.Remind > 0 && r.People[i].Reminded < maxReminders && now.Sub(r.People[i].Last) >= p.Remind:
			if err := q.send(ctx, r.Approval, r.People[i], approval.Reminder, r.People[i].Reminded+1); err != nil {
				return err
			}
			r.People[i].Reminded, r.People[i].Last = r.People[i].Reminded+1, now
		default:
			continue
		}
		if err := q.put(ctx, r); err != nil {
			return err
		}
	}
	return q.missed(ctx, r)
}

// Lost notes that a letter cannot be delivered. If it asks for an approval, those who were to read it are
// asked at the next place where they are, and else the one who asked learns that they cannot be.
func (q *Inquiries) Lost(ctx context.Context, l outbox.Letter, why error) error {
	if !slices.ContainsFunc(l.Awaits, func(a session.Await) bool { return a.For == session.Approval }) {
		return nil
	}
	q.looks.Lock()
	defer q.looks.Unlock()
	defer q.Look()
	for _, a := range l.Awaits {
		kept, err := q.requests(ctx, a.ID)
		if err != nil {
			return err
		}
		r, there := kept[a.ID]
		i := slices.IndexFunc(r.People, func(p person) bool { return string(p.To) == string(l.To) })
		if there && i < 0 { // the one who asked for the call
			r.People = append(r.People, person{Name: cmp.Or(r.User, string(l.Session)), Session: l.Session, To: l.To})
			i = len(r.People) - 1
		}
		if there && r.People[i].Lost == "" {
			r.People[i].Lost = why.Error()
			err = q.put(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missed tells the audit who could not be asked where they are, and the one who asked if they are nowhere
// else.
func (q *Inquiries) missed(ctx context.Context, r request) error {
	for i, p := range r.People {
		if p.Lost == "" || p.Said {
			continue
		}
		if err := q.audit(ctx, r, "unreached", p.Name+" could not be asked: "+p.Lost, false); err != nil {
			return err
		}
		if p.Session != r.Place() && r.at(p.Name, nil) < 0 {
			a := r.Approval
			a.Language = cmp.Or(a.Language, q.Language(ctx, message.Mail{}, r.Place(), ""))
			says := approval.UnreachedNotice(a, p.Name)
			if !slices.ContainsFunc(r.People, func(p person) bool { return p.Lost == "" }) {
				says += " " + approval.Nobody(a.Language)
			}
			if err := q.tell(ctx, r, "unreached-"+r.ID+"-"+p.Name, says); err != nil {
				return err
			}
		}
		r.People[i].Said = true
		if err := q.put(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// tell tells the one who asked something about a request, once for each key.
func (q *Inquiries) tell(ctx context.Context, r request, key, says string) error {
	return q.config.Inbox.Deliver(ctx, r.Place(), message.Mail{
		Kind: message.KindNotice, Notice: says,
		Message: message.Message{Agent: route.Agent(r.Place()), IdempotencyKey: message.ShortKey(key)},
	}, "")
}

// note tells the audit that something waits.
func (q *Inquiries) note(ctx context.Context, r *request) error {
	err := q.audit(ctx, *r, "asked", cmp.Or(r.Question, "it waits for an approval"), true)
	if err == nil {
		r.Noted = true
		err = q.put(ctx, *r)
	}
	return err
}

// send asks somebody about a call, once for each number.
func (q *Inquiries) send(
	ctx context.Context, a approval.Approval, p person, text func(approval.Approval) string, n int,
) error {
	a.Language, a.Asked, a.Theirs = p.Language, nil, false
	return q.letter(ctx, a, p, &turn.End{Reply: text(a), Awaits: []session.Await{a.Await}},
		fmt.Sprintf("ask-%s-%d", a.ID, n))
}

func (q *Inquiries) letter(
	ctx context.Context, a approval.Approval, p person, says *turn.End, key string,
) error {
	sum := sha256.Sum256(p.To)
	from := message.Mail{Message: message.Message{Agent: route.Agent(a.Session)}}.From(p.From).Message
	from.Language = a.Language
	err := q.config.Outbox.Ask(ctx, p.Session, from, p.To, says, key+"-"+hex.EncodeToString(sum[:8]))
	if errors.Is(err, message.ErrKeyReused) { // it says so in other words than before
		return nil
	}
	return err
}

// circle returns those who are to be asked about a call that has waited for a time, but for the one
// who asked for it.
func (q *Inquiries) circle(ctx context.Context, r request, waited time.Duration) (list []person) {
	a := r.Approval
	lost := func(name string, at Place) bool {
		i := r.at(name, at.To)
		return i >= 0 && r.People[i].Lost != ""
	}
	if q.config.Circles == nil || q.config.Places == nil || a.Question != "" {
		return nil
	}
	for _, c := range q.config.Circles(q.config.Approvals.Attempt(approval.Person{}, a)) {
		if waited < c.After {
			continue
		}
		for _, name := range c.Chats {
			if at, err := q.config.Places.Chat(ctx, name); err == nil && !lost(name, at) {
				list = append(list, q.person(name, a, at, c))
			} else if last, _ := q.unreached.Get(name); err != nil && last != err.Error() { // once, not with each look
				q.unreached.Put(name, err.Error())
				q.config.Log.WarnContext(ctx, "a chat that is to be asked about a call cannot be reached", "chat", name,
					"tool", a.Tool, "error", err)
			}
		}
		for _, u := range q.config.People.Now().All() {
			if u.Name == a.User || !q.decides(ctx, u, a, c) {
				continue
			}
			for _, at := range q.config.Places.Person(ctx, u) {
				if lost(u.Name, at) {
					continue
				}
				p := q.person(u.Name, a, at, c)
				by := approval.Person{Facts: q.config.People.Facts(at.From, q.config.Catalog()), From: p.Session}
				if q.config.Approvals.May(ctx, by, a) == nil && c.Decides(ctx, q.config.Approvals.Attempt(by, a)) {
					list = append(list, p)
					break
				}
			}
		}
	}
	return list[:min(len(list), 2*maxAsked)]
}

// decides reports whether a person may decide about a call somewhere: only then it is worth looking where
// they are.
func (q *Inquiries) decides(ctx context.Context, u identity.User, a approval.Approval, c Circle) bool {
	return slices.ContainsFunc(u.Identities, func(id string) bool {
		platform, user, _ := strings.Cut(id, ":")
		from := identity.Caller{Channel: platform, User: user, Direct: true,
			Attrs: map[string]string{"chat_kind": "direct"}}
		return c.Decides(ctx, q.config.Approvals.Attempt(approval.Person{Facts: q.config.People.Facts(from,
			q.config.Catalog())}, a))
	})
}

func (q *Inquiries) person(name string, a approval.Approval, at Place, c Circle) person {
	return person{
		Name: name, Session: q.config.People.Key(route.Agent(a.Session), at.From, ""), From: at.From, To: at.To,
		Language: at.Language, Remind: c.Remind,
	}
}

// Language returns the language of the sender of a message in a conversation, by what they say there.
// Commands and buttons say nothing of it.
func (q *Inquiries) Language(
	ctx context.Context, m message.Mail, key session.Key, said string,
) string {
	said = strings.TrimSpace(said)
	writes := said != "" && !strings.HasPrefix(said, "/")
	if writes && m.Language != "" { // it heeds the text
		return m.Language
	}
	wrote := said
	if !writes {
		wrote = q.wrote(ctx, key)
	}
	language := m.Language
	if chat.Chinese(wrote) {
		language = phrase.Chinese
	}
	if q.config.Places != nil && !writes {
		language = q.config.Places.Language(ctx, m.Caller(), language)
	}
	if language == "" && wrote != "" {
		language = phrase.English
	}
	return q.config.People.Language(m.Caller(), "", language)
}

// wrote returns what people wrote last in a conversation; empty if nothing is known.
func (q *Inquiries) wrote(ctx context.Context, key session.Key) string {
	s, err := q.config.Store.Load(ctx, key, looked)
	if err != nil {
		return ""
	}
	for _, past := range slices.Backward(s.Messages) {
		if past.Role == chat.User && past.Text != "" {
			return past.Text
		}
	}
	return ""
}

// looked is how many messages are looked at for the language of their sender.
const looked = 20

// Describe adds to what a turn waits for how the person who asked is to read of it: in which language, who
// else was asked, and whether that person may answer. Said is the text of their message.
func (q *Inquiries) Describe(
	ctx context.Context, m message.Mail, key session.Key, said string, list []session.Await,
) []session.Await {
	language := q.Language(ctx, m, key, said)
	by := approval.Person{Facts: q.config.People.Facts(m.Caller(), q.config.Catalog()), From: key,
		Operator: m.Operator || m.Channel == "cli" && m.User == ""}
	list = slices.Clone(list)
	for i := range list {
		list[i].Language = language
		if list[i].Question != "" {
			continue
		}
		a := approval.Approval{Await: list[i], Session: key}
		for _, p := range q.circle(ctx, request{Approval: a}, 0) {
			if !slices.Contains(list[i].Asked, p.Name) {
				list[i].Asked = append(list[i].Asked, p.Name)
			}
		}
		others := m.Chat != "" && !m.Direct && len(list[i].Asked) == 0 // who read it in the same chat
		list[i].Theirs = !others && q.config.Approvals.May(ctx, by, a) != nil
	}
	return list
}

// AddAsked adds to requests who was asked about them.
func (q *Inquiries) AddAsked(ctx context.Context, list []approval.Approval) []approval.Approval {
	list = slices.Clone(list)
	for i := range list {
		kept, err := q.requests(ctx, list[i].ID)
		if err != nil {
			q.config.Log.WarnContext(ctx, "who was asked about a call cannot be read", "error", err)
		}
		for _, p := range kept[list[i].ID].People {
			if p.Lost == "" {
				list[i].Asked = append(list[i].Asked, p.Name)
			}
		}
	}
	return list
}

// End keeps what becomes of a request, before its conversation goes on with that.
func (q *Inquiries) End(ctx context.Context, a approval.Approval, e approval.Ending) error {
	e.Time = q.config.Now()
	err := q.config.Store.Change(ctx, kind, a.ID, func(value json.RawMessage) (json.RawMessage, error) {
		r := request{Approval: a, Since: e.Time}
		if value != nil {
			if err := json.Unmarshal(value, &r); err != nil {
				return nil, err
			}
		}
		r.Apart, r.Ending, r.Told = nil, &e, false
		return json.Marshal(r)
	})
	if err == nil {
		err = q.config.Approvals.Over(ctx, a, e)
	}
	if err != nil {
		return fmt.Errorf("keeping what became of %s: %w: %w", a.ID, store.ErrAway, err)
	}
	return nil
}

// Erase ends the requests of a person, tells those who were asked so, and removes what is kept of them, and
// that others asked the person.
func (q *Inquiries) Erase(ctx context.Context, names []string) (map[string]int, error) {
	q.looks.Lock()
	defer q.looks.Unlock()
	kept, err := q.requests(ctx)
	n := 0
	for _, r := range kept {
		left := slices.DeleteFunc(slices.Clone(r.People), func(p person) bool { return slices.Contains(names, p.Name) })
		by := r.Ending != nil && slices.Contains(names, r.Ending.By)
		switch {
		case err != nil:
		case slices.Contains(names, r.User):
			n++
			r.User, r.Chat, r.erased = "", "", true
			if r.Ending == nil {
				r.Ending = &approval.Ending{How: approval.Withdrawn, Time: q.config.Now()}
			} else if slices.Contains(names, r.Ending.By) {
				r.Ending.By = ""
			}
			err = q.conclude(ctx, r)
		case by || len(left) < len(r.People):
			if r.People = left; by {
				r.Ending.By = ""
			}
			err = q.put(ctx, r)
		}
	}
	if err == nil { // also what concluding them has kept
		err = q.config.Approvals.EraseEndings(ctx, names)
	}
	return map[string]int{"requests": n}, err
}

// conclude tells the audit and all who were asked what became of a request that waits no more.
func (q *Inquiries) conclude(ctx context.Context, r request) error {
	if r.Ending == nil {
		r.Ending = &approval.Ending{How: approval.Superseded, Time: q.config.Now()}
	}
	e := *r.Ending
	if !r.Noted {
		if err := q.note(ctx, &r); err != nil {
			return err
		}
	}
	if !r.Told {
		reason := e.Text(approval.Approval{Await: session.Await{ID: r.ID, Tool: r.Tool}})
		if err := q.audit(ctx, r, string(e.How), reason, e.How == approval.Approved); err != nil {
			return err
		}
		r.Told = true
		if err := q.put(ctx, r); err != nil {
			return err
		}
	}
	asker := r.Language
	for _, p := range r.People {
		if p.Session == e.From || p.Lost != "" { // they have read it where they answered, or read nothing
			continue
		}
		r.Language = p.Language
		if err := q.letter(ctx, r.Approval, p, &turn.End{Reply: e.Text(r.Approval)}, "end-"+r.ID); err != nil {
			return err
		}
	}
	there, err := q.config.Store.Load(ctx, r.Place(), 1)
	if err != nil {
		return err
	}
	if e.How == approval.Superseded && len(there.Messages) > 0 { // all other endings are told by the turn that goes on
		r.Language = cmp.Or(asker, q.Language(ctx, message.Mail{}, r.Place(), ""))
		if err := q.tell(ctx, r, "ended-"+r.ID, e.Text(r.Approval)); err != nil {
			return err
		}
	}
	if err := q.config.Approvals.Over(ctx, r.Approval, e); err != nil {
		return err
	}
	_, err = q.config.Store.Remove(ctx, kind, r.ID)
	return err
}

// audit stores a step of a request.
func (q *Inquiries) audit(ctx context.Context, r request, stage, reason string, allowed bool) error {
	if q.config.Audit == nil {
		return nil
	}
	d := audit.Decision{
		Time: q.config.Now(), Agent: route.Agent(r.Session), Channel: r.Channel, Chat: r.Chat, User: r.User,
		Session: string(r.Session),
		Tool:    r.Tool, Hash: r.Hash, Risk: r.Risk, Allowed: allowed, Stage: stage, Reason: r.ID + ": " + reason,
	}
	args := json.RawMessage(r.Arguments)
	if r.erased {
		d.Session = ""
	}
	if r.erased || !json.Valid(args) { // it was cut
		args = nil
	}
	return q.config.Audit(ctx, d, args)
}
