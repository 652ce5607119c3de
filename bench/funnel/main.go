// Funnel draws what `etui select --json` prints as a picture: how many tools each stage
// leaves, and the tools that are sent, with the words that speak for them.
//
//	bin/etui select --demo --skill oncall --json "show me the error logs of the checkout pod in namespace prod" | go run ./bench/funnel > docs/funnel.svg
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// selected is the part of a selection's explanation that is drawn.
type selected struct {
	Query  string `json:"query"`
	Funnel []struct {
		Stage string `json:"stage"`
		Left  int    `json:"left"`
	} `json:"funnel"`
	Tokens struct {
		All          int     `json:"all"`
		Sent         int     `json:"sent"`
		Meta         int     `json:"meta"`
		SavedPercent float64 `json:"saved_percent"`
	} `json:"tokens"`
	Tools []judged `json:"tools"`
}

// judged is a tool with its rank and what speaks for it.
type judged struct {
	Tool  string  `json:"tool"`
	Sent  bool    `json:"sent"`
	Score float64 `json:"score"`
	Rank  int     `json:"rank"`
	Terms []term  `json:"terms"`
}

type term struct {
	Word  string  `json:"word"`
	Score float64 `json:"score"`
}

func main() {
	if err := draw(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "funnel:", err)
		os.Exit(1)
	}
}

const (
	width, row = 860, 26
	middle     = 190 // of the funnel
	widest     = 300
	list       = 400 // where the tools begin
)

func draw(in io.Reader, out io.Writer) error {
	var s selected
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("standard input is not what etui select --json prints: %w", err)
	}
	if len(s.Funnel) == 0 || s.Funnel[0].Left == 0 {
		return fmt.Errorf("the selection has no tools")
	}
	tools := slices.DeleteFunc(s.Tools, func(t judged) bool { return !t.Sent || t.Rank == 0 })
	height := 96 + row*max(len(s.Funnel), len(tools)+1)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="10" fill="#fbfaf7"/>`+"\n", width, height)
	text := func(x, y int, style, format string, args ...any) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, style, html.EscapeString(fmt.Sprintf(format, args...)))
	}
	text(24, 36, `font-size="16" font-weight="600" fill="#1c2b33"`, "“%s”", s.Query)
	const top = 64
	all := float64(s.Funnel[0].Left)
	for i, stage := range s.Funnel {
		// Counts are drawn on a logarithmic scale: eight of four hundred stay visible.
		w := int(widest * math.Max(0.18, math.Log1p(float64(stage.Left))/math.Log1p(all)))
		y := top + i*row
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="hsl(%d 45%% %d%%)"/>`+"\n", middle-w/2, y, w, row-4, 200-i*6, 88-i*5)
		text(middle, y+16, `text-anchor="middle" fill="#12303a"`, "%s · %d", stage.Stage, stage.Left)
	}
	text(list, top+16, `font-weight="600" fill="#1c2b33"`, "%d of %d tokens of tools sent, %.0f %% saved", s.Tokens.Sent+s.Tokens.Meta, s.Tokens.All, s.Tokens.SavedPercent)
	for i, t := range tools {
		y := top + (i+1)*row
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="#2a7f8f"/>`+"\n", list, y+5, int(70*t.Score/tools[0].Score), 10)
		text(list+80, y+16, `font-family="ui-monospace, monospace" fill="#1c2b33"`, "%s", t.Tool)
		t.Terms = slices.DeleteFunc(t.Terms, func(w term) bool { return strings.HasPrefix(w.Word, "(") }) // of the conversation, not the question
		slices.SortStableFunc(t.Terms, func(a, b term) int { return cmp.Compare(b.Score, a.Score) })
		var words []string
		for _, term := range t.Terms[:min(2, len(t.Terms))] {
			word := term.Word // a stem
			for w := range strings.FieldsSeq(s.Query) {
				if strings.HasPrefix(strings.ToLower(w), word) {
					word = w
				}
			}
			words = append(words, fmt.Sprintf("%s %.1f", word, term.Score))
		}
		text(width-24, y+16, `text-anchor="end" fill="#5b6b73" font-size="12"`, "%s", strings.Join(words, " · "))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(out, b.String())
	return err
}
