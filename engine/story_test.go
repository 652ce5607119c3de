package engine_test

// How to write a story
//
// A story is a conversation in a file of testdata/stories: what people say, what the model answers,
// and what comes of it. It begins with a sentence or two that say what it shows. Then come the
// configuration and the conversation:
//
//	The rules ask before the weather is made; ann approves, and the call runs once.
//
//	-- config.yaml --
//	tools:
//	  make_weather: {description: Make the weather, parameters: [kind], result: "It is {kind} now."}
//	policy:
//	- ask: [make_weather]
//	-- conversation --
//	ann: Let it be sunny.
//	    main calls make_weather {"kind": "sunny"}
//	ann: /approve
//	    main says Enjoy the sun.
//
// The outcome is written for you:
//
//	go test ./engine -run TestStories/NAME -update
//
// Read it before you commit it: from then on the test fails when anything else happens. When a
// change of the engine alters an outcome, -update writes the new one, and its diff is the review.
//
// # The configuration
//
// Its keys are the fields of storyConfig: agents, tools, skills, people, visibility, policy,
// approvers, workflows and a few more. There is always an agent named main. A tool does what its
// entry says, see storyTool: it returns a result, fails, takes a while, or finishes later.
//
// # The conversation
//
// A line that is not indented is something that happens:
//
//	ann: TEXT               ann writes to the assistant over the API
//	ann@web: TEXT           on a channel, where replies are letters to web:ann
//	ann@web/team: TEXT      in a group of that channel
//	ann (key 1): TEXT       with options: see storyOptions
//	nobody: TEXT            somebody without a name writes; operator is the person at the terminal
//	after 1h                time passes, and the clock ticks
//	restart                 the process stops in order, and the next one takes over; "stop" and
//	                        "start" do that with time in between
//	crash                   the process dies where it is, and the next one takes over
//	use other.yaml          another file of the story is the configuration from now on
//	post web:ann TEXT       the agent says something of its own accord
//	task @hourly ann: TEXT  an operator schedules a message in ann's name
//	control {"skill": "x"}  an operator changes the agent main
//	approvals ann@web       ann looks at what she may answer
//	grants, revoke #1       an operator lists lasting approvals, and removes one
//	inbox                   an operator looks at the messages that have not ended
//	retry 1, drop 1         an operator tries one of them again, or gives it up
//	# TEXT                  a comment
//
// The indented lines below it are the script of the models: one answer each, in the order in which
// the model of that agent is asked. A model that is asked more or less often fails the story.
//
//	    main says TEXT
//	    main calls TOOL {ARGUMENTS}, TOOL {ARGUMENTS}
//	    main fails          the provider is away
//	    main panics         its adapter has a bug
//	    main takes 1m       before its next answer
//
// A message is sent when all that came before has gone as far as it can without time. For what
// happens while a turn runs, use "main takes 1m" or a tool that takes a while, then the next
// message, and then "after 2m". Time begins on 1 January 2000 at midnight, UTC, and passes at once.
//
// # The outcome
//
// It has a part for each line of the conversation that had an effect:
//
//	selects …      the tools that the message got, with the words that matched, and those that it
//	               could not have, with the stage that dropped them
//	reads …        what the sender reads, or how else the message ended
//	letter to …    what is delivered on a channel
//	main           what happened to an agent, in order: what its model was asked, which calls ran,
//	               and, after a star, each step that was stored
//
// IDs are #1, #2 and so on in the order in which one reads them; the conversation uses these, too:
// "/approve #1". A sub-agent needs an agent of its own, since what one agent does at the same
// instant in two conversations has no order.
//
// Stories do not hold races, kills at every write or thousands of messages. Those are tests in Go:
// main_test.go says how to write one.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

var update = flag.Bool("update", false, "rewrite the outcomes of the stories")

// TestStories plays the stories of testdata/stories: story_test.go says how to write one.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "stories", "*.txtar"))
	must(t, err)
	if len(files) < 40 {
		t.Errorf("there are %d stories, and there were more", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			must(t, err)
			got := ""
			synctest.Test(t, func(t *testing.T) { got = newStory(t, archive).play() })
			outcome := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "outcome" })
			if *update {
				if outcome < 0 {
					outcome = len(archive.Files)
					archive.Files = append(archive.Files, txtar.File{Name: "outcome"})
				}
				archive.Files[outcome].Data = []byte(got)
				must(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			if outcome < 0 {
				t.Fatalf("the story has no outcome; -update adds this one:\n%s", got)
			}
			compare(t, string(archive.Files[outcome].Data), got)
		})
	}
}

// compare shows the first lines in which two outcomes differ, with what stands before them.
func compare(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := 0
	for at < min(len(w), len(g)) && w[at] == g[at] {
		at++
	}
	show := func(lines []string) string { return strings.Join(lines[max(0, at-4):min(len(lines), at+6)], "\n") }
	t.Errorf("line %d of the outcome is new; -update accepts it.\n--- want\n%s\n--- got\n%s", at+1, show(w), show(g))
}

// story is a story that is played.
type story struct {
	*testing.T
	files  map[string]string
	lines  []string
	config storyConfig
	kept   *store.Memory
	now    *process
	all    []*process
	over   chan struct{} // closed at the end, so that dead processes end
	flows  *workflow.Table
	models map[string]*scriptedModel
	folder string   // of the memory
	calls  int      // in the script
	ran    sync.Map // how often each tool was called
	items  []int64  // of the inbox, as it was last listed
	sent   int      // messages and letters of the story
	told   sync.Map // the conversation of each client that keeps it itself
	log    storyLog
}

func newStory(t *testing.T, a *txtar.Archive) *story {
	s := &story{
		T: t, files: map[string]string{}, kept: &store.Memory{}, over: make(chan struct{}),
		models: map[string]*scriptedModel{},
		flows:  &workflow.Table{}, folder: t.TempDir(),
	}
	for _, f := range a.Files {
		s.files[f.Name] = string(f.Data)
	}
	s.lines = strings.Split(strings.TrimSpace(s.files["conversation"]), "\n")
	s.config = readStoryConfig(t, s.files["config.yaml"])
	s.log.watch = s.config.Watch
	for name := range s.config.Agents {
		s.models[name] = &scriptedModel{Model: fake.New()}
	}
	s.start()
	return s
}

// play plays the conversation and returns its outcome.
func (s *story) play() string {
	defer func() {
		if s.Failed() {
			s.Logf("what happened until then:\n%s", s.log.String())
		}
	}()
	for i := 0; i < len(s.lines) && !s.Failed(); i++ {
		line := s.lines[i]
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for i+1 < len(s.lines) && strings.HasPrefix(s.lines[i+1], " ") {
			i++
			s.script(strings.TrimSpace(s.lines[i]))
		}
		s.log.begin(line)
		s.do(line)
		synctest.Wait()
		if s.now != nil {
			s.letters()
		}
	}
	s.log.begin("(the end)")
	time.Sleep(time.Hour)
	synctest.Wait()
	if s.now != nil {
		s.letters()
	}
	for name, m := range s.models {
		if n := m.Left(); n > 0 {
			s.Errorf("the model of %s was not asked for the last %d answers of its script", name, n)
		}
	}
	close(s.over)
	for _, p := range s.all {
		p.stop()
	}
	return s.log.String()
}

// script adds a line of a model's script: "main says Hello."
func (s *story) script(line string) {
	name, rest, _ := strings.Cut(line, " ")
	verb, rest, _ := strings.Cut(rest, " ")
	m := s.models[name]
	if m == nil {
		s.Fatalf("%q: there is no agent %s", line, name)
	}
	step := fake.Step{Usage: model.Tokens{Input: 100, Output: 10}}
	switch verb {
	case "says":
		step.Text = rest
	case "calls":
		for rest != "" {
			tool, args, _ := strings.Cut(rest, " ")
			d := json.NewDecoder(strings.NewReader(args))
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				s.Fatalf("%q: the arguments of %s: %v", line, tool, err)
			}
			s.calls++
			step.Calls = append(step.Calls, fake.Call(fmt.Sprint("call-", s.calls), tool, string(raw)))
			rest = strings.TrimLeft(args[d.InputOffset():], ", ")
		}
	case "fails":
		step.Err = &model.Error{Model: "fake", Kind: model.ErrUnavailable}
	case "panics":
		step.Check = func(model.Request) error { panic("the adapter has a bug") }
	case "takes":
		m.takes = duration(s.T, rest)
		return
	default:
		s.Fatalf("%q: a model says, calls, fails, panics or takes", line)
	}
	m.add(step)
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	must(t, err)
	return d
}

var (
	saidLine = regexp.MustCompile(`^([^\s:(@]+)(?:@([^\s/:(]+)(?:/([^\s:(]+))?)?(?: \(([^)]*)\))?: ?(.*)$`)
	taskLine = regexp.MustCompile(`^task (.+) (\w+): (.*)$`)
)

// do does what a line says.
func (s *story) do(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "after":
		s.after(duration(s.T, rest))
		return
	case "start":
		s.start()
		return
	}
	g, ctx := s.now, s.Context()
	switch task := taskLine.FindStringSubmatch(line); {
	case verb == "restart" || verb == "stop":
		g.stop()
		synctest.Wait()
		if s.now = nil; verb == "restart" {
			s.start()
		}
	case verb == "crash":
		g.dead.Store(true)
		s.start()
	case verb == "use":
		text, ok := s.files[rest]
		if !ok {
			s.Fatalf("there is no file %s", rest)
		}
		next := readStoryConfig(s.T, text)
		next.Agents = s.config.Agents
		s.config = next
		g.configure(s)
	case verb == "post":
		to, text, _ := strings.Cut(rest, " ")
		channel, user, _ := strings.Cut(to, ":")
		s.sent++
		w, err := g.Agents().Whoami(engine.Message{Channel: channel, User: user})
		must(s.T, err)
		must(s.T, g.Outbox().Post(ctx, w.Session, nil, text, fmt.Sprint("post-", s.sent)))
	case task != nil:
		id, next, err := g.addTask(ctx, task[1], task[2], task[3])
		must(s.T, err)
		s.log.learn(id)
		s.log.add("task %s, first at %s", id, next.Format("15:04"))
	case verb == "control":
		if err := g.control(ctx, rest); err != nil {
			s.log.add("fails: %v", err)
		}
	case verb == "approvals":
		m := saidLine.FindStringSubmatch(rest + ": ?")
		list, err := g.Answers().For(ctx, s.message(m))
		must(s.T, err)
		s.none(len(list))
		for _, a := range list {
			s.log.add("%s may answer %s, %s in %s, asked from %s", m[1], a.ID, a.Tool, a.Session, cmp.Or(a.From, a.Session))
		}
	case verb == "grants":
		n := 0
		must(s.T, g.grants(ctx, func(id, user, tool, by string) {
			n++
			s.log.add("%s: %s may call %s, said %s", id, cmp.Or(user, "the operator"), tool, by)
		}))
		s.none(n)
	case verb == "revoke":
		if err := g.revoke(ctx, s.log.real(rest)); err != nil {
			s.log.add("fails: %v", err)
		}
	case verb == "inbox":
		list, err := g.inbox(ctx)
		must(s.T, err)
		s.items = nil
		s.none(len(list))
		for i, item := range list {
			s.log.add("%d. %s %s: %s %s", i+1, item.State, item.Kind, item.Text, item.Reason)
			s.items = append(s.items, item.ID)
		}
	case verb == "retry" || verb == "drop":
		n, err := strconv.Atoi(rest)
		must(s.T, err)
		act := g.Inbox().Retry
		if verb == "drop" {
			act = g.Inbox().Drop
		}
		if err := act(ctx, s.items[n-1]); err != nil {
			s.log.add("fails: %v", err)
		}
	default:
		m := saidLine.FindStringSubmatch(line)
		if m == nil {
			s.Fatalf("%q: a line begins with the name of a person and a colon, or says what happens", line)
		}
		s.sent++
		go s.say(g, s.sent, s.message(m))
	}
}

// none says that a list is empty.
func (s *story) none(n int) {
	if n == 0 {
		s.log.add("nothing")
	}
}

// after lets time pass. The clock ticks often enough, and at the end.
func (s *story) after(d time.Duration) {
	step := max(d/120, time.Second)
	for ; d > 0; d -= step {
		time.Sleep(min(step, d))
		if s.now != nil {
			must(s.T, s.now.tick(s.Context()))
		}
		synctest.Wait()
	}
}

// message makes the message of a line.
func (s *story) message(m []string) engine.Message {
	msg := engine.Message{User: m[1], Channel: cmp.Or(m[2], "api"), Chat: m[3], Text: s.log.real(m[5])}
	switch m[1] {
	case "nobody":
		msg.User = ""
	case "operator":
		msg.User, msg.Channel = "", "cli"
	}
	if m[2] != "" {
		to := m[2] + ":" + m[1]
		if m[3] != "" {
			to = m[2] + "/" + m[3]
		}
		msg.Reply = json.RawMessage(strconv.Quote(to))
	}
	for option := range strings.SplitSeq(m[4], ", ") {
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, " ")
		set := storyOptions[key]
		if set == nil {
			s.Fatalf("a message has no option %q", key)
		}
		set(s, &msg, value)
	}
	return msg
}

// storyOptions are the options of a message, as in "ann (key 1, skill talking): Hello."
var storyOptions = map[string]func(s *story, m *engine.Message, value string){
	"agent":     func(_ *story, m *engine.Message, v string) { m.Agent = v },
	"session":   func(_ *story, m *engine.Message, v string) { m.Session = v },
	"thread":    func(_ *story, m *engine.Message, v string) { m.Thread = v },
	"direct":    func(_ *story, m *engine.Message, _ string) { m.Direct = true },
	"as":        func(_ *story, m *engine.Message, v string) { m.As, m.User = v, "" },
	"roles":     func(_ *story, m *engine.Message, v string) { m.Roles = strings.Fields(v) },
	"skill":     func(_ *story, m *engine.Message, v string) { m.Skill = v },
	"workflow":  func(_ *story, m *engine.Message, v string) { m.Workflow = v },
	"include":   func(_ *story, m *engine.Message, v string) { m.Include = strings.Fields(v) },
	"exclude":   func(_ *story, m *engine.Message, v string) { m.Exclude = strings.Fields(v) },
	"key":       func(_ *story, m *engine.Message, v string) { m.IdempotencyKey = v },
	"wait":      func(_ *story, m *engine.Message, _ string) { m.Wait = true },
	"lite":      func(_ *story, m *engine.Message, _ string) { m.Strategy = new(prompt.Lite) },
	"unbound":   func(_ *story, m *engine.Message, _ string) { m.NoHistory = true },
	"picture":   func(_ *story, m *engine.Message, v string) { m.Files = []chat.File{{Name: v, Data: picture()}} },
	"text_file": func(s *story, m *engine.Message, v string) { m.Text += "\n" + textFile(s.T, v, s.files[v]) },
	// history: the client keeps the conversation itself and sends all of it
	"history": func(s *story, m *engine.Message, _ string) { m.History = s.conversation(m.User) },
}

// picture is a PNG of one red pixel.
func picture() []byte {
	i := image.NewRGBA(image.Rect(0, 0, 1, 1))
	i.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	_ = png.Encode(&b, i)
	return b.Bytes()
}

func textFile(t *testing.T, name, text string) string {
	part, err := message.TextFile(name, []byte(text))
	must(t, err)
	return part
}

// conversation is what a client that keeps its conversation itself has of it.
func (s *story) conversation(user string) []chat.Message {
	kept, ok := s.told.Load(user)
	if !ok {
		return []chat.Message{}
	}
	return slices.Clone(kept.([]chat.Message))
}

// say sends the nth message and notes what its sender reads.
func (s *story) say(p *process, nth int, m engine.Message) {
	text := ""
	for e, err := range p.Send(s.Context(), m) {
		switch {
		case p.dead.Load(): // its sender learns nothing
		case err != nil:
			s.log.reads(nth, "reads an error: %v", err)
		case e.Selection != nil:
			s.log.reads(nth, "selects %s", selects(e.Selection))
		case e.Text != "":
			text += e.Text
		case m.History != nil && e.Call != nil:
			s.log.reads(nth, "calls %s %s", e.Call.Name, e.Call.Arguments)
		case m.History != nil && e.Result != nil:
			s.log.reads(nth, "%s: %s", e.Result.Name, e.Result.Text)
		case e.Phase != nil && (e.Phase.Began || e.Phase.Outcome != ""):
			s.log.reads(nth, "phase %s", phase(e.Phase))
		case e.Done != nil:
			s.log.learn(idsOf(e.Done.Awaits)...)
			reply := cmp.Or(text, e.Done.Reply)
			text = ""
			switch {
			case e.Done.Stopped:
				s.log.reads(nth, "is stopped: %s", reply)
			case e.Done.Taken:
				s.log.reads(nth, "is taken in: %s", reply)
			case m.Reply == nil:
				s.log.reads(nth, "reads %s", reply)
			}
			if f := e.Done.Flow; f != nil && f.Outcome != "" {
				s.log.reads(nth, "%s: %s", f.Workflow, path(f))
			}
			if m.History != nil {
				said := []chat.Message{{Role: chat.User, Text: m.Text}, {Role: chat.Assistant, Text: reply}}
				s.told.Store(m.User, append(m.History, said...))
			}
		}
	}
}

// phase is how far a workflow has come.
func phase(e *turn.PhaseEvent) string {
	text := e.Name
	if e.Outcome != "" {
		text += fmt.Sprintf(" ends the run: %s, after %d rounds and %d tokens", e.Outcome, e.Rounds, e.AllTokens)
	}
	if e.Warning != "" {
		text += "; " + e.Warning
	}
	return text
}

// path is how a run came to its end.
func path(f *session.Flow) string {
	var phases []string
	for _, to := range f.Path {
		phases = append(phases, to.To)
	}
	return fmt.Sprintf("%s; %s, %s", strings.Join(phases, " → "), f.Outcome, f.Reason)
}

// letters delivers what is to be delivered.
func (s *story) letters() {
	list, err := s.now.Outbox().Letters(s.Context(), 0, 100)
	must(s.T, err)
	for _, l := range list {
		s.log.learn(idsOf(l.Awaits)...)
		var to string
		must(s.T, json.Unmarshal(l.To, &to))
		s.log.letter(to, l.Text+l.Failed)
		must(s.T, s.now.Outbox().Delivered(s.Context(), l.ID))
	}
}

func idsOf(awaits []session.Await) (ids []string) {
	for _, a := range awaits {
		ids = append(ids, a.ID)
	}
	return ids
}

// called counts the calls of a tool, and returns which of n results this one gives.
func (s *story) called(name string, n int) int {
	count, _ := s.ran.LoadOrStore(name, new(atomic.Int32))
	return min(int(count.(*atomic.Int32).Add(1)), n) - 1
}
