package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/term"

	"github.com/etui-run/etui/internal/printable"
)

// Console is where a command reads and writes: a terminal, files, or another program.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	// Language is that of the words to the person; empty means English.
	Language string
	// Words says a phrase in that language, with arguments as for [fmt.Sprintf]. Nil says it in English.
	Words func(english string, args ...any) string
	// JSON prints JSON in place of text.
	JSON bool
	// Screen says that Out and Err are part of a terminal's screen.
	Screen bool
}

// Print prints a value: as JSON if the console wants that, otherwise as text. Text for a
// terminal is cleaned: files, commands and servers decide what is in it.
func (c *Console) Print(value any, text func() string) error {
	if c.JSON {
		return json.NewEncoder(escaping{c.Out}).Encode(value)
	}
	says := text()
	if c.OnTerminal() {
		says = clean(says)
	}
	_, err := io.WriteString(c.Out, says)
	return err
}

// PrintJSON prints a value as indented JSON.
func (c *Console) PrintJSON(value any) error {
	e := json.NewEncoder(escaping{c.Out})
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// Say says a phrase in the language of the person.
func (c *Console) Say(english string, args ...any) string {
	if c.Words == nil {
		return fmt.Sprintf(english, args...)
	}
	return c.Words(english, args...)
}

// Note prints a line in faint letters beside the output.
func (c *Console) Note(english string, args ...any) {
	faint := lipgloss.NewStyle().Faint(!Plain() && (c.Screen || Is(c.Err)))
	fmt.Fprintln(c.Err, faint.Render(printable.Text(c.Say(english, args...))))
}

// Confirm asks a question. Any answer but yes, and the end of the input, is an error.
func (c *Console) Confirm(english string, args ...any) error {
	fmt.Fprint(c.Err, c.Say(english, args...)+" "+c.Say("[y/N]")+" ")
	answer, err := bufio.NewReader(c.In).ReadString('\n') // the end of the input is a no
	if err != nil {
		fmt.Fprintln(c.Err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes", "是":
		return nil
	}
	return errors.New("nothing was changed: answer y, or add --yes")
}

// OnScreen returns the console with an output that is part of a terminal's screen.
func (c *Console) OnScreen(out io.Writer) *Console {
	shown := *c
	shown.Out, shown.Err, shown.Screen = out, out, true
	return &shown
}

// OnTerminal reports whether a person reads the output.
func (c *Console) OnTerminal() bool { return c.Screen || Is(c.Out) }

// LineWidth is how wide a line of text may be: a file or a program gets whole lines.
func (c *Console) LineWidth() int {
	const unbounded = 10_000 // wider than any line of reasons
	if os.Getenv("COLUMNS") == "" && !c.OnTerminal() {
		return unbounded
	}
	return Width()
}

// Width is how wide a table may be: as COLUMNS says, as the terminal is, or 80.
func Width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 60 {
		return n
	}
	if n, _, err := term.GetSize(os.Stdout.Fd()); err == nil && n >= 60 {
		return n
	}
	return 80
}

// Plain reports whether the user wants no styles.
func Plain() bool { return os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" }

// ShortPath shortens a path below the user's home folder.
func ShortPath(path string) string {
	if dir, err := os.UserHomeDir(); err == nil && dir != "/" {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// styles matches the colors and weights that etui itself prints, and no hidden text.
var styles = regexp.MustCompile("\x1b\\[(?:(?:[0-7]|9|[1-9][0-9]+)(?:;[0-9]+)*)?m")

// clean cleans a text for a terminal: only styles are left of what steers one.
func clean(text string) string {
	var b strings.Builder
	for at := 0; ; {
		next := styles.FindStringIndex(text[at:])
		if next == nil {
			b.WriteString(printable.Text(text[at:]))
			return b.String()
		}
		b.WriteString(printable.Text(text[at:at+next[0]]) + text[at+next[0]:at+next[1]])
		at += next[1]
	}
}

// escaping writes JSON without the control characters that JSON allows in strings and
// some terminals obey: U+007F to U+009F.
type escaping struct{ io.Writer }

func (w escaping) Write(b []byte) (int, error) {
	if !bytes.ContainsFunc(b, isLateControl) {
		return w.Writer.Write(b)
	}
	var text strings.Builder
	for _, r := range string(b) {
		if isLateControl(r) {
			fmt.Fprintf(&text, `\u%04x`, r)
		} else {
			text.WriteRune(r)
		}
	}
	_, err := io.WriteString(w.Writer, text.String())
	return len(b), err
}

func isLateControl(r rune) bool { return r >= 0x7f && r <= 0x9f }
