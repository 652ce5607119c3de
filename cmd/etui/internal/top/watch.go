package top

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/terminal"
)

// Show prints a reading once: without a terminal, or if that is asked for. Otherwise it shows the gateway
// until a person leaves or ctx ends, and reads it again every so often.
func Show(ctx context.Context, console *terminal.Console, c *client.Client, every time.Duration, once bool) error {
	if once || console.JSON || !terminal.CanTalk(console.In, console.Out) {
		r, err := Read(ctx, c, time.Now())
		if err != nil {
			return err
		}
		p := page{language: console.Language, width: console.LineWidth()}
		return console.Print(r, func() string { return p.text(r) })
	}
	in, _ := console.In.(*os.File)
	out, _ := console.Out.(*os.File)
	w := &watch{page: page{language: console.Language}, every: every, read: func() tea.Msg {
		r, err := Read(ctx, c, time.Now())
		return read{r, err}
	}}
	screen := tea.NewProgram(w, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithoutSignalHandler())
	_, err := screen.Run()
	if errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		return nil // the context ended
	}
	return err
}

type (
	read struct {
		Reading

		err error
	}
	again struct{}
)

// maxSpan is how long a time the recent figures are of.
const maxSpan = time.Minute

// watch is the state of the screen. Only the program's loop uses it.
type watch struct {
	page  page
	every time.Duration
	read  func() tea.Msg
	last  []Reading // those of the last minute, oldest first
	err   error
}

// Init implements [tea.Model].
func (w *watch) Init() tea.Cmd { return w.read }

// Update implements [tea.Model].
func (w *watch) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		w.page.width, w.page.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "Q", "esc", "ctrl+c", "ctrl+d":
			return w, tea.Quit
		}
	case read:
		if w.err = msg.err; msg.err == nil {
			for len(w.last) > 1 && msg.Time.Sub(w.last[0].Time) > maxSpan {
				w.last = w.last[1:]
			}
			w.last = append(w.last, msg.Reading)
		}
		return w, tea.Tick(w.every, func(time.Time) tea.Msg { return again{} })
	case again:
		return w, w.read
	}
	return w, nil
}

// View implements [tea.Model].
func (w *watch) View() tea.View {
	var text strings.Builder
	p := w.page
	p.height -= 2 // those of the key and of an error
	if n := len(w.last); n > 0 {
		if now := w.last[n-1]; n > 1 {
			recent := figures(now.counted.since(w.last[0].counted))
			p.recent, p.span = &recent, now.Time.Sub(w.last[0].Time)
		}
		text.WriteString(p.text(w.last[n-1]))
	}
	if w.err != nil {
		text.WriteString(ansi.Truncate("etui: "+w.err.Error(), max(p.width, 1), "…") + "\n")
	}
	text.WriteString(p.word("q quits"))
	v := tea.NewView(text.String())
	v.AltScreen = true
	return v
}
