package channel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// late are the places of a host that is made after the engine.
type late struct{ host *channel.Host }

func (l *late) Person(ctx context.Context, u identity.User) []inquiry.Place {
	return l.host.Person(ctx, u)
}

func (l *late) Chat(ctx context.Context, name string) (inquiry.Place, error) {
	return l.host.Chat(ctx, name)
}

func (l *late) Language(ctx context.Context, c identity.Caller, platform string) string {
	return l.host.Language(ctx, c, platform)
}

// company is a world in which ann asks for refunds; lena and max, who are leads, and the chat ops decide,
// and the boss after an hour.
type company struct {
	*world
	t       *testing.T
	kept    *store.Memory
	ran     atomic.Int64
	n       int
	chinese bool
	// languages are those of the configuration by the name of a person, or of the account under "".
	// platforms are those that the platform has for people.
	languages, platforms map[string]string
	// refused are the chats that the platform refuses, and why.
	refused map[string]error

	mu     sync.Mutex
	stages []string
	nobody bool // the newest of them names nobody
}

func (c *company) start() {
	list := []identity.User{
		{Name: "ann", Identities: []string{"test:1"}}, {Name: "lena", Identities: []string{"test:2"}, Roles: []string{"lead"}},
		{Name: "max", Identities: []string{"test:3"}, Roles: []string{"lead"}}, {Name: "boss", Identities: []string{"test:4"}},
	}
	for i := range list {
		list[i].Language = c.languages[list[i].Name]
	}
	users, err := identity.New(list)
	if err != nil {
		c.t.Fatal(err)
	}
	leads := func(_ context.Context, a rules.Attempt) bool {
		return slices.Contains(a.Facts.Roles, "lead") || a.Facts.Chat == "ops"
	}
	boss := func(_ context.Context, a rules.Attempt) bool { return a.Facts.Sender == "boss" }
	p, places := newPlace(), &late{}
	p.traits.Buttons, p.traits.MaxText, p.traits.Direct = true, 0, true
	p.failing(func(m channel.Outgoing) error {
		if strings.Contains(m.Text, "refund") {
			return c.refused[m.To.Chat]
		}
		return nil
	})
	c.world = begin(c.t, c.kept, channel.Account{Allow: []string{"*"}, Groups: []string{"ops"}, Language: c.languages[""]}, p, func(e *engine.Config) {
		e.Agents, e.Turn.Approvals, e.Turn.Expire = []engine.Agent{{Name: "main", Model: caller{}}}, true, 3*time.Hour
		e.Users = func(*catalog.Catalog) *identity.Users { return users }
		e.Turn.Decide = func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} }
		e.Approvers = func(ctx context.Context, a rules.Attempt) rules.Decision {
			if leads(ctx, a) || boss(ctx, a) {
				return rules.Decision{Effect: rules.Allow}
			}
			return rules.Decision{Effect: rules.Deny}
		}
		e.Asking = inquiry.Host{
			Circles: func(rules.Attempt) []inquiry.Circle {
				return []inquiry.Circle{
					{Decides: leads, Chats: []string{"t:ops"}, Remind: 2 * time.Hour}, {Decides: boss, After: time.Hour},
				}
			},
			Places: places,
			Audit: func(_ context.Context, d audit.Decision, _ json.RawMessage) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.stages, c.nobody = append(c.stages, d.Stage), d.User+d.Session == ""
				return nil
			},
		}
		err := e.Registry.Register(tool.Func(tool.Definition{Name: "refund", Description: "Pays it back.", Risk: tool.Write}, func(context.Context, struct{}) (string, error) {
			return fmt.Sprintf("paid %d", c.ran.Add(1)), nil
		}))
		if err != nil {
			c.t.Fatal(err)
		}
	})
	places.host = c.host
}

// again ends the process, and another one takes up the work. What people have seen stays.
func (c *company) again() {
	c.t.Helper()
	seen := c.place
	c.stop()
	c.start()
	c.place.mu.Lock()
	defer c.place.mu.Unlock()
	c.chats = seen.chats
	go func() { _ = c.engine.Resume(c.t.Context()) }()
}

// wait lets time pass, and the clock look.
func (c *company) wait(d time.Duration) {
	c.t.Helper()
	time.Sleep(d)
	if err := c.engine.Expire(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	time.Sleep(time.Minute)
}

// write lets somebody write or press a button, and the process end.
func (c *company) write(user, at, text string) {
	c.t.Helper()
	c.n++
	c.say(c.t, channel.Incoming{
		ID: fmt.Sprint("m", c.n), From: channel.Sender{ID: user, Language: c.platforms[user]}, At: channel.Address{Chat: at}, Group: at != user, Mentioned: true, Text: text,
	})
	c.wait(time.Second)
	c.again()
	c.wait(time.Second)
}

// last is the newest message that somebody has read.
func (c *company) last(at string) string {
	list := c.seen(at)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

func (c *company) reads(at, want string) {
	c.t.Helper()
	if got := c.last(at); !strings.Contains(got, want) {
		c.t.Errorf("%s reads %q, want %q", at, got, want)
	}
}

// TestAskedElsewhere: the people who may decide are asked where they are, and again by whoever has to
// decide if they do not; all of them and the one who asked learn the outcome, whatever process ends,
// and ann goes on talking meanwhile.
func TestAskedElsewhere(t *testing.T) {
	for _, chinese := range []bool{false, true} {
		for name, how := range map[string]struct {
			act    func(c *company, id string)
			stage  string
			told   string
			zh     string
			ran    int64
			answer string
		}{
			"approved": {func(c *company, id string) { c.write("2", "2", "/approve "+id) }, "approved", "was approved by lena", "由 lena 批准", 1, "result: paid 1"},
			"in ops":   {func(c *company, id string) { c.write("9", "ops", "/approve "+id) }, "approved", "was approved by test:9", "由 test:9 批准", 1, "result: paid 1"},
			"declined": {func(c *company, id string) { c.write("2", "2", "/deny "+id+" no") }, "declined", "was declined by lena: no", "由 lena 拒绝：no", 0, "declined by lena: no"},
			"expired":  {func(c *company, _ string) { c.wait(3 * time.Hour) }, "expired", "has expired", "已过期", 0, "nobody answered in time"},
			"withdrawn": {func(c *company, id string) { c.write("1", "1", "/withdraw "+id) }, "withdrawn", "was withdrawn", "撤回", 0,
				"withdrawn by ann"},
			"declined by the one who asked": {func(c *company, id string) { c.write("1", "1", "/deny "+id) }, "withdrawn", "was withdrawn", "撤回", 0,
				"withdrawn by ann"},
			"reminded": {func(c *company, id string) {
				c.wait(2 * time.Hour)
				c.reads("2", map[bool]string{false: "still waits", true: "仍在等待"}[c.chinese])
				c.write("2", "2", "/approve "+id)
			}, "approved", "was approved by lena", "由 lena 批准", 1, "result: paid 1"},
			"escalated": {func(c *company, id string) {
				c.wait(time.Hour)
				c.reads("4", "/approve "+id)
				c.write("4", "4", "/approve "+id)
			}, "approved", "was approved by boss", "由 boss 批准", 1, "result: paid 1"},
		} {
			t.Run(fmt.Sprint(name, " chinese ", chinese), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &company{t: t, kept: &store.Memory{}, chinese: chinese}
					c.start()
					defer func() { c.stop() }()
					if chinese {
						for _, user := range []string{"1", "2", "3", "4"} {
							c.write(user, user, "你好")
						}
					}
					c.write("1", "1", map[bool]string{false: "call refund", true: "call refund 谢谢"}[chinese])
					asked := c.last("3")
					_, id, _ := strings.Cut(asked, "/approve ")
					id = id[:6]
					for _, at := range []string{"2", "3"} {
						if got := c.last(at); !strings.Contains(got, "refund") || !strings.Contains(got, "ann") || !strings.Contains(got, "[/approve "+id+"]") ||
							chat.Chinese(got) != chinese {
							t.Errorf("%s reads %q", at, got)
						}
					}
					c.reads("ops", "[/approve "+id+"]")
					c.reads("1", map[bool]string{false: "t:ops, lena, max", true: "t:ops、lena、max"}[chinese])
					c.reads("1", "[/withdraw "+id+"]")
					if got := c.last("1"); strings.Contains(got, "[/approve") || chat.Chinese(got) != chinese || !strings.Contains(got, "lena") {
						t.Errorf("ann reads %q", got)
					}
					if len(c.seen("4")) > 0 && !chinese {
						t.Errorf("the boss was asked at once: %q", c.last("4"))
					}
					c.write("1", "1", map[bool]string{false: "hello", true: "你好"}[chinese])
					c.reads("1", "said ")
					c.write("1", "1", "/approve "+id)
					if got := c.last("1"); chat.Chinese(got) != chinese || c.ran.Load() != 0 {
						t.Errorf("ann may approve: %q", got)
					}
					how.act(c, id)
					c.reads("1", how.answer)
					want := how.told
					if chinese {
						want = how.zh
					}
					c.reads("3", want)
					if c.ran.Load() != how.ran {
						t.Errorf("it ran %d times", c.ran.Load())
					}
					c.write("3", "3", "/approve "+id)
					c.write("1", "1", "/approvals")
					if got := c.last("1"); chat.Chinese(got) != chinese || strings.Contains(got, id) {
						t.Errorf("ann reads of the open ones %q", got)
					}
					c.mu.Lock()
					defer c.mu.Unlock()
					if last := c.stages[len(c.stages)-1]; c.stages[0] != "asked" || last != how.stage {
						t.Errorf("the audit has %q", c.stages)
					}
					if times := strings.Count(strings.Join(c.seen("2"), "|"), "[/approve "+id+"]"); times > 2 || name != "expired" && name != "reminded" && times > 1 {
						t.Errorf("lena was asked %d times: %q", times, c.seen("2"))
					}
				})
			})
		}
	}
}

// TestUnreached: the one who asks learns who cannot be asked, because the platform takes no question for
// them, and so does the audit. Those who can be reached decide, or else nobody can but an operator.
func TestUnreached(t *testing.T) {
	for name, how := range map[string]struct {
		refused   map[string]error
		says, not string
		zh        string
		unreached int
	}{
		"one is gone": {map[string]error{"2": channel.ErrGone}, "lena could not be asked about refund (", "Nobody", "询问 lena：询问无法送达", 1},
		"one question is refused": {
			map[string]error{"2": channel.ErrRejected}, "lena could not be asked about refund (", "Nobody", "询问 lena：询问无法送达", 1,
		},
		"all are gone": {
			map[string]error{"2": channel.ErrGone, "3": channel.ErrGone, "ops": channel.ErrGone, "4": channel.ErrGone},
			"Nobody who may decide can be reached at the moment", "result", "目前联系不到有权决定的人", 3,
		},
		"the one who asks": {map[string]error{"1": channel.ErrRejected}, "needs your answer", "lena", "需要您答复", 1},
	} {
		for _, chinese := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " chinese ", chinese), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &company{t: t, kept: &store.Memory{}, chinese: chinese, refused: how.refused}
					c.start()
					defer func() { c.stop() }()
					c.write("1", "1", map[bool]string{false: "call refund", true: "call refund 谢谢"}[chinese])
					c.wait(10 * time.Minute) // so often is it tried
					c.again()
					c.wait(time.Minute)
					c.reads("1", map[bool]string{false: how.says, true: how.zh}[chinese])
					if got := c.last("1"); strings.Contains(got, how.not) || chat.Chinese(got) != chinese || c.n > 1 {
						t.Errorf("ann reads %q", got)
					}
					told := len(c.seen("1"))
					c.wait(10 * time.Minute)
					if now := c.seen("1"); len(now) != told {
						t.Errorf("ann is told again: %q", now)
					}
					if c.refused["3"] == nil {
						_, id, _ := strings.Cut(c.last("3"), "/approve ")
						c.write("3", "3", "/approve "+id[:6])
						c.reads("1", "result: paid 1")
					}
					c.mu.Lock()
					defer c.mu.Unlock()
					n := 0
					for _, stage := range c.stages {
						if stage == "unreached" {
							n++
						}
					}
					if n != how.unreached {
						t.Errorf("the audit has %q", c.stages)
					}
				})
			})
		}
	}
}

// TestWaitingOutlives: a call waits on whatever its conversation is told meanwhile, and its outcome comes
// there. Where it is dropped, all read that, and the audit has it.
func TestWaitingOutlives(t *testing.T) {
	for _, later := range []bool{false, true} {
		for text, says := range map[string]string{
			"/new": "A new conversation.", "/compact": "The conversation so far, ", "/skill full": "The skill full is active.", "/stop": "stopped",
		} {
			t.Run(fmt.Sprint(text, " later ", later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &company{t: t, kept: &store.Memory{}}
					c.start()
					defer func() { c.stop() }()
					c.write("1", "1", strings.Repeat("hello ", 100))
					c.write("1", "1", "call refund")
					_, id, _ := strings.Cut(c.last("3"), "/approve ")
					if id = id[:6]; later {
						c.write("1", "1", "hello")
					}
					dropped := text == "/stop" && !later
					if text == "/stop" && later {
						says = "Nothing is running."
					}
					c.write("1", "1", text)
					c.reads("1", says)
					if dropped {
						c.reads("2", "refund ("+id+") was withdrawn")
					}
					c.write("2", "2", "/approve "+id)
					if dropped {
						c.reads("2", "was withdrawn")
					} else {
						c.reads("1", "result: paid 1")
						c.reads("3", "was approved by lena")
					}
					c.mu.Lock()
					defer c.mu.Unlock()
					want := map[bool]string{false: "approved", true: "withdrawn"}[dropped]
					if last := c.stages[len(c.stages)-1]; last != want {
						t.Errorf("the audit has %q", c.stages)
					}
				})
			})
		}
	}
}

// TestEachReadsTheirLanguage: the one who asks and those who decide read in their own language, also if
// they write commands and press buttons only, if the answer comes too late, and if it does not count.
func TestEachReadsTheirLanguage(t *testing.T) {
	const zh = phrase.Chinese
	for name, w := range map[string]struct {
		languages, platforms map[string]string
		before               [][2]string // who writes what before
		ask                  string
		ann, lena, ops       bool // reads Chinese
	}{
		"the configuration knows the one who decides": {languages: map[string]string{"lena": zh}, ask: "call refund", lena: true},
		"and over what they wrote": {
			languages: map[string]string{"lena": phrase.English}, before: [][2]string{{"2", "你好"}}, ask: "call refund 谢谢", ann: true, ops: true,
		},
		"the configuration knows the one who asks": {languages: map[string]string{"ann": zh, "lena": phrase.English}, ask: "call refund", ann: true, ops: true},
		"they wrote Chinese on an English platform": {
			platforms: map[string]string{"2": "en"}, before: [][2]string{{"2", "你好"}}, ask: "call refund", lena: true,
		},
		"the asker wrote Chinese on an English platform": {
			platforms: map[string]string{"1": "en-US", "2": "en"}, before: [][2]string{{"2", "hello"}}, ask: "call refund 谢谢", ann: true, ops: true,
		},
		"they wrote commands only": {platforms: map[string]string{"2": "zh-hans"}, before: [][2]string{{"2", "/status"}}, ask: "call refund", lena: true},
		"the platform of the asker": {
			platforms: map[string]string{"1": "zh-CN", "2": "en"}, before: [][2]string{{"2", "hello"}}, ask: "call refund", ann: true, ops: true,
		},
		"the account": {languages: map[string]string{"": zh}, platforms: map[string]string{"1": "en"}, ask: "call refund", lena: true, ops: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &company{t: t, kept: &store.Memory{}, languages: w.languages, platforms: w.platforms}
				c.start()
				defer func() { c.stop() }()
				reads := func(at string, chinese bool) {
					t.Helper()
					if got := c.last(at); chat.Chinese(strings.ReplaceAll(got, "谢谢", "")) != chinese {
						t.Errorf("%s reads %q", at, got)
					}
				}
				for _, b := range w.before {
					c.write(b[0], b[0], b[1])
				}
				c.write("1", "1", w.ask)
				_, id, _ := strings.Cut(c.last("3"), "/approve ")
				id = id[:6]
				reads("1", w.ann)
				reads("2", w.lena)
				reads("ops", w.ops)
				for _, text := range []string{"/approve " + id, "/approvals", "/approve " + id + " forever", "/deny nonono"} {
					c.write("1", "1", text)
					reads("1", w.ann)
				}
				for _, text := range []string{"/approvals", "/withdraw " + id, "/approve " + id + " forever", "/approve " + id, "/approve " + id} {
					c.write("2", "2", text)
					reads("2", w.lena)
				}
				reads("ops", w.ops)
				c.write("1", "1", "/withdraw "+id)
				reads("1", w.ann)
			})
		})
	}
}

// TestConversationGone: whoever was asked about a call learns that it waits no more when its conversation is
// removed, and so does the audit, which does not learn the name of somebody who is forgotten.
func TestConversationGone(t *testing.T) {
	for name, w := range map[string]struct {
		forgotten     bool
		reads, stage  string
		later, nobody bool
	}{
		"deleted":         {false, ") does not wait any more", "superseded", false, false},
		"deleted later":   {false, ") does not wait any more", "superseded", true, false},
		"forgotten":       {true, ") was withdrawn.", "withdrawn", false, true},
		"forgotten later": {true, ") was withdrawn.", "withdrawn", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &company{t: t, kept: &store.Memory{}}
				c.start()
				defer func() { c.stop() }()
				c.write("1", "1", "call refund")
				if w.later {
					c.write("1", "1", "hello")
				}
				_, id, _ := strings.Cut(c.last("3"), "/approve ")
				if err := c.engine.Sessions().Delete(t.Context(), c.key(t)); err != nil {
					t.Fatal(err)
				}
				if w.forgotten {
					if n, err := c.engine.Inquiries().Erase(t.Context(), []string{"ann"}); err != nil || n["requests"] != 1 {
						t.Errorf("%v, %v", n, err)
					}
				}
				if w.forgotten {
					c.wait(time.Minute)
				} else { // nobody has to wait until etui looks again at what waits
					time.Sleep(time.Second)
				}
				for _, at := range []string{"2", "3", "ops"} {
					c.reads(at, "refund ("+id[:6]+w.reads)
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				if last := c.stages[len(c.stages)-1]; last != w.stage || c.nobody != w.nobody {
					t.Errorf("the audit has %q, of nobody: %t", c.stages, c.nobody)
				}
			})
		})
	}
}

// key is the conversation of ann.
func (c *company) key(t *testing.T) session.Key {
	t.Helper()
	who, err := c.engine.Agents().Whoami(engine.Message{Channel: "test", User: "1", Attrs: map[string]string{"chat_kind": "direct"}})
	if err != nil {
		t.Fatal(err)
	}
	return who.Session
}

// TestTwoAnswers: of two answers at once the first one counts, and whoever gave the other one reads so, also if
// nobody has asked them yet.
func TestTwoAnswers(t *testing.T) {
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			c := &company{t: t, kept: &store.Memory{}}
			c.start()
			defer func() { c.stop() }()
			for _, user := range []string{"2", "4"} {
				c.write(user, user, "hello")
			}
			c.write("1", "1", "call refund")
			_, id, _ := strings.Cut(c.last("3"), "/approve ")
			id = id[:6]
			for user, text := range map[string]string{"2": "/approve ", "4": "/deny "} {
				c.say(t, channel.Incoming{ID: "at once " + user, From: channel.Sender{ID: user}, At: channel.Address{Chat: user}, Text: text + id})
			}
			c.wait(time.Minute)
			approved := c.ran.Load() == 1
			won, lost := "2", "4"
			if !approved {
				won, lost = lost, won
			}
			c.reads(won, "; the conversation in which it was asked goes on.")
			was := map[bool]string{true: "was approved by ", false: "was declined by "}[approved]
			if got := strings.Join(c.seen(lost), "|"); !strings.Contains(got, was) {
				t.Errorf("%s, who was later, reads %q", lost, got)
			}
		})
	}
}

// TestTwoGive: of two programs that answer at once, the later one learns that its answer does not count. For
// a month, a late answer reads what became of the call.
func TestTwoGive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &company{t: t, kept: &store.Memory{}}
		c.start()
		defer func() { c.stop() }()
		c.write("1", "1", "call refund")
		_, id, _ := strings.Cut(c.last("3"), "/approve ")
		id = id[:6]
		give := func(user string, approved bool) error {
			_, err := c.engine.Answers().Give(t.Context(), engine.Message{Channel: "test", User: user, Direct: true}, id, session.Answer{Approved: approved}, false)
			return err
		}
		said := [2]error{}
		var all sync.WaitGroup
		for i, user := range []string{"2", "3"} {
			all.Go(func() { said[i] = give(user, i == 0) })
		}
		all.Wait()
		won := 0
		if said[0] != nil {
			won = 1
		}
		was := []string{"refund (" + id + ") was approved by lena", "refund (" + id + ") was declined by max"}[won]
		if said[won] != nil || said[1-won] == nil || said[1-won].Error() != was || !errors.Is(said[1-won], approval.ErrNone) {
			t.Errorf("two answers at once are %v, want %s", said, was)
		}
		c.wait(29 * 24 * time.Hour)
		if err := give("2", true); err == nil || err.Error() != was {
			t.Errorf("a late answer reads %v, want %s", err, was)
		}
	})
}
