// Package terminal is a conversation in a terminal: a prompt that can be edited below
// the answers, and Markdown made readable.
//
// [Console] is where a command prints: text for people, in tables that fit, or JSON for programs.
// [Talk] keeps the prompt at the bottom of the screen while answers appear above it, so
// that typing ahead works and the terminal's own scrolling keeps the conversation.
// [Markdown] needs no terminal.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/etui-run/etui/internal/panics"
)

// ErrLeave is returned by [Config.Send] to end the conversation.
var ErrLeave = errors.New("leave")

// Limits of the prompt.
const (
	maxAhead   = 16  // messages that wait for the running one; Enter does nothing then
	maxHistory = 500 // messages that the arrow keys find; the oldest are forgotten
	maxRows    = 10  // rows of the prompt on the screen; longer texts scroll
	maxOffered = 12  // completions that are shown
	maxPaste   = 10  // lines of a paste that are shown; a longer one is shown as a name
	maxPasted  = 100 // long pastes that are kept for the history; then all are forgotten
)

// Config says what a conversation does. In, Out and Send are required.
type Config struct {
	// In and Out are the terminal.
	In, Out *os.File
	// Send handles one message and writes what happens to out, which belongs to it
	// until it returns. Its context ends when the user stops it. An error is printed.
	// Messages are handled one after the other.
	Send func(ctx context.Context, text string, out io.Writer) error
	// Idle writes what has happened by itself, before out is used by the next message. It is called
	// every two seconds while nothing was sent; nil writes nothing.
	Idle func(ctx context.Context, out io.Writer)
	// Complete returns the words that could replace the last word of the text before
	// the cursor; all begin with it. Nil completes nothing. It may be called while
	// Send runs.
	Complete func(ctx context.Context, before string) []string
	// Offers returns messages that somebody may want to send next, and a line about them. Tab puts one after
	// the other into an empty prompt. It is called after Send and Idle; nil offers nothing.
	Offers func() (texts []string, hint string)
	// Keys are messages that a key sends, by its name.
	Keys map[string]string
	// Say says a phrase in the language of the person.
	Say func(english string, args ...any) string
	// Plain leaves colours and other styles out.
	Plain bool
	// History are earlier messages that the arrow keys and Ctrl-R find, oldest first.
	History []string
}

// Talk talks until the user leaves or ctx ends, then it returns nil. Ctrl-C stops the
// running message with those that wait; without one it clears the prompt, and on an
// empty prompt it leaves, as Ctrl-D does.
func Talk(ctx context.Context, cfg Config) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t := &talk{config: cfg, ctx: ctx, ahead: make(chan *message, maxAhead), input: newInput(cfg.Plain)}
	t.history = slices.Clone(cfg.History[max(0, len(cfg.History)-maxHistory):])
	t.place = len(t.history)
	p := tea.NewProgram(t, tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out),
		tea.WithoutSignalHandler())
	var work sync.WaitGroup
	work.Go(func() {
		defer panics.Log(nil, "answering in the terminal")
		t.work(p)
	})
	_, err := p.Run()
	stop()
	close(t.ahead)
	work.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		return nil // the context ended
	}
	return err
}

// message is a text that was sent.
type message struct {
	shown, text string
	ctx         context.Context //nolint:containedctx // ends when the message is stopped
	stop        context.CancelFunc
}

// The worker reports these to the prompt.
type (
	finished struct{ leave bool }
	offers   struct {
		texts []string
		hint  string
	}
	partial string // the line of an answer that is not complete yet
	offered struct {
		before string
		words  []string
	}
)

// talk is the state of the prompt. Only the program's loop uses it, apart from work.
type talk struct {
	config        Config
	ctx           context.Context //nolint:containedctx // of the one conversation
	ahead         chan *message
	sent          []*message // those that wait and the running one, in order
	input         textarea.Model
	width, height int
	partial       string
	hint          string
	offers        offers

	history []string
	place   int               // in the history; its length means the draft
	draft   string            // the text before the history was opened
	sought  string            // the text that Ctrl-R looks for
	pasted  map[string]string // texts by the names that are shown
	pastes  int
}

func newInput(plain bool) textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.CharLimit = 0
	in.DynamicHeight, in.MinHeight, in.MaxHeight = true, 1, maxRows
	in.MaxContentHeight = 1 << 20 // in place of a limit of MaxHeight lines
	in.EndOfBufferCharacter = ' '
	in.SetPromptFunc(2, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	in.SetVirtualCursor(false) // the terminal's own cursor, for input methods
	style := textarea.Styles{}
	if !plain {
		style.Focused.Prompt = lipgloss.NewStyle().Bold(true)
		style.Focused.Selection = lipgloss.NewStyle().Reverse(true)
	}
	style.Cursor.Shape, style.Cursor.Blink = tea.CursorBlock, true
	in.SetStyles(style)
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter"))
	in.KeyMap.Paste = key.NewBinding() // terminals paste by themselves
	in.Focus()
	return in
}

// Init implements [tea.Model].
func (t *talk) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (t *talk) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		t.width, t.height = msg.Width, msg.Height
		t.input.SetWidth(msg.Width)
	case tea.KeyPressMsg:
		t.hint = ""
		if cmd, done := t.press(msg); done {
			return t, cmd
		}
	case tea.PasteMsg:
		t.hint = ""
		msg.Content = t.paste(msg.Content)
		return t, t.edit(msg)
	case finished:
		t.partial = ""
		if t.sent = t.sent[1:]; msg.leave {
			return t, tea.Quit
		}
		return t, nil
	case partial:
		t.partial = string(msg)
		return t, nil
	case offers:
		t.offers = msg
		return t, nil
	case offered:
		t.offer(msg)
		return t, nil
	}
	return t, t.edit(msg)
}

func (t *talk) edit(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	t.input, cmd = t.input.Update(msg)
	return cmd
}

// press handles the keys that do more than edit the text.
func (t *talk) press(k tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	if text := t.config.Keys[k.String()]; text != "" {
		draft := t.input.Value()
		t.set(text)
		t.send()
		t.set(draft)
		return nil, true
	}
	switch k.String() {
	case "ctrl+c":
		switch {
		case len(t.sent) > 0:
			for _, m := range t.sent {
				m.stop()
			}
		case t.input.Value() != "":
			t.set("")
		default:
			return tea.Quit, true
		}
		return nil, true
	case "ctrl+d":
		if t.input.Value() == "" {
			return tea.Quit, true
		}
	case "ctrl+r":
		t.search()
		return nil, true
	case "ctrl+l":
		return tea.ClearScreen, true
	case "enter", "ctrl+j": // what was typed before the terminal was ready ends with Ctrl-J
		t.send()
		return nil, true
	case "tab":
		if n := len(t.offers.texts); n > 0 {
			i := slices.Index(t.offers.texts, t.input.Value())
			if i >= 0 || t.input.Value() == "" {
				t.set(t.offers.texts[(i+1)%n])
				return nil, true
			}
		}
		return t.complete(), true
	case "up", "ctrl+p":
		if t.input.Line() == 0 && t.input.LineInfo().RowOffset == 0 {
			t.recall(t.place - 1)
			return nil, true
		}
	case "down", "ctrl+n":
		if info := t.input.LineInfo(); t.input.Line() == t.input.LineCount()-1 && info.RowOffset == info.Height-1 {
			t.recall(t.place + 1)
			return nil, true
		}
	}
	return nil, false
}

func (t *talk) set(text string) {
	t.input.SetValue(text)
	t.input.MoveToEnd()
}

// send hands the text of the prompt to the worker.
func (t *talk) send() {
	shown := strings.TrimSpace(t.input.Value())
	if shown == "" {
		return
	}
	m := &message{shown: shown, text: shown}
	for name, text := range t.pasted {
		m.text = strings.Replace(m.text, name, text, 1)
	}
	m.ctx, m.stop = context.WithCancel(t.ctx)
	select {
	case t.ahead <- m:
	default:
		m.stop()
		t.hint = t.config.Say("Wait for the answers, or stop them with Ctrl-C.")
		return
	}
	t.sent = append(t.sent, m)
	if len(t.history) == 0 || t.history[len(t.history)-1] != shown {
		t.history = append(t.history, shown)
		t.history = t.history[max(0, len(t.history)-maxHistory):]
	}
	t.place, t.draft = len(t.history), ""
	t.set("")
}

// recall shows a message of the history, or the draft behind it.
func (t *talk) recall(place int) {
	if place < 0 || place > len(t.history) || place == t.place {
		return
	}
	if t.place == len(t.history) {
		t.draft = t.input.Value()
	}
	t.place = place
	if place == len(t.history) {
		t.set(t.draft)
	} else {
		t.set(t.history[place])
	}
}

// search shows the newest earlier message with the text of the prompt; again, the one before it. In shells the
// text comes after the key: who expects that is told.
func (t *talk) search() {
	if t.input.Value() == "" {
		t.hint = t.config.Say("Type a part of the message, and press Ctrl-R then.")
		return
	}
	from := t.place
	if from == len(t.history) || t.history[from] != t.input.Value() {
		t.sought, from = t.input.Value(), len(t.history)
	}
	for i := from - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(t.history[i]), strings.ToLower(t.sought)) {
			t.recall(i)
			return
		}
	}
	t.hint = t.config.Say("No earlier message has this text.")
}

// paste returns what is shown of a pasted text: the text, or a name for a long one, or
// for one with characters that the prompt cannot show. The name is replaced by the
// text, byte for byte, when the message is sent.
func (t *talk) paste(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")
	if lines <= maxPaste && len(text) <= maxPaste*200 && !strings.ContainsRune(text, '\t') {
		return text
	}
	t.pastes++
	name := t.config.Say("[paste %d: %d lines]", t.pastes, lines)
	if t.pasted == nil || len(t.pasted) == maxPasted {
		t.pasted = map[string]string{}
	}
	t.pasted[name] = text
	return name
}

// before is the text before the cursor, of its line.
func (t *talk) before() string {
	line := []rune(strings.Split(t.input.Value(), "\n")[t.input.Line()])
	return string(line[:min(t.input.Column(), len(line))])
}

// complete looks for completions in the background: that may need the network.
func (t *talk) complete() tea.Cmd {
	if t.config.Complete == nil {
		return nil
	}
	before := t.before()
	return func() tea.Msg { return offered{before, t.config.Complete(t.ctx, before)} }
}

// offer completes the word before the cursor as far as the completions agree, and shows
// them if that is not far enough.
func (t *talk) offer(o offered) {
	if o.before != t.before() || len(o.words) == 0 {
		return // typed on meanwhile
	}
	word := o.before[strings.LastIndexAny(o.before, " \t")+1:]
	common := o.words[0]
	for _, w := range o.words[1:] {
		for !strings.HasPrefix(w, common) {
			r := []rune(common)
			common = string(r[:len(r)-1])
		}
	}
	switch {
	case len(o.words) == 1:
		t.input.InsertString(common[len(word):] + " ")
	case len(common) > len(word):
		t.input.InsertString(common[len(word):])
	default:
		t.hint = strings.Join(o.words[:min(len(o.words), maxOffered)], "  ")
		if more := len(o.words) - maxOffered; more > 0 {
			t.hint += "  " + t.config.Say("and %d more", more)
		}
	}
}

// View implements [tea.Model]: what is unfinished, and the prompt.
func (t *talk) View() tea.View {
	var above []string
	if t.partial != "" {
		rows := strings.Split(ansi.Hardwrap(t.partial, max(t.width, 1), true), "\n")
		above = rows[max(0, len(rows)-max(1, t.height-maxRows-2)):]
	}
	note := t.hint
	if note == "" && len(t.sent) > 0 {
		note = t.config.Say("… Ctrl-C stops the answer")
		if n := len(t.sent) - 1; n > 0 {
			note += t.config.Say("; waiting: %d", n)
		}
	}
	if note == "" {
		note = t.offers.hint
	}
	if note != "" {
		above = append(above, t.faint(ansi.Truncate(note, max(t.width, 1), "…")))
	}
	v := tea.NewView(strings.Join(append(above, t.input.View()), "\n"))
	if c := t.input.Cursor(); c != nil {
		c.Y += len(above)
		v.Cursor = c
	}
	return v
}

func (t *talk) faint(text string) string {
	if t.config.Plain {
		return text
	}
	return lipgloss.NewStyle().Faint(true).Render(text)
}

// work sends the messages, one after the other.
func (t *talk) work(p *tea.Program) {
	idle := time.NewTicker(2 * time.Second)
	defer idle.Stop()
	for {
		s := &screen{program: p, terminal: t.config.Out}
		var m *message
		select {
		case m = <-t.ahead:
		case <-idle.C:
			if t.config.Idle != nil {
				t.config.Idle(t.ctx, s)
				s.end()
				t.look(p)
			}
			continue
		}
		if m == nil { // the conversation has ended
			return
		}
		if m.ctx.Err() == nil {
			s.print(t.bold("> " + strings.ReplaceAll(m.shown, "\n", "\n  ")))
			err := t.config.Send(m.ctx, m.text, s)
			s.end()
			switch {
			case errors.Is(err, ErrLeave):
			case m.ctx.Err() != nil && t.ctx.Err() == nil:
				s.print("(" + t.config.Say("stopped") + ")")
			case err != nil:
				s.print("etui: " + t.config.Say("%v", err))
			}
			m.stop()
			t.look(p)
			p.Send(finished{leave: errors.Is(err, ErrLeave)})
			continue
		}
		p.Send(finished{})
	}
}

// look tells the prompt what is offered now.
func (t *talk) look(p *tea.Program) {
	if t.config.Offers != nil {
		texts, hint := t.config.Offers()
		p.Send(offers{texts, hint})
	}
}

func (t *talk) bold(text string) string {
	if t.config.Plain {
		return text
	}
	return lipgloss.NewStyle().Bold(true).Render(text)
}

// screen prints complete lines above the prompt and shows the rest as the unfinished
// line.
type screen struct {
	program  *tea.Program
	terminal *os.File
	rest     []byte
}

// Write implements io.Writer. It does not fail.
func (s *screen) Write(text []byte) (int, error) {
	s.rest = append(s.rest, text...)
	if i := slices.Index(s.rest, '\n'); i >= 0 {
		end := len(s.rest)
		for s.rest[end-1] != '\n' {
			end--
		}
		s.print(string(s.rest[:end-1]))
		s.rest = slices.Clone(s.rest[end:])
	}
	s.preview(string(s.rest))
	return len(text), nil
}

// preview shows a line that is not complete.
func (s *screen) preview(line string) { s.program.Send(partial(line)) }

func (s *screen) end() {
	if len(s.rest) > 0 {
		s.print(string(s.rest))
	}
	s.rest = nil
	s.preview("")
}

// print prints lines, wrapped and a few at a time: the program cannot print more than
// the screen holds at once.
func (s *screen) print(text string) {
	width, height := size(s.terminal)
	lines := strings.Split(ansi.Hardwrap(strings.ReplaceAll(text, "\t", "    "), width, true), "\n")
	for chunk := range slices.Chunk(lines, max(1, height/3)) {
		// Sent and not Println, which would wait for ever after the program's end. The
		// program prints no empty text.
		s.program.Send(tea.Println(cmp.Or(strings.Join(chunk, "\n"), " "))())
	}
}
