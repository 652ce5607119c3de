package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
)

// print prints a value: as JSON with --json, otherwise as text. Text for a terminal is
// cleaned: files, commands and servers decide what is in it.
func (a *cli) print(value any, text func() string) error {
	if a.json {
		return json.NewEncoder(escaping{a.out}).Encode(value)
	}
	says := text()
	if a.onTerminal() {
		says = onScreen(says)
	}
	_, err := io.WriteString(a.out, says)
	return err
}

// printJSON prints a value as indented JSON.
func (a *cli) printJSON(value any) error {
	e := json.NewEncoder(escaping{a.out})
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// style matches the colors and weights that etui itself prints, and no hidden text.
var style = regexp.MustCompile("\x1b\\[(?:(?:[0-7]|9|[1-9][0-9]+)(?:;[0-9]+)*)?m")

// onScreen cleans a text for a terminal: only styles are left of what steers one.
func onScreen(text string) string {
	var b strings.Builder
	for at := 0; ; {
		next := style.FindStringIndex(text[at:])
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

// request is a request to a gateway.
type request struct {
	method, path string // the method is GET if empty
	body         any
	// otherwise says what to do when no gateway is running; empty means that this
	// process answers then.
	otherwise string
}

// show sends a request and prints the answer, for people as text.
func show[T any](ctx context.Context, a *cli, r request, text func(T) string) error {
	return a.with(ctx, false, func(c *client.Client) error {
		if r.otherwise != "" && c.Here() {
			return config.Usagef("no gateway is running; %s", r.otherwise)
		}
		var answer T
		if err := c.Do(ctx, r.method, r.path, r.body, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

// columns writes rows with as much space as their cells need. Chinese characters take
// two columns, as in terminals.
func columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, text := range row {
			line += text + strings.Repeat(" ", widths[i]-ansi.StringWidth(text)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// cell is a text for a table: on one line, and without what would move the cursor.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(printable.Text(text))
}

// isTerminal reports whether a person is at the other end of a stream.
func isTerminal(stream any) bool { return terminal.Is(stream) }

// onTerminal reports whether a person reads the output.
func (a *cli) onTerminal() bool { return a.screen || isTerminal(a.out) }

// plain reports whether the user wants no styles.
func plain() bool { return os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" }
