package channel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// caller is a model that calls the tool which the message names, and repeats its result.
type caller struct{}

func (caller) Info() model.Info { return model.Info{Name: "caller"} }

func (caller) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == chat.Tool {
			yield(model.Event{Text: "result: " + last.Result.Text}, nil)
		} else if name, ok := strings.CutPrefix(last.Text, "call "); ok {
			name, _, _ = strings.Cut(name, " ")
			yield(model.Event{Call: &chat.Call{ID: fmt.Sprintf("c%d", len(r.Messages)), Name: name, Arguments: json.RawMessage(`{}`)}}, nil)
		} else {
			yield(model.Event{Text: "said " + last.Text}, nil)
		}
		yield(model.Event{Stop: model.Done}, nil)
	}
}

// TestApprovalsInGroups: in a group everybody sees the buttons. Only the press of the one who
// may decide counts, and only once, also when the process is another one by then.
func TestApprovalsInGroups(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var ran atomic.Int64
			kept := &store.Memory{}
			var p *place
			start := func() *world {
				p = newPlace()
				p.traits.Buttons, p.traits.MaxText = true, 0
				return begin(t, kept, channel.Account{Allow: []string{"*"}, Groups: []string{"g", "h"}}, p, func(c *engine.Config) {
					c.Agents = []engine.Agent{{Name: "main", Model: caller{}}}
					c.Turn.Approvals = true
					c.Turn.Decide = func(_ context.Context, a rules.Attempt) rules.Decision {
						if a.Entry.Definition.Name == "drop" {
							return rules.Decision{Effect: rules.Ask}
						}
						return rules.Decision{Effect: rules.Allow}
					}
					c.Approvers = func(_ context.Context, a rules.Attempt) rules.Decision {
						if slices.Contains(a.Facts.PlatformRoles, "administrator") {
							return rules.Decision{Effect: rules.Allow}
						}
						return rules.Decision{Effect: rules.Ask}
					}
					for _, tl := range []tool.Tool{
						tool.Func(tool.Definition{Name: "drop", Description: "Drops it.", Risk: tool.Destructive}, func(context.Context, struct{}) (string, error) {
							return fmt.Sprintf("drop %d", ran.Add(1)), nil
						}),
						tool.Func(tool.Definition{Name: "ask_user", Description: "Asks.", Risk: tool.Read}, func(context.Context, struct{}) (string, error) {
							return "", &tool.Question{Text: "Which one?", Choices: []string{"red", "/new"}}
						}),
					} {
						if err := c.Registry.Register(tl); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
			w := start()
			defer func() { w.stop() }()
			n := 0
			// write lets somebody write, or press a button, which is the same, and returns what they read.
			write := func(user, place, text string, roles ...string) string {
				t.Helper()
				n++
				m := channel.Incoming{ID: fmt.Sprint("m", n), From: channel.Sender{ID: user, Roles: roles}, At: channel.Address{Chat: place}, Group: true, Mentioned: true, Text: text}
				before := len(p.seen(place))
				w.say(t, m)
				time.Sleep(time.Minute)
				w.say(t, m) // a platform may deliver a press again
				time.Sleep(time.Minute)
				return strings.Join(p.seen(place)[before:], "|")
			}
			// buttons are the texts of the buttons in an answer.
			buttons := func(shown string) []string {
				t.Helper()
				_, list, ok := strings.Cut(shown, " [")
				if !ok {
					t.Fatalf("no buttons: %q", shown)
				}
				return strings.Split(strings.TrimSuffix(list, "]"), "] [")
			}
			next := func() {
				if restart {
					w.stop()
					w = start()
				}
			}
			check := func(what, got, want string, runs int64) {
				t.Helper()
				if !strings.Contains(got, want) || want == "" && got != "" || ran.Load() != runs {
					t.Errorf("%s: %q, %d runs; want %q, %d", what, got, ran.Load(), want, runs)
				}
			}

			// 1 is ann; 2 and 3 have no names.
			asked := buttons(write("1", "g", "call drop"))
			approve, lasting, deny := asked[0], asked[1], asked[2]
			next()
			for _, b := range asked {
				check("somebody else presses "+b, write("2", "g", b), "your answer does not count: only ann, who asked for it, or an operator decides about drop", 0)
			}
			check("elsewhere", write("2", "h", approve), "does not count", 0)
			check("a forged button", write("2", "g", "/approve zzzzzz"), "no such approval", 0)
			check("a forged button without an ID", write("2", "g", "/approve always"), "does not count", 0)
			check("the asker presses", write("1", "g", approve), "result: drop 1", 1)
			next()
			for _, b := range asked {
				check("pressed again: "+b, write("1", "g", b), "was approved by ann", 1)
			}

			// A button of an earlier approval says nothing about a later one.
			again := buttons(write("1", "g", "call drop"))
			check("an old button", write("1", "g", lasting), "was approved by ann", 1)
			next()
			check("somebody whom the rules allow", write("3", "g", again[2], "administrator"), "declined by test:3", 1)
			check("after it was denied", write("1", "g", again[0]), "was declined by test:3", 1)
			foreign := buttons(write("2", "h", "call drop"))
			check("the asker of another one", write("1", "h", foreign[0]), "only test:2, who asked", 1)
			check("its own asker, in another group", write("2", "g", foreign[0]), "the conversation in which it was asked goes on", 2)
			check("an old button of a denial", write("1", "g", deny), "was approved by ann", 2)

			// A button of a question answers it, and says nothing else: not as somebody else's
			// message, which would end the question, nor as a command, nor later.
			asked = buttons(write("1", "g", "call ask_user"))
			next()
			for _, b := range asked {
				check("somebody else answers "+b, write("2", "g", b), "your answer does not count: ann was asked", 2)
			}
			check("approved", write("1", "g", "/approve"), "write your answer", 2)
			check("the asker answers", write("1", "g", asked[1]), "result: The user answered: /new", 2)
			next()
			check("answered again", write("1", "g", asked[0]), "has an answer", 2)
			check("no question", write("1", "g", "/answer"), "nothing waits", 2)
			if got := buttons(write("1", "g", "call drop")); got[0] == approve {
				t.Error("an ID was used again")
			} else {
				check("a choice for a call", write("1", "g", strings.Replace(got[0], "/approve", "/answer", 1)+" 1"), "/approve or /deny decide about a call", 2)
				check("a new question, of anybody", write("2", "g", "hello"), "said hello", 2)
				check("after a new question", write("1", "g", got[0]), "result: drop 3", 3)
			}
		})
	}
}
