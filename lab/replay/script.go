package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// Reach says how a tool that a turn needs reached the model.
type Reach string

// The ways in which a tool reaches the model, or fails to.
const (
	// Declared: the request declares it.
	Declared Reach = "declared"
	// Announced: the message describes it.
	Announced Reach = "announced"
	// Known: it was described or called earlier in the conversation.
	Known Reach = "known"
	// Found: a search returned it, in a round of its own.
	Found Reach = "found"
	// Missed: it was not sent, and the search did not return it.
	Missed Reach = "missed"
	// Refused: the caller may not use it.
	Refused Reach = "refused"
	// Absent: the catalog has no such tool.
	Absent Reach = "absent"
)

// need is a tool that the current turn needs.
type need struct {
	Need
	entry    *catalog.Entry
	searched bool
	reach    Reach
}

// script answers instead of a language model. It calls the tools that a turn needs,
// one after the other, and searches once for a tool that it has not seen. It bills
// every request. It plays one conversation at a time and is not safe for concurrent
// use.
type script struct {
	provider Provider
	cache    *cache
	now      time.Time
	naive    bool // only the best tools for the newest message are declared

	turn  Turn
	needs []*need
	last  *need // whose tool was called last
	bill  Bill
}

var _ model.Model = (*script)(nil)

// How long things take on the clock of a replay.
const (
	answerTime = 4 * time.Second
	usualPause = 45 * time.Second
)

// Info implements [model.Model].
func (s *script) Info() model.Info {
	p := s.provider
	return model.Info{Name: p.Name + "/" + p.Model, Window: p.Window, CacheLife: p.AtMost, Deferral: p.Deferral}
}

// begin starts to play a turn.
func (s *script) begin(t Turn) {
	s.turn, s.needs, s.bill = t, nil, Bill{}
	for _, n := range t.Tools {
		s.needs = append(s.needs, &need{Need: n})
	}
}

// judge marks needed tools that the caller may not use or that do not exist.
func (s *script) judge(sel *selection.Selection) {
	for _, n := range s.needs {
		e, ok := sel.Catalog().Get(n.Name)
		switch {
		case !ok:
			n.reach = Absent
		case !sel.Stage(e).Usable():
			n.reach = Refused
		}
		n.entry = e
	}
}

// Stream implements [model.Model].
func (s *script) Stream(_ context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if s.naive {
			req.Tools = chosen(req)
		}
		answer := s.answer(req)
		s.bill.add(s.cache.bill(req, said(answer), s.now))
		s.now = s.now.Add(answerTime)
		if len(answer.Calls) > 0 {
			_ = yield(model.Event{Call: &answer.Calls[0]}, nil) && yield(model.Event{Stop: model.ToolCalls}, nil)
			return
		}
		_ = yield(model.Event{Text: answer.Text}, nil) && yield(model.Event{Stop: model.Done}, nil)
	}
}

// chosen returns the tools of a request without those that are declared because
// they were called before, or for skills: a choice made again for each question
// would declare only these.
func chosen(req model.Request) []tool.Definition {
	return slices.DeleteFunc(slices.Clone(req.Tools), func(d tool.Definition) bool {
		before := slices.ContainsFunc(req.Messages, func(m chat.Message) bool { return called(m.Calls, d.Name) })
		return d.Name == selection.UseSkill || before && !slices.Contains(req.Ranked, d.Name) && !selection.Meta(d.Name)
	})
}

// answer returns what a model would say: the next call, or the reply.
func (s *script) answer(req model.Request) chat.Message {
	for _, n := range s.needs {
		if n.reach != "" {
			continue
		}
		through := look(req, n.Name)
		switch {
		case through != "" && n.searched:
			n.reach = Found
		case through != "":
			n.reach = through
		case !n.searched && declares(req, selection.FindTools):
			n.searched = true
			return calls(selection.FindTools, map[string]any{"queries": []string{s.query(req, n)}})
		default:
			n.reach = Missed
			continue
		}
		s.last = n
		args := n.Arguments
		if len(args) == 0 {
			args = example(n.entry.Definition)
		}
		if declares(req, n.Name) || loaded(req, n.Name) {
			return calls(n.Name, args)
		}
		return calls(selection.CallTool, map[string]any{"name": n.Name, "arguments": args})
	}
	return chat.Message{Role: chat.Assistant, Text: cmp.Or(s.turn.Answer, s.reply())}
}

// query returns what a model would search for: the tool's name, if it has read that
// in the system prompt.
func (s *script) query(req model.Request, n *need) string {
	if mentions(req.System, n.Name) {
		return n.Name
	}
	return cmp.Or(n.Search, s.turn.Text)
}

func (s *script) reply() string {
	if len(s.needs) == 0 {
		return "You are welcome. Tell me if there is anything else."
	}
	return fmt.Sprintf("Here is what I found, in short: it took %d steps, everything went well, and the figures are above.", len(s.needs))
}

func calls(name string, args any) chat.Message {
	raw, err := json.Marshal(args)
	if err != nil {
		raw = json.RawMessage("{}") // the conversation's arguments are not JSON
	}
	return chat.Message{Role: chat.Assistant, Calls: []chat.Call{{Name: name, Arguments: raw}}}
}

func declares(req model.Request, name string) bool {
	for i := range req.Tools {
		if req.Tools[i].Name == name {
			return true
		}
	}
	return false
}

// look returns how a request shows a tool; empty means not at all.
func look(req model.Request, name string) Reach {
	if declares(req, name) {
		return Declared
	}
	if !declares(req, selection.CallTool) {
		return ""
	}
	now := true // back to the last message of the user
	for _, m := range slices.Backward(req.Messages) {
		switch {
		case now && slices.Contains(m.Tools, name):
			return Announced
		case slices.Contains(m.Tools, name), found(m.Result, name), called(m.Calls, name):
			return Known
		}
		now = now && m.Role != chat.User
	}
	return ""
}

// loaded reports whether a result named a deferred tool, so that the provider has
// shown it to the model.
func loaded(req model.Request, name string) bool {
	return slices.ContainsFunc(req.Deferred, func(d tool.Definition) bool { return d.Name == name }) &&
		slices.ContainsFunc(req.Messages,
			func(m chat.Message) bool { return m.Result != nil && slices.Contains(m.Result.Tools, name) })
}

// found reports whether a result is from a search that returned the tool.
func found(r *chat.Result, name string) bool {
	return r != nil && !r.Failed && r.Name == selection.FindTools && mentions(r.Text, name)
}

// called reports whether one of the calls reaches the tool.
func called(list []chat.Call, name string) bool {
	return slices.ContainsFunc(list, func(c chat.Call) bool {
		if c.Name != selection.CallTool {
			return c.Name == name
		}
		var target struct {
			Name string `json:"name"`
		}
		return json.Unmarshal(c.Arguments, &target) == nil && target.Name == name
	})
}

// mentions reports whether a text holds a tool's name as a word of its own.
func mentions(text, name string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
	}) {
		if strings.TrimRight(word, ".") == name {
			return true
		}
	}
	return false
}
